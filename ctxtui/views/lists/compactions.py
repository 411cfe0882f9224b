"""A compaction: context before and after by category, facts kept, lost and regained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from ctxtui.analysis.content.compactions import DECISION, FILE, LITERAL, Compaction, Fact, Recovery
from ctxtui.analysis.figures import CallFigures
from ctxtui.core.category import CATEGORIES
from ctxtui.views.text import bars, cells, numbers, safe_text, sums
from ctxtui.views.text.signs import MARK, category
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Column, Table

LOST, KEPT, ALL = "lost", "kept", "all"
FACT_FILTERS: Final = (LOST, KEPT, ALL)
NONE_LISTED: Final = {
    LOST: "The summary lost no file, literal or decision.",
    KEPT: "The summary kept no file or decision.",
    ALL: "The history had no file or decision, and the summary lost no literal.",
}
"""Texts of an empty list of facts; literals that the summary kept are never listed."""

_SIGN: Final = {FILE: Span("≡", "cat-memory"), DECISION: Span("›", "cat-user"), LITERAL: Span("#", "dim")}
_UNRECORDED: Final = ("not recorded", "reattached", "residual")
_LIST_ORDER: Final = (FILE, DECISION, LITERAL)
NAME_CELLS: Final = 14
FIGURE_CELLS: Final = 9


def title(compactions: Sequence[Compaction], index: int) -> list[Span]:
    """Number of the compaction, its place, tokens before and after, trigger and time."""
    compaction = compactions[index]
    before, after = compaction.before.context_tokens, compaction.after.context_tokens
    trigger = f" · {compaction.trigger}" if compaction.trigger else ""
    at = f" · {numbers.clock(datetime.fromtimestamp(compaction.at, UTC).astimezone())}" if compaction.at else ""
    index_text = f"{index + 1} of {len(compactions)} · " if len(compactions) > 1 else ""
    place = f"held after call {compaction.number - 1:,}" if compaction.is_held else f"before call {compaction.number:,}"
    return [
        Span(f" {index_text}", "dim"),
        Span(place, "ink bold"),
        Span(f" · {numbers.tokens(before)} → {numbers.tokens(after)}{trigger}{at}", "dim"),
    ]


def _rows(compaction: Compaction) -> list[tuple[str, int, int]]:
    """(category, tokens before, tokens after) in prompt order; unrecorded parts last."""

    def parts(context_figures: CallFigures) -> dict[str, int]:
        more = {
            "not recorded": context_figures.not_recorded or 0,
            "reattached": context_figures.attached,
            "residual": context_figures.residual,
        }
        return {**context_figures.categories, **{name: n for name, n in more.items() if n}}

    before, after = parts(compaction.before), parts(compaction.after)
    order = {name: n for n, name in enumerate((*CATEGORIES, *_UNRECORDED))}
    names = sorted({**before, **after}, key=lambda name: order.get(name, len(order)))
    return [(name, before.get(name, 0), after.get(name, 0)) for name in names]


def bars_of(compaction: Compaction, room: int, height: int = 99) -> list[Spans]:
    """Two bars for each category, before and after, on one scale.

    The smallest are folded into one line if `height` is too small.
    """
    rows = _rows(compaction)
    folded: list[tuple[str, int, int]] = []
    if len(rows) > height:
        # The summary is folded last.
        small = sorted(rows, key=lambda row: (row[0] == "summary", max(abs(row[1]), abs(row[2]))))
        small = small[: len(rows) - height + 1]
        rows, folded = [row for row in rows if row not in small], small
    top = max((max(before, after) for _, before, after in rows), default=1)
    side = _bar_width(room)
    out: list[Spans] = []
    for name, before, after in rows:
        sign = category(name)
        lacks = name in _UNRECORDED
        lead = [Span(" "), Span(" ") if lacks else sign.span, Span(" ")]
        style, word = ("faint", "faint") if lacks else (sign.style, "ink")
        shown = name if name in ("not recorded", "residual") else sign.name
        out.append(
            [
                *lead,
                Span(cells.left(shown, NAME_CELLS), word),
                *_bar(before, top, side, style, lacks, signed=name == "residual"),
                *_bar(after, top, side, style, lacks, signed=name == "residual"),
            ]
        )
    if folded:
        was, now = sum(row[1] for row in folded), sum(row[2] for row in folded)
        lead = [Span("   "), Span(cells.left(f"{len(folded)} smaller", NAME_CELLS), "faint")]
        out.append([*lead, *_bar(was, top, side, "faint", False), *_bar(now, top, side, "faint", False)])
    return out


def _bar(tokens: int, top: int, room: int, style: str, lacks: bool, *, signed: bool = False) -> list[Span]:
    format_figure = numbers.signed if signed else numbers.guessed if lacks else numbers.tokens
    figure = format_figure(tokens) if tokens else numbers.NONE
    drawn = bars.line(max(0, tokens), top, room) if room > 2 else ""
    return [
        Span(cells.right(figure, FIGURE_CELLS - 1) + " ", "dim" if lacks or not tokens else "ink"),
        Span(cells.left(drawn, room), style),
    ]


def heads(room: int) -> list[Span]:
    before = cells.left(cells.right("before", FIGURE_CELLS - 1), FIGURE_CELLS + _bar_width(room))
    return [Span(" " * (3 + NAME_CELLS) + before + cells.right("after", FIGURE_CELLS - 1), "faint")]


def _bar_width(room: int) -> int:
    return max(0, (room - NAME_CELLS - 4 - 2 * FIGURE_CELLS) // 2)


def sentences(compaction: Compaction) -> Iterator[Spans]:
    """Blocks that the summary replaced, how many facts it names, and what was read again."""
    kept_text = (
        f"; {numbers.many(len(compaction.kept_nodes), 'block')}, {numbers.tokens(compaction.kept_tokens)}, "
        "kept unchanged"
        if compaction.kept_nodes
        else ""
    )
    verb = "will replace" if compaction.is_held else "replaced"
    yield [
        Span(" "),
        MARK["compaction"].span,
        Span(f" a summary of {numbers.tokens(compaction.summary_tokens)}"),
        Span(f" {verb} {numbers.many(compaction.replaced, 'block')}{kept_text}", "dim"),
    ]
    if compaction.sealed:
        warning = "the summary is encrypted: facts that count as lost may be in it"
        yield [Span(" ▲ ", "warn"), Span(warning, "warn")]
    counts = [
        f"{count - compaction.count_lost(kind):,} of {numbers.many(count, kind)}"
        for kind in _LIST_ORDER
        if (count := compaction.count_facts(kind))
    ]
    yield [Span(" ✓ ", "ok"), Span("names "), Span(", ".join(counts) or "no facts to look for", "dim")]
    back = compaction.brought_back
    if compaction.is_held:
        return
    if not back:
        yield [Span(" · ", "dim"), Span("no file that the agent knew was read again", "dim")]
        return
    files = sum(any(again.tokens for again in fact.recoveries) for fact in compaction.facts_of(FILE))
    usd = compaction.again_usd
    paid = f", {numbers.money(usd)} since" if usd is not None else ""
    yield [
        Span(" ↓ ", "warn"),
        Span(f"{numbers.many(files, 'file')} read again"),
        Span(f": {numbers.tokens(compaction.again_tokens)}{paid}", "dim"),
    ]


def facts(compaction: Compaction, shown: str = LOST) -> list[Fact]:
    """The facts to list under the filter `shown`; literals last.

    In both groups, facts that came back are first (most tokens first); then by kind; then the most frequent first.
    """
    order = {kind: n for n, kind in enumerate(_LIST_ORDER)}
    selected = [
        fact
        for fact in compaction.facts
        # A file that the summary names but that was read again counts as lost.
        if shown == ALL or fact.is_kept == (shown == KEPT) or (shown == LOST and _tokens_again(fact.recoveries))
    ]
    return sorted(
        selected,
        key=lambda fact: (
            fact.kind == LITERAL,
            not fact.recoveries,
            -_tokens_again(fact.recoveries),
            order[fact.kind],
            -fact.times,
        ),
    )


def _words(fact: Fact, room: int) -> list[Span]:
    state = Span("✓ ", "ok") if fact.is_kept else Span("✗ ", "crit")
    text = safe_text.one_line(fact.text, 400)
    if fact.kind == FILE and cells.width(text) > room - 4:
        text = "…" + cells.tail(text, max(1, room - 5))
    return [state, _SIGN[fact.kind], Span(" "), Span(text, "ink" if not fact.is_kept else "dim")]


def _back(fact: Fact, room: int) -> list[Span]:
    if not fact.recoveries:
        return [Span(numbers.NONE, "faint")]
    first = fact.recoveries[0]
    more = f" +{len(fact.recoveries) - 1}" if len(fact.recoveries) > 1 else ""
    return [Span(first.how, "warn" if first.tokens else "ink"), Span(f" at {first.call:,}{more}", "dim")]


def _tokens_again(again: Sequence[Recovery]) -> int:
    return sum(reading.tokens for reading in again)


def _cost(fact: Fact, room: int) -> Span:
    prices = [reading.usd for reading in fact.recoveries if reading.usd is not None and reading.tokens]
    return Span(numbers.money(sum(prices)) if prices else numbers.NONE, "ink" if prices else "faint")


def _tokens(fact: Fact, room: int) -> Span:
    tokens = _tokens_again(fact.recoveries)
    return Span(numbers.tokens(tokens) if tokens else numbers.NONE, "ink" if tokens else "faint")


def _sum_of_tokens(fact: Fact) -> str:
    return sums.addition(
        _tokens_again(fact.recoveries),
        "tokens",
        [reading.tokens for reading in fact.recoveries if reading.tokens],
        "times",
    )


def _sum_of_cost(fact: Fact) -> str:
    prices = [reading.usd for reading in fact.recoveries if reading.usd is not None and reading.tokens]
    return sums.money_addition(sum(prices), prices, "times") if prices else ""


def explain_bars(compaction: Compaction) -> dict[str, str]:
    """Explanations of the bars and sentences, by glossary word."""
    explanations: dict[str, str] = {}
    for name, before, after in _rows(compaction):
        word = name if name in ("not recorded", "residual") else category(name).name
        if before >= 0 and after >= 0:
            explanations[word] = sums.difference(
                after, before, before - after, ("after", "before", "less" if before >= after else "more")
            )
    whole, left = compaction.before.context_tokens, compaction.after.context_tokens
    change = sums.difference(left, whole, whole - left, ("after", "before", "less" if whole >= left else "more"))
    explanations |= dict.fromkeys(("tokens", "compaction", "call"), change)
    back = [again.tokens for fact in compaction.facts for again in fact.recoveries if again.tokens]
    if back and sum(back) == compaction.again_tokens:
        explanations["read again"] = sums.addition(compaction.again_tokens, "read again", back, "times")
    return explanations


TABLE: Final[Table[Fact]] = Table(
    (
        Column("  fact", 0, _words, "left", least=10),
        Column(
            "times",
            6,
            lambda fact, _: Span(f"{fact.times:,}×", "dim"),
            from_width=70,
            sum=lambda fact: f"{numbers.many(fact.times, 'block')} of the context before had it.",
        ),
        Column("came back", 22, _back, "left", gap=2, from_width=60, wider=((100, 25),)),
        Column("tokens", 7, _tokens, sum=_sum_of_tokens),
        Column("cost since", 11, _cost, from_width=70, sum=_sum_of_cost),
    )
)
HELD_TABLE: Final[Table[Fact]] = Table(TABLE.columns[:2])
"""The same before the client has the summary, so that nothing can have come back."""


def listed_counts(compaction: Compaction, shown: str) -> list[Span]:
    """Counts of the lost or kept facts; of literals also those not listed."""
    if shown == ALL:
        return [Span("lost and kept", "dim")]
    counts = Counter(fact.kind for fact in facts(compaction, shown))
    lost_literals = compaction.count_lost(LITERAL)
    counts[LITERAL] = lost_literals if shown == LOST else compaction.count_facts(LITERAL) - lost_literals
    words = [numbers.many(counts[kind], kind) for kind in _LIST_ORDER if compaction.count_facts(kind)]
    return [Span(", ".join(words), "ink" if shown == LOST else "dim")]


def summary(compactions: Sequence[Compaction], thread: str, calls: int) -> list[Span]:
    """All compactions of a thread in a line, with the tokens that were read again."""
    of = f" of {safe_text.one_line(thread, 60)}" if thread else ""
    if not compactions:
        return [Span(f" No compaction in {numbers.many(calls, 'call')}{of}.", "dim")]
    again = sum(compaction.again_tokens for compaction in compactions)
    prices = [compaction.again_usd for compaction in compactions if compaction.again_usd is not None]
    paid = f", {numbers.money(sum(prices))}" if prices and again else ""
    back = f"; read again afterwards: {numbers.tokens(again)}{paid}" if again else ""
    return [
        Span(f" {numbers.many(len(compactions), 'compaction')}", "ink bold"),
        Span(f" in {numbers.many(calls, 'call')}{of}{back}", "dim"),
    ]
