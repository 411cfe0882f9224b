"""A compaction: the context before and after it by category, what its summary kept and lost, and what came back."""

from __future__ import annotations

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
SHOWN: Final = (LOST, KEPT, ALL)
"""Which facts are listed, in the order in which a key walks."""

_SIGN: Final = {FILE: Span("≡", "cat-memory"), DECISION: Span("›", "cat-user"), LITERAL: Span("#", "dim")}
_LIST_ORDER: Final = (FILE, DECISION, LITERAL)
_NAMES: Final = 14
_FIGURES: Final = 9


def sizes(one: Compaction) -> str:
    """The context before and after: ``154.8k → 22.3k``."""
    return f"{numbers.tokens(one.before.context_tokens)} → {numbers.tokens(one.after.context_tokens)}"


def title(every: Sequence[Compaction], index: int) -> list[Span]:
    """Which one it is, for the rule."""
    one = every[index]
    trigger = f" · {one.trigger}" if one.trigger else ""
    at = f" · {numbers.clock(datetime.fromtimestamp(one.at, UTC).astimezone())}" if one.at else ""
    many_ = f"{index + 1} of {len(every)} · " if len(every) > 1 else ""
    return [
        Span(f" {many_}", "dim"),
        Span(f"before call {one.number:,}", "ink bold"),
        Span(f" · {sizes(one)}{trigger}{at}", "dim"),
    ]


def _rows(one: Compaction) -> list[tuple[str, int, int]]:
    """(category, tokens before, tokens after), in prompt order; what the record lacks last."""

    def parts(got: CallFigures) -> dict[str, int]:
        more = {"not recorded": got.not_recorded or 0, "reattached": got.attached, "residual": got.residual}
        return {**got.categories, **{name: n for name, n in more.items() if n}}

    lacking = ("not recorded", "reattached", "residual")

    before, after = parts(one.before), parts(one.after)
    order = {name: n for n, name in enumerate((*CATEGORIES, *lacking))}
    names = sorted({**before, **after}, key=lambda name: order.get(name, len(order)))
    return [(name, before.get(name, 0), after.get(name, 0)) for name in names]


def bars_of(one: Compaction, room: int, height: int = 99) -> list[Spans]:
    """Two bars for each category, before and after, on one scale; the smallest fold into one line where `height` is not
    enough."""
    rows = _rows(one)
    folded: list[tuple[str, int, int]] = []
    if len(rows) > height:
        # The summary is what it is about, however small.
        small = sorted(rows, key=lambda row: (row[0] == "summary", max(abs(row[1]), abs(row[2]))))
        small = small[: len(rows) - height + 1]
        rows, folded = [row for row in rows if row not in small], small
    top = max((max(before, after) for _, before, after in rows), default=1)
    side = _side(room)
    out: list[Spans] = []
    for name, before, after in rows:
        sign = category(name)
        lacks = name in ("not recorded", "reattached", "residual")
        lead = [Span(" "), Span(" ") if lacks else sign.span, Span(" ")]
        style, word = ("faint", "faint") if lacks else (sign.style, "ink")
        shown = name if name in ("not recorded", "residual") else sign.name
        out.append(
            [
                *lead,
                Span(cells.left(shown, _NAMES), word),
                *_bar(before, top, side, style, lacks, signed=name == "residual"),
                *_bar(after, top, side, style, lacks, signed=name == "residual"),
            ]
        )
    if folded:
        was, now = sum(row[1] for row in folded), sum(row[2] for row in folded)
        lead = [Span("   "), Span(cells.left(f"{len(folded)} smaller", _NAMES), "faint")]
        out.append([*lead, *_bar(was, top, side, "faint", False), *_bar(now, top, side, "faint", False)])
    return out


def _bar(tokens: int, top: int, room: int, style: str, lacks: bool, *, signed: bool = False) -> list[Span]:
    said = numbers.signed if signed else numbers.guessed if lacks else numbers.tokens
    figure = said(tokens) if tokens else numbers.NONE
    drawn = bars.line(max(0, tokens), top, room) if room > 2 else ""
    return [
        Span(cells.right(figure, _FIGURES - 1) + " ", "dim" if lacks or not tokens else "ink"),
        Span(cells.left(drawn, room), style),
    ]


def heads(room: int) -> list[Span]:
    """The heads over the bars."""
    before = cells.left(cells.right("before", _FIGURES - 1), _FIGURES + _side(room))
    return [Span(" " * (3 + _NAMES) + before + cells.right("after", _FIGURES - 1), "faint")]


def _side(room: int) -> int:
    return max(0, (room - _NAMES - 4 - 2 * _FIGURES) // 2)


def sentences(one: Compaction) -> Iterator[Spans]:
    """What the summary is, what it kept, what came back."""
    kept = (
        f"; {numbers.many(len(one.kept), 'block')}, {numbers.tokens(one.kept_tokens)}, stayed as they were"
        if one.kept
        else ""
    )
    yield [
        Span(" "),
        MARK["compaction"].span,
        Span(f" a summary of {numbers.tokens(one.summary_tokens)}"),
        Span(f" stands for {numbers.many(one.replaced, 'block')}{kept}", "dim"),
    ]
    if one.sealed:
        told = "the summary is encrypted: what counts as lost may still stand in it"
        yield [Span(" ▲ ", "warn"), Span(told, "warn")]
    counts = [
        f"{one.count_facts(kind) - one.count_lost(kind):,} of {numbers.many(one.count_facts(kind), kind)}"
        for kind in _LIST_ORDER
        if one.count_facts(kind)
    ]
    yield [Span(" ✓ ", "ok"), Span("names "), Span(", ".join(counts) or "nothing was looked for", "dim")]
    back = one.brought_back
    if not back:
        yield [Span(" · ", "dim"), Span("no file that the agent knew was read again", "dim")]
        return
    files = sum(any(again.tokens for again in fact.again) for fact in one.facts_of(FILE))
    usd = one.again_usd
    paid = f", {numbers.money(usd)} since" if usd is not None else ""
    yield [
        Span(" ↓ ", "warn"),
        Span(f"{numbers.many(files, 'file')} read again"),
        Span(f": {numbers.tokens(one.again_tokens)}{paid}", "dim"),
    ]


def facts(one: Compaction, shown: str = LOST) -> list[Fact]:
    """The facts to list: what came back first, the dearest of it first, then by kind, the most frequent first."""
    order = {kind: n for n, kind in enumerate(_LIST_ORDER)}
    wanted = [
        fact
        for fact in one.facts
        # A file that the summary names and that was read again all the same was lost in what matters.
        if shown == ALL or fact.kept == (shown == KEPT) or (shown == LOST and _sum(fact.again))
    ]
    return sorted(
        wanted,
        key=lambda fact: (
            fact.kind == LITERAL,
            not fact.again,
            -sum(again.tokens for again in fact.again),
            order[fact.kind],
            -fact.times,
        ),
    )


def _words(fact: Fact, room: int) -> list[Span]:
    state = Span("✓ ", "ok") if fact.kept else Span("✗ ", "crit")
    text = safe_text.one_line(fact.text, 400)
    if fact.kind == FILE and cells.width(text) > room - 4:
        text = "…" + cells.tail(text, max(1, room - 5))
    return [state, _SIGN[fact.kind], Span(" "), Span(text, "ink" if not fact.kept else "dim")]


def _back(fact: Fact, room: int) -> list[Span]:
    if not fact.again:
        return [Span(numbers.NONE, "faint")]
    first = fact.again[0]
    more = f" +{len(fact.again) - 1}" if len(fact.again) > 1 else ""
    return [Span(first.how, "warn" if first.tokens else "ink"), Span(f" at {first.call:,}{more}", "dim")]


def _sum(again: Sequence[Recovery]) -> int:
    return sum(one.tokens for one in again)


def _cost(fact: Fact, room: int) -> Span:
    known = [one.usd for one in fact.again if one.usd is not None and one.tokens]
    return Span(numbers.money(sum(known)) if known else numbers.NONE, "ink" if known else "faint")


def _tokens(fact: Fact, room: int) -> Span:
    found = _sum(fact.again)
    return Span(numbers.tokens(found) if found else numbers.NONE, "ink" if found else "faint")


def _sum_of_tokens(fact: Fact) -> str:
    return sums.added(_sum(fact.again), "tokens", [one.tokens for one in fact.again if one.tokens], "times")


def _sum_of_cost(fact: Fact) -> str:
    known = [one.usd for one in fact.again if one.usd is not None and one.tokens]
    return sums.added_money(sum(known), known, "times") if known else ""


def sums_of_bars(one: Compaction) -> dict[str, str]:
    """The sums behind the bars and sentences, by the glossary's words."""
    found: dict[str, str] = {}
    for name, before, after in _rows(one):
        word = name if name in ("not recorded", "residual") else category(name).name
        if before >= 0 and after >= 0:
            found[word] = sums.less(
                after, before, before - after, ("after", "before", "less" if before >= after else "more")
            )
    whole, left = one.before.context_tokens, one.after.context_tokens
    change = sums.less(left, whole, whole - left, ("after", "before", "less" if whole >= left else "more"))
    found |= dict.fromkeys(("tokens", "compaction", "call"), change)
    back = [again.tokens for fact in one.facts for again in fact.again if again.tokens]
    if back and sum(back) == one.again_tokens:
        found["read again"] = sums.added(one.again_tokens, "read again", back, "times")
    return found


TABLE: Final[Table[Fact]] = Table(
    (
        Column("  what it said", 0, _words, "left", least=10),
        Column(
            "stood",
            6,
            lambda fact, _: Span(f"{fact.times:,}×", "dim"),
            from_width=70,
            sum=lambda fact: f"{fact.times:,} blocks of the context before had it.",
        ),
        Column("came back", 22, _back, "left", gap=2, from_width=60),
        Column("tokens", 7, _tokens, sum=_sum_of_tokens),
        Column("cost since", 11, _cost, from_width=70, sum=_sum_of_cost),
    )
)
"""A line for each fact."""


def noted(one: Compaction, shown: str) -> list[Span]:
    """What is listed, for the rule of the list."""
    if shown == ALL:
        return [Span("lost and kept", "dim")]
    counts = [
        numbers.many(one.count_lost(kind) if shown == LOST else one.count_facts(kind) - one.count_lost(kind), kind)
        for kind in _LIST_ORDER
        if one.count_facts(kind)
    ]
    return [Span(", ".join(counts), "ink" if shown == LOST else "dim")]


def summary(every: Sequence[Compaction], thread: str, calls: int) -> list[Span]:
    """How many there were, for the first line of a page."""
    of = f" of {safe_text.one_line(thread, 60)}" if thread else ""
    if not every:
        return [Span(f" No compaction in {numbers.many(calls, 'call')}{of}.", "dim")]
    again = sum(one.again_tokens for one in every)
    known = [one.again_usd for one in every if one.again_usd is not None]
    paid = f", {numbers.money(sum(known))}" if known and again else ""
    back = f"; read again afterwards: {numbers.tokens(again)}{paid}" if again else ""
    return [
        Span(f" {numbers.many(len(every), 'compaction')}", "ink bold"),
        Span(f" in {numbers.many(calls, 'call')}{of}{back}", "dim"),
    ]
