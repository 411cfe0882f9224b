"""The pane of staged edits: what they free and break, what they cost and when they pay back, what to look out for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ctxtui.dataclasses import dataclass
from ctxtui.views.model.scene import proof
from ctxtui.views.model.staging import Staging
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans, width

if TYPE_CHECKING:
    from ctxtui.curation.price.rest_of_session import RestOfSession

SHORT: int = 5
"""Lines of the pane that always show: freed, broken, and the three prices."""
_WIDE: Final = 44
"""Cells from which the pane says things in full."""
_WORTH: Final = 0.0005
"""US dollars from which a price is one."""
_FAR: Final = 99_950
"""Calls, rounded to 100k, that no session comes to."""


@dataclass(frozen=True, slots=True)
class MomentPrice:
    """What applying costs at one moment: `name` and a `hint` at when that is, USD `once` and for each later call
    (None: not known), and after how many calls it has paid for itself (0: at once, None: never)."""

    name: str
    hint: str
    once: float | None
    per_call: float | None
    pays_back: int | None


@dataclass(frozen=True, slots=True)
class WaitingEdits:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedPane:
    """What the pane shows. `usable` is the limit in tokens (0: not known), `moments` the prices, `chosen` one of them,
    `cheapest` the one that costs least once, `waits` the edits that wait for one, `dialect` the provider's dialect that
    the result was held against; `warnings` are short texts, each with what it is about; `asleep` are edits whose target
    is not in this context. `known`: what the edits break is known."""

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
    rest: RestOfSession | None = None
    """What the edits would have saved to the end of the recording; None where nothing followed, or it is not known."""

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
        return [Span("u", "accent bold"), Span(" takes back", "dim")]
    keys = [Span("w", "accent bold"), Span(" when  ", "dim"), Span("X", "accent bold"), Span(" discard", "dim")]
    if sum(one.count for one in what.waits) < count:
        keys = [Span("a", "accent bold"), Span(" apply  ", "dim"), *keys]
    told = [Span(edits(count) + ("   " if room >= 40 else ""), "warn")]
    return [*told, *(keys if room >= 40 else [])]


def lines(what: StagedPane, room: int, height: int) -> list[Spans]:
    """The body in at most `height` lines; the prices come first."""
    waits = [_fit([Span(" ◷ ", "accent"), Span(one.words, "accent bold")], room) for one in what.waits]
    out: list[Spans] = [*waits, *_sums(what, room), *_prices(what, room), *_rest(what, room)]
    if not what.staging.edits:
        # This pane stands where the call's own would say it.
        told = (line for one in proof(what.staging.scene) for line in safe_text.wrap(one, max(8, room - 2)))
        out += [[Span(f" {line}", "ink")] for line in told]
    below = [*_breaks(what, room)]
    why = [[Span(f" {line}", "dim")] for line in safe_text.wrap(warm(what), room - 2)]
    spare = height - len(out) - len(below)
    if spare >= len(why):
        out += why
        spare -= len(why)
    if below and spare >= 2:
        out += [[], [Span(" what it breaks", "faint")]]
    return [*out, *below][: max(0, height)]


def _sums(what: StagedPane, room: int) -> Iterator[Spans]:
    staging = what.staging
    if not staging.counted:
        yield [Span(" frees  ", "ink"), Span(cells.right(numbers.NONE, 8), "faint")]
    else:
        style = "add bold" if staging.freed > 0 else "warn bold" if staging.freed < 0 else "dim"
        wide = room >= _WIDE
        share = f"{',' if wide else ''} {100 * staging.after / what.usable:.0f} %" if what.usable else ""
        # Not the context of the call shown, which the header has: what came since leaves, too.
        leaves = numbers.tokens(staging.after) if staging.request is not None else numbers.NONE
        yield _fit(
            [
                Span(" frees  ", "ink"),
                Span(cells.right(numbers.signed(-staging.freed), 8 if wide else 7), style),
                Span("  next call " if wide else " next ", "dim"),
                Span(f"{leaves}{share}", "ink bold"),
            ],
            room,
        )
    broken = staging.breakage
    if broken is not None:
        parts = [Span(" breaks ", "ink"), Span(cells.right(numbers.tokens(broken.tokens), 8), "warn bold")]
        of = f"  of {numbers.tokens(broken.cached)} cached," if room >= _WIDE else " "
        of = f"{of} from block {broken.at + 1:,}"
        yield _fit([*parts, Span(of, "dim")], room)
    elif what.known:
        words = "nothing of the prefix" if room >= _WIDE else "prefix stays"
        yield _fit([Span(" breaks ", "ink"), Span(cells.right("0", 8), "dim"), Span(f"  {words}", "dim")], room)
    else:
        yield [Span(" breaks ", "ink"), Span(cells.right(numbers.NONE, 8), "faint")]


def warm(what: StagedPane) -> str:
    """Why applying now costs something that waiting does not, in a sentence; "" where it does not."""
    prices = {one.name: one.once for one in what.moments}
    now, later = prices.get("now"), prices.get("at expiry")
    if now is None or later is None or now < _WORTH or later >= now:
        return ""
    return f"now costs {numbers.money(now)} once: the cache is warm; wait until it expires"


def _prices(what: StagedPane, room: int) -> Iterator[Spans]:
    if not what.moments:
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
    for n, moment in enumerate(what.moments):
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
    if rest is None or rest.usd is None or not rest.holding:
        return
    calls = f"{rest.calls:,} call{'' if rest.calls == 1 else 's'} to the end"
    held = f", {rest.holding:,} with it" if rest.holding < rest.calls and room >= _WIDE else ""
    told, usd = f" {calls}{held} ", ("≥ " if rest.partial else "") + numbers.signed_money(rest.usd)
    yield [Span(cells.left(told, max(1, room - len(usd) - 1)), "ink"), Span(usd, f"{paid(rest.usd)} bold")]


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


def _breaks(what: StagedPane, room: int) -> Iterator[Spans]:
    staging, wide = what.staging, room >= _WIDE
    applied = staging.applied
    ok, warn, refused = MARK["ok"].span, MARK["warning"].span, MARK["refused"].span
    if applied.refused:
        yield from _wrapped(refused, applied.refused, room)
    else:
        yield _legal(ok, f" for {what.dialect.replace('_', ' ')}" if wide else "", staging.repairs, room)
    if what.thinking_lost:
        words = f" {numbers.tokens(what.thinking_lost)} of thinking is lost{' with it' if wide else ''}"
        yield _fit([Span(" "), warn, Span(words, "ink")], room)
    for text, about in what.warnings:
        lead = [Span(" "), warn, Span(" ")]
        whole = [*lead, Span(f"{text} ", "dim"), Span(about, "ink")]
        # What it is about stands in the list that the key opens.
        said = text.removesuffix(":") if text.endswith(":") else f"{text} it"
        brief = [*lead, Span(f"{said} ", "dim"), Span("(", "dim"), Span("l", "accent bold"), Span(")", "dim")]
        yield _fit(whole if width(whole) < room else brief, room)
    for held in applied.held[:3]:
        yield from _wrapped(refused, f"{held.edit.kind}: {held.why}", room)
    if what.asleep:
        why = "not in this context" if wide else "target gone"
        yield _fit([Span(" "), Span("z", "faint"), Span(f" {edits(what.asleep)} asleep: {why}", "dim")], room)


def _legal(ok: Span, where: str, repairs: int, room: int) -> Spans:
    """That the provider takes it, and how many blocks go so that it does."""
    count = f"{repairs:,} repair{'' if repairs == 1 else 's'}"
    more = [Span(f"{'' if where else ','} with {count} ", "dim"), Span("✗", "dim")]
    return _fit([Span(" "), ok, Span(" legal", "ok"), Span(where, "dim"), *(more if repairs else [])], room)


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
