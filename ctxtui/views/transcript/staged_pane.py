"""The pane of staged edits: what they free and break, what they cost and when they pay back, what to look out for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxtui.views.model.staging import Staging
from ctxtui.views.text import cells, numbers
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.curation.price.request_count import RequestCount

SHORT: int = 5
"""Lines of the pane that always show: freed, broken, and the three prices."""


@dataclass(frozen=True, slots=True)
class MomentPrice:
    """What applying costs at one moment: `name` and a `hint` at when that is, USD `once` and for each later call
    (None: not known), and after how many calls it has paid for itself (0: at once, None: never)."""

    name: str
    hint: str
    once: float | None
    per_call: float | None
    pays_back: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedPane:
    """What the pane shows. `usable` is the limit in tokens (0: not known), `moments` the prices, `chosen` one of them,
    `dialect` the provider's dialect that the result was held against; `warnings` are short texts, each with what it is
    about; `asleep` are edits whose target is not in this context. `known`: what the edits break is known."""

    staging: Staging
    usable: int
    dialect: str
    moments: tuple[MomentPrice, ...] = ()
    chosen: int = 0
    thinking_lost: int = 0
    warnings: tuple[tuple[str, str], ...] = ()
    asleep: int = 0
    known: bool = False

    @property
    def broken(self) -> int:
        """Cached tokens that are not read any more if the edits are applied now."""
        return self.staging.broken


def edits(count: int) -> str:
    """How many edits there are, in words."""
    return f"{count:,} edit{'' if count == 1 else 's'}"


def notes(what: StagedPane, room: int) -> list[Span]:
    """For the rule: how many edits, and the keys that end staging."""
    count = len(what.staging.edits)
    if not count:
        return [Span("all applied", "dim")]
    keys = [Span("a", "accent bold"), Span(" apply  ", "dim"), Span("X", "accent bold"), Span(" discard", "dim")]
    told = [Span(edits(count) + ("   " if room >= 40 else ""), "warn")]
    return [*told, *(keys if room >= 40 else [])]


def lines(what: StagedPane, room: int, height: int) -> list[Spans]:
    """The body in at most `height` lines; the prices come first."""
    out: list[Spans] = [*_sums(what, room), *_prices(what, room)]
    below = [*_breaks(what, room)]
    spare = height - len(out) - len(below)
    if below and spare >= 2:
        out += [[], [Span(" what it breaks", "faint")]]
    return [*out, *below][: max(0, height)]


def _sums(what: StagedPane, room: int) -> Iterator[Spans]:
    staging = what.staging
    if not staging.counted:
        yield [Span(" frees  ", "ink"), Span(cells.right(numbers.NONE, 8), "faint")]
    else:
        style = "add bold" if staging.freed > 0 else "warn bold" if staging.freed < 0 else "dim"
        falls = "falls" if staging.freed >= 0 else "grows"
        share = f", {100 * staging.after / what.usable:.0f} %" if what.usable else ""
        yield _fit(
            [
                Span(" frees  ", "ink"),
                Span(cells.right(numbers.signed(-staging.freed), 8), style),
                Span(f"  {falls} to ", "dim"),
                *_size(staging.request),
                Span(share, "ink bold"),
            ],
            room,
        )
    broken = staging.breakage
    if broken is not None:
        parts = [Span(" breaks ", "ink"), Span(cells.right(numbers.tokens(broken.tokens), 8), "warn bold")]
        of = f"  of {numbers.tokens(broken.cached)} cached, from block {broken.at + 1:,}"
        yield _fit([*parts, Span(of, "dim")], room)
    elif what.known:
        yield [Span(" breaks ", "ink"), Span(cells.right("0", 8), "dim"), Span("  nothing of the prefix", "dim")]
    else:
        yield [Span(" breaks ", "ink"), Span(cells.right(numbers.NONE, 8), "faint")]


def _size(request: RequestCount | None) -> list[Span]:
    """What a request comes to: its body, and what the client adds."""
    if request is None:
        return [Span(numbers.NONE, "faint")]
    body = [Span(numbers.tokens(request.body), "ink bold")]
    return [*body, Span(f" + {numbers.tokens(request.client)} of the client's", "dim")] if request.client else body


def _prices(what: StagedPane, room: int) -> Iterator[Spans]:
    if not what.moments:
        return
    wide = room >= 44
    once, call, back = (10, 10, 12) if wide else (8, 7, 8)
    name = max(1, room - once - call - back - 2)
    heads = ("once", "per call", "pays back") if wide else ("once", "a call", "pays")
    yield [
        Span("  " + cells.left("apply", name), "faint"),
        *(Span(cells.right(h, w), "faint") for h, w in zip(heads, (once, call, back), strict=True)),
    ]
    for n, moment in enumerate(what.moments):
        chosen = n == what.chosen
        lead = Span("▸ " if chosen else "  ", "accent")
        told = f"{moment.name} {moment.hint}".rstrip() if wide else moment.name
        # Without a price nothing is said of when it pays: "never" would be a guess.
        known = moment.once is not None
        rate, gain = paid(moment.per_call), "faint" if not known else "add" if moment.pays_back == 0 else "ink"
        yield [
            lead,
            Span(cells.left(told, name), "ink bold" if chosen else "ink"),
            Span(cells.right(numbers.signed_money(moment.once), once), paid(moment.once)),
            Span(cells.right(numbers.signed_money(moment.per_call) if known else numbers.NONE, call), rate),
            Span(cells.right(payback(moment.pays_back, wide) if known else numbers.NONE, back), gain),
        ]


def paid(usd: float | None) -> str:
    """The style of a change in US dollars."""
    if usd is None:
        return "faint"
    return "warn" if usd > 0 else "add" if usd < 0 else "dim"


def payback(calls: int | None, wide: bool) -> str:
    """After how many later calls it has paid for itself; without the word where it is not `wide`."""
    if calls is None:
        return "never"
    if calls == 0:
        return "at once"
    told = f"{calls:,}" if calls < 10_000 else numbers.tokens(calls)
    return f"{told} call{'' if calls == 1 else 's'}" if wide else told


def _breaks(what: StagedPane, room: int) -> Iterator[Spans]:
    staging = what.staging
    applied = staging.applied
    ok, warn, refused = MARK["ok"].span, MARK["warning"].span, MARK["refused"].span
    if applied.refused:
        yield _fit([Span(" "), refused, Span(f" {applied.refused}", "crit")], room)
    else:
        repairs = staging.repairs
        more = [Span(f" with {repairs:,} repair{'' if repairs == 1 else 's'} ", "dim"), Span("✗", "dim")]
        legal = [Span(" "), ok, Span(" legal", "ok"), Span(f" for {what.dialect.replace('_', ' ')}", "dim")]
        yield _fit([*legal, *(more if repairs else [])], room)
    if what.thinking_lost:
        words = f" {numbers.tokens(what.thinking_lost)} of thinking is lost with it"
        yield _fit([Span(" "), warn, Span(words, "ink")], room)
    for text, about in what.warnings:
        yield _fit([Span(" "), warn, Span(f" {text} ", "dim"), Span(about, "ink")], room)
    for held in applied.held[:3]:
        yield _fit([Span(" "), refused, Span(f" {held.edit.kind}: {held.why}", "crit")], room)
    if what.asleep:
        sleeping = f" {edits(what.asleep)} asleep: the target is not in this context"
        yield _fit([Span(" "), Span("z", "faint"), Span(sleeping, "dim")], room)


def _fit(spans: Sequence[Span], room: int) -> Spans:
    used, out = 0, []
    for span in spans:
        left = room - used
        if left <= 0:
            break
        text = span.text if cells.width(span.text) <= left else cells.fit(span.text, left)
        out.append(Span(text, span.style))
        used += cells.width(text)
    return out
