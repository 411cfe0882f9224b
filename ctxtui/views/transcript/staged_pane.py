"""The pane of staged edits: what they free and break, what they cost and when they pay back, what to look out for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.analysis.money.edited_calls import EditedCalls
from ctxtui.views.model.scene import proof
from ctxtui.views.model.staging import Staging
from ctxtui.views.text import cells, narrow, numbers, safe_text
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans, width

RESERVED: Final = 8
"""Lines that the pane takes while its prices are being worked out."""
_WIDE: Final = 44
"""Cells from which the pane says things in full."""
_WORTH: Final = 0.0005
"""US dollars from which a price is one."""
_FAR: Final = 99_950
"""Calls, rounded to 100k, that no session comes to."""


class MomentPrice(Struct, frozen=True):
    """What applying costs at one moment: `name` and a `hint` at when that is, USD `once` and for each later call
    (None: not known), and after how many calls it has paid for itself (0: at once, None: never)."""

    name: str
    hint: str
    once: float | None
    per_call: float | None
    pays_back: int | None


class WaitingEdits(Struct, frozen=True):
    """How many edits wait for which `moment` (the name of a price), and the seconds `left` until then (None: not
    known, or not to be foreseen)."""

    count: int
    moment: str
    left: int | None = None

    @property
    def words(self) -> str:
        """In words: ``3 wait for expiry in 4:12``."""
        told = f"{self.count:,} wait{'s' if self.count == 1 else ''} for {self.moment.removeprefix('at ')}"
        if self.left is None:
            return told
        return f"{told} in {countdown(self.left)}" if self.left else f"{told}: it came"


def countdown(seconds: int) -> str:
    """A stretch of time as a clock tells it: ``4:12``, ``1:04:12``."""
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"


class StagedPane(Struct, frozen=True, kw_only=True):
    """What the pane shows. `usable` is the limit in tokens (0: not known), `moments` the prices, `chosen` one of them,
    `cheapest` the one that costs least once, `waits` the edits that wait for one, `dialect` the provider's dialect that
    the result was held against; `warnings` are short texts, each with what it is about; `asleep` are edits whose target
    is not in this context. `known`: what the edits break is known. `active` are the edits that the call shown was sent
    with, where nothing else is in question: then the pane is one line, and what a relay says that became of them."""

    staging: Staging
    usable: int
    dialect: str
    moments: tuple[MomentPrice, ...] = ()
    chosen: int = 0
    cheapest: int = -1
    waits: tuple[WaitingEdits, ...] = ()
    thinking_lost: int = 0
    warnings: tuple[tuple[str, str], ...] = ()
    asleep: int = 0
    known: bool = False
    active: int = 0
    rest: EditedCalls | None = None
    """What the edits would have saved to the end of the recording; None where nothing followed, or it is not known."""

    @property
    def broken(self) -> int:
        """Cached tokens that are not read any more if the edits are applied now."""
        return self.staging.broken


def edits(count: int) -> str:
    """How many edits there are, in words."""
    return f"{count:,} edit{'' if count == 1 else 's'}"


def notes(what: StagedPane, room: int) -> list[Span]:
    """For the rule: how many edits, and the keys that end staging; of those that were sent, where they are listed."""
    if what.active:
        return [Span(f"{edits(what.active)} active · ", "dim"), Span("l", "accent bold")]
    count = len(what.staging.edits)
    if not count:
        return [Span("u", "accent bold"), Span(" takes back", "dim")]
    keys = [Span("w", "accent bold"), Span(" when  ", "dim"), Span("X", "accent bold"), Span(" discard", "dim")]
    if sum(one.count for one in what.waits) < count:
        keys = [Span("a", "accent bold"), Span(" apply  ", "dim"), *keys]
    told = [Span(edits(count) + ("   " if room >= 40 else ""), "warn")]
    return [*told, *(keys if room >= 40 else [])]


def lines(what: StagedPane, room: int, height: int) -> list[Spans]:
    """The body in at most `height` lines: what is refused, what waits, sums, prices, what to look out for. What would
    say 0 is left out; the heads of the prices go where something else would."""
    if what.active:
        facts: list[Spans] = []
        for one in proof(what.staging.scene):
            facts += [[Span(f" {line}")] for line in safe_text.wrap(one, max(8, room - 2))]
        return facts[: max(0, height)]
    waits = [_fit([Span(" ◷ ", "accent"), Span(one.words, "accent bold")], room) for one in what.waits]
    heads, *prices = [*_prices(what, room)] or [()]
    first, last = [*_refused(what, room), *waits, *_sums(what, room)], [*_rest(what, room), *_breaks(what, room)]
    if heads and len(first) + 1 + len(prices) + len(last) <= height:
        prices = [heads, *prices]
    return [*first, *prices, *last][: max(0, height)]


def lines_wanted(what: StagedPane, room: int) -> int:
    """How many lines the body would fill; some of them are kept free while prices are worked out."""
    now, usage = len(lines(what, room, RESERVED * 4)), what.staging.scene.call.usage
    comes = not what.known and not what.active and usage is not None and usage.has_cache
    return max(RESERVED, now) if comes and what.staging.applied.is_changed else now


def _sums(what: StagedPane, room: int) -> Iterator[Spans]:
    staging, wide = what.staging, room >= _WIDE
    broken = staging.breakage
    if not staging.counted:
        yield [Span(" frees  "), Span(cells.right(numbers.NONE, 8), "faint")]
    elif staging.freed:
        style = "add bold" if staging.freed > 0 else "warn bold"
        share = f"{',' if wide else ''} {100 * staging.after / what.usable:.0f} %" if what.usable else ""
        yield _fit(
            [
                Span(" frees  "),
                Span(cells.right(numbers.signed(-staging.freed), 8 if wide else 7), style),
                Span("  next call " if wide else " next ", "dim"),
                Span(f"{numbers.tokens(staging.after)}{share}", "ink bold"),
            ],
            room,
        )
    if what.known and (broken is None or not broken.tokens):
        nothing = " " if staging.freed else " frees nothing, "
        yield [Span(f"{nothing}breaks nothing of the prefix" if wide else f"{nothing}breaks nothing", "dim")]
    elif broken is not None and broken.tokens:
        parts = [Span(" breaks "), Span(cells.right(numbers.tokens(broken.tokens), 8), "warn bold")]
        of, block = f"  of {numbers.tokens(broken.cached)} cached", f"from block {broken.at + 1:,}"
        ways = (f"{of}, {block}", of) if wide else (f"  {block}", "")
        yield [*parts, Span(narrow.first_that_fits(ways, max(0, room - width(parts) - 1)), "dim")]


def warm(what: StagedPane) -> str:
    """Why applying now costs something that waiting does not, in a sentence; "" where it does not."""
    prices = {one.name: one.once for one in what.moments}
    now, later = prices.get("now"), prices.get("at expiry")
    if now is None or later is None or now < _WORTH or later >= now:
        return ""
    return f"applying now costs {numbers.money(now)} once, because the cache is warm"


def _told_moments(what: StagedPane) -> list[tuple[int, MomentPrice]]:
    """The moments that get a row, by index: the chosen one, and those whose prices are neither 0 nor those of the
    moment before. None where applying changes no price."""

    def prices(one: MomentPrice) -> tuple[float | None, float | None]:
        return one.once, one.per_call

    every = list(enumerate(what.moments))
    told = [n for n, one in every if one.once is None or any(abs(usd or 0.0) >= _WORTH for usd in prices(one))]
    told = [n for n in told if not n or prices(what.moments[n]) != prices(what.moments[n - 1])]
    return [(n, one) for n, one in every if n in told or n == what.chosen] if told else []


def _prices(what: StagedPane, room: int) -> Iterator[Spans]:
    """The heads, and a row for each moment; nothing where applying changes no price."""
    rows = _told_moments(what)
    if not rows:
        return
    wide = room >= _WIDE
    once, call, back = (10, 10, 12) if wide else (8, 8, 8)
    # The last cell stays free.
    name = max(1, room - once - call - back - 3)
    heads = ("once", "per call", "pays back") if wide else ("once", "a call", "pays")
    yield [
        Span("  " + cells.left("apply", name), "faint"),
        *(Span(cells.right(h, w), "faint") for h, w in zip(heads, (once, call, back), strict=True)),
    ]
    for n, moment in rows:
        chosen = n == what.chosen
        lead = Span("▸ " if chosen else "  ", "accent")
        told = f"{moment.name} {moment.hint}".rstrip() if wide else moment.name.split()[-1]
        # Without a price nothing is said of when it pays: "never" would be a guess.
        known = moment.once is not None
        rate, gain = paid(moment.per_call), "faint" if not known else "add" if moment.pays_back == 0 else "ink"
        yield [
            lead,
            Span(cells.left(told, name), f"{'add' if n == what.cheapest else 'ink'}{' bold' if chosen else ''}"),
            Span(cells.right(numbers.signed_money(moment.once), once), paid(moment.once)),
            Span(cells.right(numbers.signed_money(moment.per_call) if known else numbers.NONE, call), rate),
            Span(cells.right(payback(moment.pays_back, wide) if known else numbers.NONE, back), gain),
        ]


def _rest(what: StagedPane, room: int) -> Iterator[Spans]:
    """What the rest of the recording would have cost more, or less, in the calls that followed."""
    rest = what.rest
    if rest is None or rest.usd is None or not rest.affected_calls or abs(rest.usd) < _WORTH:
        return
    calls = f"{rest.calls:,} call{'' if rest.calls == 1 else 's'} to the end"
    held = f", {rest.affected_calls:,} with it" if rest.affected_calls < rest.calls and room >= _WIDE else ""
    told, usd = f" {calls}{held} ", ("≥ " if rest.partial else "") + numbers.signed_money(rest.usd)
    yield [Span(cells.left(told, max(1, room - len(usd) - 1))), Span(usd, f"{paid(rest.usd)} bold")]


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
    told = f"{calls:,}" if calls < 10_000 else numbers.tokens(calls) if calls < _FAR else ">100k"
    return f"{told} call{'' if calls == 1 else 's'}" if wide else told


def _refused(what: StagedPane, room: int) -> Iterator[Spans]:
    """What the provider would not take, and edits that cannot be applied."""
    applied, refused = what.staging.applied, MARK["error"].span
    if applied.refused:
        yield from _wrapped(refused, applied.refused, room)
    for held in applied.held[:3]:
        yield from _wrapped(refused, f"{held.edit.kind}: {held.why}", room)


def _breaks(what: StagedPane, room: int) -> Iterator[Spans]:
    """Whether the provider takes it, and what to look out for."""
    staging, wide = what.staging, room >= _WIDE
    ok, warn = MARK["ok"].span, MARK["warning"].span
    if not staging.applied.refused and staging.applied.is_changed:
        yield _accepted(ok, what.dialect.replace("_", " ") if wide else "", staging.repairs, room)
    if what.thinking_lost:
        words = f" {numbers.tokens(what.thinking_lost)} of thinking is lost{' with it' if wide else ''}"
        yield _fit([Span(" "), warn, Span(words)], room)
    for text, about in what.warnings:
        lead = [Span(" "), warn, Span(" ")]
        whole = [*lead, Span(f"{text} ", "dim"), Span(about)]
        # What it is about stands in the list that the key opens.
        said = text.removesuffix(":") if text.endswith(":") else f"{text} it"
        brief = [*lead, Span(f"{said} ", "dim"), Span("(", "dim"), Span("l", "accent bold"), Span(")", "dim")]
        yield _fit(whole if width(whole) < room else brief, room)
    if what.asleep:
        why = "not in this context" if wide else "target gone"
        yield _fit([Span(" "), Span("z", "faint"), Span(f" {edits(what.asleep)} asleep: {why}", "dim")], room)


def _accepted(ok: Span, whom: str, repairs: int, room: int) -> Spans:
    """That the provider (`whom`: its API, "" where there is little room) takes it, and how many more blocks are removed
    so that it does."""
    blocks = f" block{'' if repairs == 1 else 's'} removed" if whom else f" {MARK['dropped'].glyph}"
    more = [Span(f", {repairs:,} more{blocks}", "dim")] if repairs else []
    return _fit([Span(" "), ok, Span(f" {whom} accepts it" if whom else " accepted", "ok"), *more], room)


def _wrapped(sign: Span, text: str, room: int) -> Iterator[Spans]:
    """What is refused, with its sign, in as many lines as it needs."""
    for n, line in enumerate(safe_text.wrap(safe_text.one_line(text, 300), max(8, room - 4))):
        yield [Span(" "), sign if not n else Span(" "), Span(f" {line}", "crit")]


def _fit(spans: Sequence[Span], room: int) -> Spans:
    """What fits in `room` cells, the last of which stays free."""
    used, out = 0, []
    for span in spans:
        left = room - 1 - used
        if left <= 0:
            break
        text = span.text if cells.width(span.text) <= left else cells.fit(span.text, left)
        out.append(Span(text, span.style))
        used += cells.width(text)
    return out
