"""The pane of staged edits: tokens freed, cache broken, prices, payback, and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from ctxtui.analysis.money.edited_calls import EditedCalls
from ctxtui.views.model.scene import describe_sent_edits
from ctxtui.views.model.staging import Staging
from ctxtui.views.text import cells, narrow, numbers, safe_text
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans, shortened, width

RESERVED_LINES: Final = 8
"""Lines of the pane while its prices are being computed."""
_WIDE: Final = 44
MIN_PRICE_USD: Final = 0.0005
"""US dollars below which a price counts as 0."""
MAX_CALLS_SHOWN: Final = 99_950


class MomentPrice(Struct, frozen=True):
    """Price of applying at one moment, which has a `name` and a time `hint`.

    - `once`, `per_call`: USD once, and for each later call.
    - `pays_back`: number of later calls until it pays back (0: at once, None: never).
    """

    name: str
    hint: str
    once: float | None
    per_call: float | None
    pays_back: int | None


class WaitingEdits(Struct, frozen=True):
    """Number of edits that wait for a `moment` (the name of a price).

    `left`: seconds until then.
    """

    count: int
    moment: str
    left: int | None = None

    @property
    def words(self) -> str:
        text = f"{numbers.many(self.count, 'waits', 'wait')} for {self.moment.removeprefix('at ')}"
        if self.left is None:
            return text
        return f"{text} in {numbers.countdown(self.left)}" if self.left else f"{text}: reached"


class StagedPane(Struct, frozen=True, kw_only=True):
    """Content of the pane of staged edits.

    - `cheapest`: the moment with the lowest one-time cost.
    - `dialect`: the provider dialect checked; `warnings`: (text, subject).
    - `thinking_lost`: tokens of thinking that the provider drops because of the edits.
    - `without_target`: edits without a target in this context.
    - `active`: the number of active edits if none changes the context shown; the pane then tells how the call was sent.
    - `rest`: what the edits would have changed in the recorded calls after this one.
    """

    staging: Staging
    usable: int
    dialect: str
    moments: tuple[MomentPrice, ...] = ()
    chosen: int = 0
    cheapest: int = -1
    waits: tuple[WaitingEdits, ...] = ()
    thinking_lost: int = 0
    warnings: tuple[tuple[str, str], ...] = ()
    without_target: int = 0
    is_breakage_known: bool = False
    active: int = 0
    rest: EditedCalls | None = None

    @property
    def broken(self) -> int:
        return self.staging.broken


def notes(pane: StagedPane, room: int) -> list[Span]:
    """Text for the title rule: number of edits, and the keys that apply, discard or list them."""
    if pane.active:
        return [Span(f"{numbers.many(pane.active, 'edit')} active · ", "dim"), Span("E", "accent bold")]
    count = len(pane.staging.edits)
    if not count:
        return [Span("u", "accent bold"), Span(" takes back", "dim")]
    keys = [Span("w", "accent bold"), Span(" when  ", "dim"), Span("X", "accent bold"), Span(" discard", "dim")]
    if sum(edits.count for edits in pane.waits) < count:
        keys = [Span("a", "accent bold"), Span(" apply  ", "dim"), *keys]
    count_text = [Span(numbers.many(count, "edit") + ("   " if room >= 40 else ""), "warn")]
    return [*count_text, *(keys if room >= 40 else [])]


def lines(pane: StagedPane, room: int, height: int) -> list[Spans]:
    """The body in at most `height` lines: refusals, waiting edits, sums, prices, warnings.

    Zeros are left out; price heads are dropped first.
    """
    if pane.active:
        facts: list[Spans] = []
        for fact in describe_sent_edits(pane.staging.scene):
            facts += [[Span(f" {line}")] for line in safe_text.wrap(fact, max(8, room - 2))]
        return facts[: max(0, height)]
    waiting_lines = [_fit([Span(" ◷ ", "accent"), Span(edits.words, "accent bold")], room) for edits in pane.waits]
    heads, *prices = [*_prices(pane, room)] or [()]
    first, last = (
        [*_refused(pane, room), *waiting_lines, *_sums(pane, room)],
        [*_recorded_rest(pane, room), *_breaks(pane, room)],
    )
    if heads and len(first) + 1 + len(prices) + len(last) <= height:
        prices = [heads, *prices]
    return [*first, *prices, *last][: max(0, height)]


def needed_height(pane: StagedPane, room: int) -> int:
    now, usage = len(lines(pane, room, RESERVED_LINES * 4)), pane.staging.scene.call.usage
    is_pending = not pane.is_breakage_known and not pane.active and usage is not None and usage.has_cache
    return max(RESERVED_LINES, now) if is_pending and pane.staging.applied.is_changed else now


def _sums(pane: StagedPane, room: int) -> Iterator[Spans]:
    staging, is_wide = pane.staging, room >= _WIDE
    breakage = staging.breakage
    if not staging.counted:
        yield [Span(" frees  "), Span(cells.right(numbers.NONE, 8), "faint")]
    elif staging.freed:
        style = "add bold" if staging.freed > 0 else "warn bold"
        share = f"{',' if is_wide else ''} {100 * staging.after / pane.usable:.0f} %" if pane.usable else ""
        yield _fit(
            [
                Span(" frees  " if staging.freed > 0 else " adds   "),
                Span(cells.right(numbers.signed(-staging.freed), 8 if is_wide else 7), style),
                Span("  next call " if is_wide else " next ", "dim"),
                Span(f"{numbers.tokens(staging.after)}{share}", "ink bold"),
            ],
            room,
        )
    if pane.is_breakage_known and (breakage is None or not breakage.tokens):
        nothing = " " if staging.freed else " frees nothing, "
        yield [Span(f"{nothing}breaks nothing of the prefix" if is_wide else f"{nothing}breaks nothing", "dim")]
    elif breakage is not None and breakage.tokens:
        parts = [Span(" breaks "), Span(cells.right(numbers.tokens(breakage.tokens), 8), "warn bold")]
        of, block = f"  of {numbers.tokens(breakage.cached)} cached", f"from block {breakage.at + 1:,}"
        texts = (f"{of}, {block}", of) if is_wide else (f"  {block}", "")
        yield [*parts, Span(narrow.first_that_fits(texts, max(0, room - width(parts) - 1)), "dim")]


def explain_warm_cache(pane: StagedPane) -> str:
    """Clause on why applying now costs more than waiting; "" if it does not."""
    prices = {moment.name: moment.once for moment in pane.moments}
    now, later = prices.get("now"), prices.get("at expiry")
    if now is None or later is None or now < MIN_PRICE_USD or later >= now:
        return ""
    return f"applying now costs {numbers.money(now)} once, because the cache is warm"


def _shown_moments(pane: StagedPane) -> list[tuple[int, MomentPrice]]:
    """The moments with a row, by index; empty if applying changes no price.

    Shown are the chosen one, and those whose prices are neither 0 nor equal to the previous ones.
    """

    def prices(moment: MomentPrice) -> tuple[float | None, float | None]:
        return moment.once, moment.per_call

    indexed = list(enumerate(pane.moments))
    shown = [
        n
        for n, moment in indexed
        if moment.once is None or any(abs(usd or 0.0) >= MIN_PRICE_USD for usd in prices(moment))
    ]
    shown = [n for n in shown if not n or prices(pane.moments[n]) != prices(pane.moments[n - 1])]
    return [(n, moment) for n, moment in indexed if n in shown or n == pane.chosen] if shown else []


def _prices(pane: StagedPane, room: int) -> Iterator[Spans]:
    rows = _shown_moments(pane)
    if not rows:
        return
    is_wide = room >= _WIDE
    once, call, back = (10, 10, 12) if is_wide else (8, 8, 8)
    # The last cell is left free.
    name = max(1, room - once - call - back - 3)
    heads = ("once", "per call", "pays back") if is_wide else ("once", "a call", "pays")
    yield [
        Span("  " + cells.left("apply", name), "faint"),
        *(Span(cells.right(h, w), "faint") for h, w in zip(heads, (once, call, back), strict=True)),
    ]
    for n, moment in rows:
        chosen = n == pane.chosen
        lead = Span("▸ " if chosen else "  ", "accent")
        label = f"{moment.name} {moment.hint}".rstrip() if is_wide else moment.name.split()[-1]
        # Without a price there is no payback: "never" would be a guess.
        is_priced = moment.once is not None
        rate, gain = (
            money_style(moment.per_call),
            "faint" if not is_priced else "add" if moment.pays_back == 0 else "ink",
        )
        yield [
            lead,
            Span(cells.left(label, name), f"{'add' if n == pane.cheapest else 'ink'}{' bold' if chosen else ''}"),
            Span(cells.right(numbers.signed_money(moment.once), once), money_style(moment.once)),
            Span(cells.right(numbers.signed_money(moment.per_call) if is_priced else numbers.NONE, call), rate),
            Span(cells.right(format_payback(moment.pays_back, is_wide) if is_priced else numbers.NONE, back), gain),
        ]


def _recorded_rest(pane: StagedPane, room: int) -> Iterator[Spans]:
    rest = pane.rest
    if rest is None or rest.usd is None or not rest.affected_calls or abs(rest.usd) < MIN_PRICE_USD:
        return
    calls = numbers.many(rest.calls, "later call")
    affected = f", {rest.affected_calls:,} changed" if rest.affected_calls < rest.calls and room >= _WIDE else ""
    text, usd = f" {calls}{affected} ", ("≥ " if rest.partial else "") + numbers.signed_money(rest.usd)
    yield [Span(cells.left(text, max(1, room - len(usd) - 1))), Span(usd, f"{money_style(rest.usd)} bold")]


def money_style(usd: float | None) -> str:
    if usd is None:
        return "faint"
    return "warn" if usd > 0 else "add" if usd < 0 else "dim"


def format_payback(calls: int | None, with_noun: bool) -> str:
    if calls is None:
        return "never"
    if calls == 0:
        return "at once"
    count = f"{calls:,}" if calls < 10_000 else numbers.tokens(calls) if calls < MAX_CALLS_SHOWN else ">100k"
    return f"{count} call{'' if calls == 1 else 's'}" if with_noun else count


def payback_clause(calls: int | None) -> str:
    return "never pays back" if calls is None else f"pays back {'after ' if calls else ''}{format_payback(calls, True)}"


def _refused(pane: StagedPane, room: int) -> Iterator[Spans]:
    applied, refused = pane.staging.applied, MARK["error"].span
    if applied.refused:
        yield from _wrap_refusal(refused, applied.refused, room)
    for failed in applied.rejected[:3]:
        yield from _wrap_refusal(refused, f"{failed.edit.kind}: {failed.why}", room)


def _breaks(pane: StagedPane, room: int) -> Iterator[Spans]:
    staging, is_wide = pane.staging, room >= _WIDE
    ok, warn = MARK["ok"].span, MARK["warning"].span
    if not staging.applied.refused and staging.applied.is_changed:
        yield _accepted(ok, pane.dialect.replace("_", " ") if is_wide else "", staging.repairs, room)
    if pane.thinking_lost:
        words = f" {numbers.tokens(pane.thinking_lost)} of thinking is lost{' with it' if is_wide else ''}"
        yield _fit([Span(" "), warn, Span(words)], room)
    for text, about in pane.warnings:
        lead = [Span(" "), warn, Span(" ")]
        full_line = [*lead, Span(f"{text} ", "dim"), Span(about)]
        # The subject is in the list that the key opens.
        short_text = text.removesuffix(":") if text.endswith(":") else f"{text} it"
        brief = [*lead, Span(f"{short_text} ", "dim"), Span("(", "dim"), Span("l", "accent bold"), Span(")", "dim")]
        yield _fit(full_line if width(full_line) < room else brief, room)
    if pane.without_target:
        why = "not in this context" if is_wide else "target gone"
        text = f" {numbers.many(pane.without_target, 'edit')} asleep: {why}"
        yield _fit([Span(" "), Span("z", "faint"), Span(text, "dim")], room)


def _accepted(ok: Span, api: str, repairs: int, room: int) -> Spans:
    blocks = f" block{'' if repairs == 1 else 's'} removed" if api else f" {MARK['dropped'].glyph}"
    more = [Span(f", {repairs:,} more{blocks}", "dim")] if repairs else []
    return _fit([Span(" "), ok, Span(f" {api} accepts it" if api else " accepted", "ok"), *more], room)


def _wrap_refusal(sign: Span, text: str, room: int) -> Iterator[Spans]:
    for n, line in enumerate(safe_text.wrap(safe_text.one_line(text, 300), max(8, room - 4))):
        yield [Span(" "), sign if not n else Span(" "), Span(f" {line}", "crit")]


def _fit(spans: Spans, room: int) -> Spans:
    # The last cell is left free.
    return shortened(spans, room - 1)
