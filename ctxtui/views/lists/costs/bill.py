"""The bill on a screen and as text: parts, rewrites, blocks, tools, savings, call times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.analysis.cache.miss import COMPACTION, CONTENT, EDITS, MODEL, TTL, UNKNOWN, CacheMiss
from ctxtui.analysis.cache.miss_finder import sort_dearest
from ctxtui.analysis.latency import Latency
from ctxtui.analysis.money import savings
from ctxtui.analysis.money.bill import (
    CARRY,
    FIRST,
    OTHER,
    OUTPUT,
    PARTS,
    RECORDED,
    REWRITES,
    WARM,
    Bill,
    ResidualSum,
    round_to_sum,
)
from ctxtui.analysis.money.savings import Saving
from ctxtui.analysis.money.spending import CONVERSATION, SpendingRow
from ctxtui.analysis.money.statement import Statement, StatementBlock
from ctxtui.analysis.money.totals import SessionTotals
from ctxtui.analysis.session_events import format_duration, format_thousands
from ctxtui.core.call import count_calls
from ctxtui.core.category import INDEX
from ctxtui.core.session import MAIN
from ctxtui.pricing.price import count_charged_tokens
from ctxtui.views.lists import advice
from ctxtui.views.text import bars, cells, narrow, numbers, safe_text, sums
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, width
from ctxtui.views.text.table import Column, Table

PART_MEANINGS: Final = {
    CARRY: "sent before and sent again",
    REWRITES: "cache misses: extra cost compared with reads",
    FIRST: "sent for the first time",
    OUTPUT: "answers, including thinking",
    WARM: "requests by ctxtui so that the cache does not expire",
    OTHER: "web searches, further passes by the provider",
    RECORDED: "calls without a list price, at their recorded cost",
}
SHORT_MEANINGS: Final = {
    CARRY: ("sent again",),
    REWRITES: ("cache misses",),
    FIRST: ("new input",),
    OUTPUT: ("answers",),
    WARM: ("requests by ctxtui",),
    OTHER: ("web searches",),
    RECORDED: ("no list price",),
}
PART_STYLES: Final = {CARRY: "read", REWRITES: "write", FIRST: "fresh", OUTPUT: "cat-assistant"}


class BillLine(NamedTuple):
    """A line, and the arithmetic of its figure ("": none)."""

    spans: list[Span]
    sum: str = ""


def _part_lines(statement: Statement, room: int) -> list[BillLine]:
    bill = statement.bill
    whole, most = bill.usd or 0.0, max((part.usd for part in bill.parts.values()), default=0.0)
    amounts, decimals = _shown_amounts(bill) if bill.usd is not None else ({}, 0)
    wide = min(20, room - 84) if room >= 90 else 0

    def share(name: str, _: int) -> Span:
        return Span(numbers.share(bill.parts[name].usd / whole) if whole else numbers.NOT_APPLICABLE, "dim")

    def bar(name: str, room: int) -> Span:
        return Span(bars.line(amounts[name], most, room), PART_STYLES.get(name, "dim"))

    def usd(name: str) -> str:
        least = "≥" if name == OUTPUT and bill.partial else ""
        return f"{least}${amounts[name]:,.{decimals}f}"

    table: Table[str] = Table(
        (
            Column("", 13, lambda name, _: Span(name), "left", gap=1),
            Column("", 8, lambda name, _: Span(_tokens(name, bill), "dim")),
            Column("", 8, share),
            *([Column("", wide, bar, "left", gap=1)] if wide else []),
            Column("", 10, lambda name, _: Span(usd(name), "ink bold"), gap=0 if wide else 1),
            Column("", 0, lambda name, room: Span(_meaning(name, bill, room), "dim"), "left", gap=2, least=1),
        ),
        mark=0,
    )
    bill_lines = [BillLine(table.draw(name, room), sum=_sum_of_part(name, bill)) for name in amounts]
    if bill.unpriced:
        models = ", ".join(safe_text.one_line(model) for model in bill.unpriced)
        calls = numbers.many(sum(bill.unpriced.values()), "call")
        bill_lines.append(
            BillLine([Span(f" {'unknown':<13}", "warn"), Span(f"{calls} of {models}: no complete price", "dim")])
        )
    return bill_lines


def _footnotes(statement: Statement, room: int) -> list[BillLine]:
    bill, bill_lines = statement.bill, list[BillLine]()
    if texts := residual_texts(bill):
        explanation = " ".join(
            _sum_of_residual(*residual)
            for residual in ((bill.beyond, "more"), (bill.short, "less"))
            if residual[0].calls
        )
        shown = [Span(f" {'residual':<13}"), Span(narrow.first_that_fits(texts, room - 15), "dim")]
        bill_lines.append(BillLine(shown, sum=explanation))
    if texts := _partial_texts(bill):
        shown = [Span(f" {'≥':<13}", "warn"), Span(narrow.first_that_fits(texts, room - 15), "dim")]
        likely = f"By ctxtui's count these answers have {bill.likely.tokens:,} tokens more."
        bill_lines.append(BillLine(shown, sum=sums.rate(bill.likely.usd or None, bill.likely.tokens) or likely))
    return bill_lines


def _tokens(name: str, bill: Bill) -> str:
    return numbers.least_tokens(bill.parts[name].tokens, name == OUTPUT and bill.partial > 0)


def _sum_of_residual(residual: ResidualSum, words: str) -> str:
    plain = f"{residual.tokens:,} tokens {words} in {numbers.many(residual.calls, 'call')}."
    return sums.rate(residual.usd or None, residual.tokens, f"tokens {words}") or plain


def residual_texts(bill: Bill) -> tuple[str, ...]:
    """Input reported beyond the counted blocks, or short of them; the longest text comes first."""
    amounts, with_usd = list[str](), list[str]()
    for residual, sign in ((bill.beyond, 1), (bill.short, -1)):
        if residual.calls:
            amounts.append(f"{numbers.signed(sign * residual.tokens)} in {numbers.many(residual.calls, 'call')}")
            with_usd.append(f"{amounts[-1]}, {_usd(residual.usd, bill)}")
    if not amounts:
        return ()
    sides = "; ".join(with_usd)
    return f"contained in the parts above: {sides}", f"of the input: {sides}", sides, "; ".join(amounts)


def _usd(usd: float, bill: Bill) -> str:
    return numbers.money(usd if bill.usd is not None else None)


def _partial_texts(bill: Bill) -> tuple[str, ...]:
    """Texts of falling length about answers that are reported in part."""
    if not bill.partial:
        return ()
    long = f"{numbers.many(bill.partial, 'answer')} only partly reported and paid as reported"
    likely = f"; by ctxtui's count {numbers.tokens(bill.likely.tokens)} more"
    money = f", {numbers.money(bill.likely.usd)}" if bill.likely.usd else ""
    short = f"{numbers.many(bill.partial, 'answer')} in part"
    return f"{long}{likely}{money}", f"{short}{likely}{money}", short


def _sum_of_part(name: str, bill: Bill) -> str:
    part = bill.parts[name]
    return f"{sums.share_of_money(part.usd, bill.usd)} {sums.rate(part.usd, part.tokens)}".strip()


def _meaning(name: str, bill: Bill, room: int) -> str:
    forms: list[str] = [PART_MEANINGS[name], *SHORT_MEANINGS.get(name, ())]
    if name == CARRY and bill.in_full.usd >= 0.1 * bill.parts[CARRY].usd > 0:
        usd = numbers.money(bill.in_full.usd)
        forms = [f"{PART_MEANINGS[name]}, {usd} of it not from a cache", f"sent again, {usd} not cached", *forms]
    return narrow.first_that_fits(forms, room)


def _shown_amounts(bill: Bill) -> tuple[dict[str, float], int]:
    """Non-empty parts in USD, rounded to add up to the displayed total, and the decimals."""
    shown = [name for name in PARTS if bill.parts[name].tokens or bill.parts[name].usd]
    decimals = 3 if (bill.usd or 0.0) < 0.9995 else 2
    return dict(zip(shown, round_to_sum([bill.parts[name].usd for name in shown], decimals), strict=True)), decimals


# Maximum lines of each section.
REWRITES_SHOWN: Final = 5
BLOCKS_SHOWN: Final = 6
SAVINGS_SHOWN: Final = 4
TOOLS_SHOWN: Final = 5

_NO_TOOLS: Final = frozenset({CONVERSATION, OUTPUT, OTHER, RECORDED})
_CAUSES: Final = {
    TTL: "after a pause",
    MODEL: "at a change of model",
    COMPACTION: "at a compaction",
    CONTENT: "earlier content changed",
    EDITS: "edits were applied or undone",
    UNKNOWN: "the record does not say why",
}


def _sum_of_block(block: StatementBlock) -> str:
    rate = sums.rate(block.usd, block.tokens * block.calls, "tokens carried")
    return f"{sums.product(block.tokens, block.calls, noun='time')} {rate}"


def _rewrite(miss: CacheMiss) -> list[Span]:
    cause = _CAUSES.get(miss.cause, miss.cause)
    if miss.cause == TTL and miss.pause is not None:
        pause = format_duration(miss.pause)
        cause = f"after {pause.replace('-', ' ')}{'' if pause.startswith('1-') else 's'}"
    where = "" if miss.thread == MAIN else f"  {safe_text.one_line(miss.thread, 24)}"
    return [
        Span(" ▼ ", "warn" if miss.cause == TTL else "crit"),
        Span(f"call {miss.number:<5,}"),
        Span(f"{numbers.tokens(miss.tokens):>8}", "dim"),
        Span(f"{numbers.money(miss.usd):>10}  ", "ink bold" if (miss.usd or 0) >= 1 else "ink"),
        Span(cause + where, "dim"),
    ]


def block_lines(statement: Statement, room: int) -> list[BillLine]:
    return [
        BillLine(_BLOCKS.draw(block, room), sum=_sum_of_block(block)) for block in statement.heaviest[:BLOCKS_SHOWN]
    ]


def _about(block: StatementBlock, room: int) -> list[Span]:
    style, label = CATEGORY[INDEX[block.category]].style, safe_text.one_line(block.label, 40)
    lead = [Span(label + " ", f"{style} bold")] if label else []
    if not block.gone_since:
        return [*lead, Span(safe_text.one_line(block.about))]
    gone = f" · gone since call {block.gone_since:,}"
    left = room - width(lead) - cells.width(gone)
    about = safe_text.one_line(block.about)
    return [
        *lead,
        Span(about if cells.width(about) <= left else cells.fit(about, max(0, left))),
        Span(gone, "dim"),
    ]


def _money(usd: float | None) -> Span:
    return Span(numbers.money(usd), "ink bold" if (usd or 0.0) >= 1 else "ink")


_BLOCKS: Final[Table[StatementBlock]] = Table(
    (
        Column("", 1, lambda block, _: CATEGORY[INDEX[block.category]].span, gap=1),
        Column("", 0, _about, "left", gap=1),
        Column("", 8, lambda block, _: Span(numbers.tokens(block.tokens), "dim")),
        Column("", 12, lambda block, _: Span(numbers.many(block.calls, "time"), "dim")),
        Column("", 9, lambda block, _: _money(block.usd)),
    ),
    mark=0,
    tail=2,
)


def _tool_lines(statement: Statement, room: int) -> list[BillLine]:
    rows = [row for row in statement.tools if row.name not in _NO_TOOLS][:TOOLS_SHOWN]
    table = spending_table(rows, statement.bill.usd)
    return [BillLine(table.draw(row, room), sums.share_of_money(row.usd, statement.bill.usd)) for row in rows]


def spending_table(rows: Sequence[SpendingRow], whole: float | None) -> Table[SpendingRow]:
    """The table of spending by tool.

    Shares are of the `whole` bill, bars relative to the largest of `rows`.
    """
    most = max((row.usd or 0.0 for row in rows), default=0.0)

    def sign(row: SpendingRow) -> Span:
        return Span(" ", "cat-call") if row.name in _NO_TOOLS else CATEGORY[INDEX["tool_call"]].span

    def name(row: SpendingRow, room: int) -> list[Span]:
        return [sign(row), Span(f" {safe_text.one_line(row.name)}")]

    def share(row: SpendingRow, _: int) -> Span:
        return Span(numbers.share((row.usd or 0.0) / whole) if whole else "", "dim")

    def bar(row: SpendingRow, room: int) -> Span:
        return Span(bars.line(row.usd or 0.0, most, room), sign(row).style)

    def sum_(row: SpendingRow) -> str:
        return sums.share_of_money(row.usd, whole)

    return Table(
        (
            Column("name", 0, name, "left", gap=1),
            Column("share", 9, share, sum=sum_),
            Column("", 24, bar, "left", gap=2, from_width=84),
            Column("cost", 10, lambda row, _: _money(row.usd), sort=lambda row: row.usd or 0.0, sum=sum_),
        )
    )


def saving_lines(statement: Statement) -> list[BillLine]:
    bill_lines = [
        BillLine(
            [Span(" ✓ ", "ok"), Span(describe_saving(saving))],
            sums.share_of_money(saving.saves, statement.bill.usd),
        )
        for saving in select_savings(statement)[:SAVINGS_SHOWN]
    ]
    least = _least_saving(statement)
    none = Span(f" Nothing found that would have saved {numbers.money(least)} or more.", "dim")
    return bill_lines or [BillLine([none], sum=sums.share_of_money(least, statement.bill.usd))]


def _least_saving(statement: Statement) -> float:
    return max(MIN_SAVINGS, MIN_SAVINGS * (statement.bill.usd or 0.0))


def _time_lines(statement: Statement) -> list[BillLine]:
    rows = statement.times
    if not rows:
        return []
    columns = [column for column in _TIMES if column.name != _FIRST or any(row.first_token is not None for row in rows)]
    table = Table(tuple(columns), mark=0, tail=0, style="faint")
    return [
        BillLine(table.heads(0)),
        *(BillLine(table.draw(row, 0), sum=f"Medians of {numbers.many(row.calls, 'call')}.") for row in rows),
    ]


def _size(row: Latency, room: int) -> Span:
    low = format_thousands(row.low)
    return Span(f"{low}–{format_thousands(row.high)}" if row.high else f"{low} and up")


def _seconds(seconds: float | None) -> Span:
    return Span(f"{seconds:.1f} s" if seconds is not None else numbers.NOT_YET)


_FIRST: Final = "first token"
_TIMES: Final[tuple[Column[Latency], ...]] = (
    Column("context", 14, _size, "left", gap=1),
    Column("calls", 7, lambda row, _: Span(f"{row.calls:,}")),
    Column(_FIRST, 13, lambda row, _: _seconds(row.first_token)),
    Column("took", 10, lambda row, _: _seconds(row.took)),
    Column("answer", 10, lambda row, _: Span(numbers.typical(row.output))),
)


def sections(statement: Statement, room: int, name: str = "") -> Iterator[tuple[str, str, list[BillLine]]]:
    """(title, note, lines) of each non-empty section.

    Advice has commands if the session's `name` is given.
    """
    if parts := _part_lines(statement, room):
        yield "the bill", "", [*parts, *_footnotes(statement, room)]
    if statement.bill.rewrites:
        misses = sort_dearest(statement.bill.rewrites)[:REWRITES_SHOWN]
        rewrites = [BillLine(_rewrite(miss), sums.loss(miss.usd, miss.paid)) for miss in misses]
        yield "rewrites", "most expensive first", rewrites
    if statement.heaviest and statement.bill.usd is not None:
        yield "most expensive blocks", "their cost, over all calls", block_lines(statement, room)
        if tools := _tool_lines(statement, room):
            yield "most expensive tools", "definitions, calls and results as input", tools
    if statement.bill.usd is not None:
        yield "fixes", "if they had been used for the same calls", saving_lines(statement)
    if statement.ahead:
        yield (
            "from here on",
            advice.note(statement.ahead),
            [BillLine(spans, sum=explanation) for spans, explanation in advice.lines(statement.ahead, name)],
        )
    if times := _time_lines(statement):
        yield "time", "medians", times


LINE_TABLE: Final[Table[BillLine]] = Table(
    (Column("", 0, lambda row, _: row.spans, "left", sum=lambda row: row.sum),), mark=1, tail=0
)


def overview(statement: Statement, room: int) -> list[BillLine]:
    """The tab *total*: parts of the bill, the most expensive blocks, durations of calls."""
    out = _part_lines(statement, room)
    for title, note, lines in (
        (
            "most expensive blocks",
            "their cost, over all calls",
            block_lines(statement, room) if statement.bill.usd is not None else [],
        ),
        ("time", "medians", _time_lines(statement)),
    ):
        if lines:
            out += [BillLine([]), BillLine([Span(f" {title}", "accent bold"), Span(f"  {note}", "faint")]), *lines]
    return out


def explain_total(statement: Statement) -> str:
    notes = (("Residual", residual_texts(statement.bill)), ("At least", _partial_texts(statement.bill)))
    return " ".join([f"{_format_sum(statement)}.", *(f"{name}: {texts[0]}." for name, texts in notes if texts)])


PRICE_KIND: Final = "list price"
MIN_SAVINGS: Final = 0.01
"""A saving is named from $0.01 and from 1 % of the bill on; the larger counts."""


def sentence(statement: Statement) -> str:
    """The bill in one sentence: ``$41.20 = 26.10 carry + 7.40 rewrites + ...``.

    It also names the heaviest block, the share of subagents and the best fix, if there are any.
    """
    parts = [_format_sum(statement, with_counts=True)]
    if statement.heaviest and statement.bill.usd is not None:
        parts.append(f"heaviest: {_named(statement.heaviest[0])} {_describe_cost(statement.heaviest[0])}")
    if statement.bill.subagents >= 0.005:
        parts.append(f"subagents {numbers.share(statement.bill.subagents, 0)}")
    if selected := select_savings(statement):
        parts.append(f"best fix: {describe_saving(selected[0])}")
    return "; ".join(parts)


def _format_sum(statement: Statement, *, with_counts: bool = False) -> str:
    bill = statement.bill
    if bill.usd is None:
        models = ", ".join(bill.unpriced)
        return f"cost unknown: no price for {safe_text.one_line(models)}" if models else "no usage recorded"
    amounts, decimals = _shown_amounts(bill)
    total = sum(amounts.values())
    terms = [
        f"{amounts[name]:,.{decimals}f} {name}{_describe_rewrites(bill) if with_counts and name == REWRITES else ''}"
        for name in amounts
    ]
    more = "≥ " if bill.at_least else ""
    return f"{more}${total:,.{decimals}f} = {' + '.join(terms)}"


def _describe_rewrites(bill: Bill) -> str:
    after_pause = sum(miss.cause == TTL for miss in bill.rewrites)
    return (
        f" ({len(bill.rewrites)}{f'; {after_pause} after pauses > 5 min' if after_pause else ''})"
        if bill.rewrites
        else ""
    )


def _named(block: StatementBlock) -> str:
    return cells.fit(safe_text.one_line(f"{block.label} {block.about}".strip()), 60).strip()


def _describe_cost(block: StatementBlock) -> str:
    return f"{numbers.money(block.usd)}, sent {numbers.many(block.calls, 'time')}"


def select_savings(statement: Statement) -> list[Saving]:
    least = _least_saving(statement)
    best: dict[str, Saving] = {}
    for saving in statement.savings:
        if saving.saves >= least:
            best.setdefault(saving.kind, saving)
    return list(best.values())


def describe_saving(saving: Saving) -> str:
    """A saving in words: ``remove 12 unused tools (4.1k in every call), saves $1.20``."""
    at = "" if saving.thread in ("", MAIN) else f" of thread {safe_text.one_line(saving.thread, 40)}"
    tokens, saves = format_thousands(saving.tokens), f"saves {numbers.money(saving.saves)}"
    match saving.kind:
        case savings.CLEAR:
            what = f"clear {numbers.many(saving.count, 'old tool result')} ({tokens}) at call {saving.call}{at}"
            return f"{what}, {saves} net of the rewrite"
        case savings.HOUR:
            fewer = numbers.many(saving.count, "rewrite")
            return f"cache entries of 1 hour instead of 5 minutes{at}, {saves} ({fewer} fewer)"
        case savings.MINUTES:
            return f"cache entries of 5 minutes instead of 1 hour{at}, {saves}"
        case savings.TOOLS:
            return f"remove {numbers.many(saving.count, 'unused tool')} ({tokens} in every call){at}, {saves}"
        case savings.POLICY:
            policy, risk = saving.names
            what = f"{policy} from the first call on{at}: {numbers.many(saving.count, 'block')} smaller, {tokens} less"
            return f"{what}, {saves} ({risk})"
    # `savings.CACHE`
    return f"switch the prompt cache on{at}, {saves}"


def describe_spending(totals: SessionTotals) -> str:
    """Calls and cost, and their parts in the main thread and elsewhere."""
    whole, main, others = totals.total, totals.main, totals.others
    text = f"{numbers.many(whole.calls, 'call')}, {numbers.least(whole.usd, whole.at_least)} {PRICE_KIND}"
    if not totals.is_split:
        return text
    source = f"of {numbers.many(totals.agents, 'subagent')}" if totals.agents else "elsewhere"
    return (
        f"{text}: {main.calls:,} for {numbers.least(main.usd, main.at_least)} in the main thread,"
        f" {f'{others.calls:,}' if others.calls else 'some'} for {numbers.least(others.usd, others.at_least)} {source}"
    )


def heading(statement: Statement) -> list[Span]:
    """The statement's subject: money and kind of price.

    For a subscription, tokens and window come first.
    """
    calls = f"{numbers.many(count_calls(statement.calls), 'call')}"
    more = f" · {numbers.many(statement.sessions, 'session')}" if statement.sessions > 1 else ""
    copied = sum(call.is_copy for call in statement.calls)
    more += f" · {copied:,} copied by ctxtui from another session" if copied else ""
    usd = numbers.least(statement.bill.usd, statement.bill.at_least)
    if not statement.subscription:
        return [Span(" "), Span(usd, "ink bold"), Span(f" {PRICE_KIND} · {calls}{more}", "dim")]
    tokens = sum(map(count_charged_tokens, statement.calls))
    share = f" · peak {numbers.share(statement.peak / statement.window, 0)} of the window" if statement.window else ""
    return [
        Span(" "),
        Span(numbers.least_tokens(tokens, statement.bill.partial > 0), "ink bold"),
        Span(f" tokens{share}"),
        Span(f" · subscription; {usd} {PRICE_KIND} · {calls}{more}", "dim"),
    ]
