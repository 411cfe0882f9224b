"""The bill on a screen and as text: its sum in words, parts, rewrites, dearest blocks and tools, savings, times."""

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
    Bill,
    ResidualSum,
    round_to_sum,
)
from ctxtui.analysis.money.savings import Cure
from ctxtui.analysis.money.spending import ATTACHED, CONVERSATION, NOT_RECORDED, SpendingRow
from ctxtui.analysis.money.statement import Statement, StatementBlock
from ctxtui.analysis.money.totals import SessionTotals
from ctxtui.analysis.session_events import format_duration, format_thousands
from ctxtui.core.call import count_calls
from ctxtui.core.category import INDEX
from ctxtui.core.session import MAIN
from ctxtui.views.lists import advice
from ctxtui.views.text import bars, cells, numbers, safe_text, sums
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, plain, width
from ctxtui.views.text.table import Column, Table

_MEANS: Final = {
    CARRY: "sent before and sent again",
    REWRITES: "lost by the cache: what that cost more than a read",
    FIRST: "sent for the first time",
    OUTPUT: "answers, thinking with them",
    OTHER: "web searches, the provider's own passes",
    RECORDED: "calls without a list price, as their record says",
}
_SHORTER: Final = {
    CARRY: ("sent again",),
    REWRITES: ("lost by the cache",),
    FIRST: ("sent first",),
    OUTPUT: ("answers",),
    OTHER: ("web searches",),
    RECORDED: ("no list price",),
}
"""The same in fewer words."""
_STYLE: Final = {CARRY: "read", REWRITES: "write", FIRST: "fresh", OUTPUT: "cat-assistant"}


class BillLine(NamedTuple):
    """One line: its spans, and what its figures are made of."""

    spans: list[Span]
    sum: str = ""


def part_lines(what: Statement, room: int) -> list[BillLine]:
    """The parts as rows: tokens, share, bar, money, what it means."""
    bill = what.bill
    whole, most = bill.usd or 0.0, max((part.usd for part in bill.parts.values()), default=0.0)
    amounts, decimals = shown_amounts(bill) if bill.usd is not None else ({}, 0)
    wide = min(20, room - 84) if room >= 90 else 0

    def share(name: str, _: int) -> Span:
        return Span(numbers.share(bill.parts[name].usd / whole) if whole else numbers.NOT_APPLICABLE, "dim")

    def bar(name: str, room: int) -> Span:
        return Span(bars.line(amounts[name], most, room), _STYLE.get(name, "dim"))

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
    found = [BillLine(table.draw(name, room), sum=_sum_of_part(name, bill)) for name in amounts]
    if bill.unpriced:
        models = ", ".join(safe_text.one_line(model) for model in bill.unpriced)
        calls = numbers.many(sum(bill.unpriced.values()), "call")
        found.append(BillLine([Span(f" {'unknown':<13}", "warn"), Span(f"{calls} of {models}: no price", "dim")]))
    return found


def footnotes(what: Statement, room: int) -> list[BillLine]:
    """What the residual comes to, and what answers that are not reported in full leave open."""
    bill, found = what.bill, list[BillLine]()
    if said := of_residual(bill):
        fits = [words for words in said if cells.width(words) <= room - 15]
        told = " ".join(_sum_of_residual(*one) for one in ((bill.beyond, "more"), (bill.short, "less")) if one[0].calls)
        shown = [Span(f" {'residual':<13}"), Span(fits[0] if fits else said[-1], "dim")]
        found.append(BillLine(shown, sum=told))
    if said := in_part(bill):
        fits = [words for words in said if cells.width(words) <= room - 15]
        shown = [Span(f" {'≥':<13}", "warn"), Span(fits[0] if fits else said[-1], "dim")]
        likely = f"Their blocks come to {bill.likely.tokens:,} tokens more by our count."
        found.append(BillLine(shown, sum=sums.rate(bill.likely.usd or None, bill.likely.tokens) or likely))
    return found


def _tokens(name: str, bill: Bill) -> str:
    return numbers.least_tokens(bill.parts[name].tokens, name == OUTPUT and bill.partial > 0)


def _sum_of_residual(one: ResidualSum, words: str) -> str:
    plain = f"{one.tokens:,} tokens {words} in {numbers.many(one.calls, 'call')}."
    return sums.rate(one.usd or None, one.tokens, f"tokens {words}") or plain


def of_residual(bill: Bill) -> tuple[str, ...]:
    """What of the input the reports have beyond what explains it, and the other way round, from the longest words to
    the shortest; none where there is nothing of both."""
    told = []
    for found, sign in ((bill.beyond, 1), (bill.short, -1)):
        if found.calls:
            told.append(
                f"{numbers.signed(sign * found.tokens)} in {numbers.many(found.calls, 'call')}, {_usd(found.usd, bill)}"
            )
    if not told:
        return ()
    sides = "; ".join(told)
    return f"of the input, spread over all of it: {sides}", f"of the input: {sides}", sides, sides.partition(",")[0]


def _usd(usd: float, bill: Bill) -> str:
    return numbers.money(usd if bill.usd is not None else None)


def in_part(bill: Bill) -> tuple[str, ...]:
    """What it means that answers are not reported in full, longest words first; none where none is."""
    if not bill.partial:
        return ()
    told = f"{numbers.many(bill.partial, 'answer')} not reported in full: what is known of them counts"
    likely = f"; by our count {numbers.tokens(bill.likely.tokens)} more"
    money = f", {numbers.money(bill.likely.usd)}" if bill.likely.usd else ""
    short = f"{numbers.many(bill.partial, 'answer')} in part"
    return f"{told}{likely}{money}", f"{short}{likely}{money}", short


def _sum_of_part(name: str, bill: Bill) -> str:
    part = bill.parts[name]
    if bill.usd is None:
        return f"{part.tokens:,} tokens, in calls without a known price."
    return f"{sums.share_of_money(part.usd, bill.usd)} {sums.rate(part.usd, part.tokens)}".strip()


def _meaning(name: str, bill: Bill, room: int) -> str:
    """What a part is, in the words that fit."""
    forms: list[str] = [_MEANS[name], *_SHORTER.get(name, ())]
    if name == CARRY and bill.in_full.usd >= 0.1 * bill.parts[CARRY].usd > 0:
        usd = numbers.money(bill.in_full.usd)
        forms = [f"{_MEANS[name]}, {usd} of it not from a cache", f"sent again, {usd} not cached", *forms]
    fits = [words for words in forms if cells.width(words) <= room]
    return fits[0] if fits else forms[-1]


def shown_amounts(bill: Bill) -> tuple[dict[str, float], int]:
    """The parts that are not empty, in USD rounded so that they add up to the total that is shown; the decimals."""
    shown = [name for name in PARTS if bill.parts[name].tokens or bill.parts[name].usd]
    decimals = 3 if (bill.usd or 0.0) < 0.9995 else 2
    return dict(zip(shown, round_to_sum([bill.parts[name].usd for name in shown], decimals), strict=True)), decimals


REWRITES_SHOWN: Final = 5
BLOCKS_SHOWN: Final = 6
CURES_SHOWN: Final = 4
TOOLS_SHOWN: Final = 5

_NO_TOOLS: Final = frozenset({CONVERSATION, OUTPUT, OTHER, RECORDED})
_REST: Final = _NO_TOOLS | {NOT_RECORDED, ATTACHED}
_CAUSES: Final = {
    TTL: "after a pause",
    MODEL: "at a change of model",
    COMPACTION: "at a compaction",
    CONTENT: "something before it was changed",
    EDITS: "edits were applied, or taken back",
    UNKNOWN: "the record does not say why",
}


def rewrite_lines(what: Statement) -> list[BillLine]:
    """The dearest rewrites."""
    found = sort_dearest(what.bill.rewrites)[:REWRITES_SHOWN]
    return [BillLine(_rewrite(one), sum_of_rewrite(one)) for one in found]


def sum_of_rewrite(one: CacheMiss) -> str:
    """What a rewrite cost more than a read."""
    return sums.lost(one.usd, one.paid)


def _sum_of_block(one: StatementBlock) -> str:
    return f"{sums.times(one.tokens, one.calls)} {sums.rate(one.usd, one.tokens * one.calls, 'tokens carried')}"


def _rewrite(one: CacheMiss) -> list[Span]:
    why = _CAUSES.get(one.cause, one.cause)
    if one.cause == TTL and one.pause is not None:
        pause = format_duration(one.pause)
        why = f"after {pause.replace('-', ' ')}{'' if pause.startswith('1-') else 's'}"
    where = "" if one.thread == MAIN else f"  {safe_text.one_line(one.thread, 24)}"
    return [
        Span(" ▼ ", "warn" if one.cause == TTL else "crit"),
        Span(f"call {one.number:<5,}"),
        Span(f"{numbers.tokens(one.tokens):>8}", "dim"),
        Span(f"{numbers.money(one.usd):>10}  ", "ink bold" if (one.usd or 0) >= 1 else "ink"),
        Span(why + where, "dim"),
    ]


def block_lines(what: Statement, room: int) -> list[BillLine]:
    """The dearest blocks."""
    return [BillLine(_BLOCKS.draw(one, room), sum=_sum_of_block(one)) for one in what.heaviest[:BLOCKS_SHOWN]]


def _about(one: StatementBlock, room: int) -> list[Span]:
    style, label = CATEGORY[INDEX[one.category]].style, safe_text.one_line(one.label, 40)
    lead = [Span(label + " ", f"{style} bold")] if label else []
    if not one.gone_since:
        return [*lead, Span(safe_text.one_line(one.about))]
    gone = f" · gone since call {one.gone_since:,}"
    left = room - width(lead) - cells.width(gone)
    about = safe_text.one_line(one.about)
    return [
        *lead,
        Span(about if cells.width(about) <= left else cells.fit(about, max(0, left))),
        Span(gone, "dim"),
    ]


def _money(usd: float | None) -> Span:
    return Span(numbers.money(usd), "ink bold" if (usd or 0.0) >= 1 else "ink")


_BLOCKS: Final[Table[StatementBlock]] = Table(
    (
        Column("", 1, lambda one, _: CATEGORY[INDEX[one.category]].span, gap=1),
        Column("", 0, _about, "left", gap=1),
        Column("", 8, lambda one, _: Span(numbers.tokens(one.tokens), "dim")),
        Column("", 12, lambda one, _: Span(numbers.many(one.calls, "time"), "dim")),
        Column("", 9, lambda one, _: _money(one.usd)),
    ),
    mark=0,
    tail=2,
)


def tool_lines(what: Statement, room: int) -> list[BillLine]:
    """The dearest tools: definitions, calls and results as input."""
    rows = [row for row in what.tools if row.name not in _NO_TOOLS][:TOOLS_SHOWN]
    table = spending_table(rows, what.bill.usd)
    return [BillLine(table.draw(row, room), sums.share_of_money(row.usd, what.bill.usd)) for row in rows]


def spending_table(rows: Sequence[SpendingRow], whole: float | None) -> Table[SpendingRow]:
    """The table of what `rows` cost, of the `whole` bill."""
    most = max((row.usd or 0.0 for row in rows), default=0.0)

    def sign(row: SpendingRow) -> Span:
        if row.name in _REST:
            return Span(" ", "cat-call")
        return CATEGORY[INDEX.get(row.name.replace(" ", "_"), INDEX["tool_call"])].span

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


def cure_lines(what: Statement) -> list[BillLine]:
    """What would have been cheaper, had the same calls been made."""
    found = [
        BillLine(
            [Span(" ✓ ", "ok"), Span(cure_words(cure))],
            sums.share_of_money(cure.saves, what.bill.usd),
        )
        for cure in worthwhile(what)[:CURES_SHOWN]
    ]
    least = sums.share_of_money(WORTH * (what.bill.usd or 0.0), what.bill.usd)
    none = Span(" Nothing found that would have saved more than 1 %.", "dim")
    return found or [BillLine([none], sum=least)]


def time_lines(what: Statement) -> list[BillLine]:
    """Latency against the size of the context; nothing where no times are recorded."""
    rows = what.times
    if not rows:
        return []
    columns = [one for one in _TIMES if one.name != _FIRST or any(row.first_token is not None for row in rows)]
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


def sections(what: Statement, room: int, name: str = "") -> Iterator[tuple[str, str, list[BillLine]]]:
    """(title, note, lines) of each section that has something to say, for rows of `room` cells. What would help is told
    with its command line where the session's `name` is given."""
    if parts := part_lines(what, room):
        yield "the bill", "", [*parts, *footnotes(what, room)]
    if what.bill.rewrites:
        yield "rewrites", "dearest first", rewrite_lines(what)
    if what.heaviest and what.bill.usd is not None:
        yield "dearest blocks", "what carrying each has cost", block_lines(what, room)
        if tools := tool_lines(what, room):
            yield "dearest tools", "definitions, calls and results as input", tools
    if what.bill.usd is not None:
        yield "cures", "had the same calls been made", cure_lines(what)
    if what.ahead:
        yield (
            "from here on",
            advice.note(what.ahead),
            [BillLine(spans, sum=said) for spans, said in advice.lines(what.ahead, name)],
        )
    if times := time_lines(what):
        yield "time", "medians", times


LINES: Final[Table[BillLine]] = Table(
    (Column("", 0, lambda row, _: row.spans, "left", sum=lambda row: row.sum),), mark=1, tail=0
)
"""Lines that are drawn already, as rows."""


def overview(what: Statement, room: int) -> list[BillLine]:
    """The lines of the total: its parts, the dearest blocks, how long calls took."""
    out = part_lines(what, room)
    for title, note, lines in (
        ("dearest blocks", "what carrying each has cost", block_lines(what, room) if what.bill.usd is not None else []),
        ("time", "medians", time_lines(what)),
    ):
        if lines:
            out += [BillLine([]), BillLine([Span(f" {title}", "accent bold"), Span(f"  {note}", "faint")]), *lines]
    return out


def sum_of_overview(what: Statement) -> str:
    """What the total is the sum of, with what its parts leave open."""
    notes = [plain(line.spans).split(maxsplit=1) for line in footnotes(what, _WHOLE)]
    told = [f"{'Residual' if sign == 'residual' else 'At least'}: {words}." for sign, words in notes]
    return " ".join([f"{sum_of_all(what)}.", *told])


_WHOLE: Final = 1_000
"""Cells of a line that is not shortened."""
LABEL: Final = "list price"
WORTH: Final = 0.01
"""Share of the bill below which a cure is not worth naming, and USD: a cent."""


def sentence(what: Statement) -> str:
    """The bill in one sentence: ``$41.20 = 26.10 carry + 7.40 rewrites (7; 5 after pauses > 5 min) + ...``."""
    parts = [sum_of_all(what, often=True)]
    if what.heaviest and what.bill.usd is not None:
        parts.append(f"heaviest: {_named(what.heaviest[0])} {_carried(what.heaviest[0])}")
    if what.bill.subagents >= 0.005:
        parts.append(f"subagents {numbers.share(what.bill.subagents, 0)}")
    if worth := worthwhile(what):
        parts.append(f"cheapest cure: {cure_words(worth[0])}")
    return "; ".join(parts)


def sum_of_all(what: Statement, *, often: bool = False) -> str:
    """The sum of the parts, or why there is none; with how `often` was rewritten."""
    bill = what.bill
    if bill.usd is None:
        models = ", ".join(bill.unpriced)
        return f"cost unknown: no price for {safe_text.one_line(models)}" if models else "no usage recorded"
    amounts, decimals = shown_amounts(bill)
    total = sum(amounts.values())
    words = [
        f"{amounts[name]:,.{decimals}f} {name}{_often(bill) if often and name == REWRITES else ''}" for name in amounts
    ]
    more = "≥ " if bill.at_least else ""
    return f"{more}${total:,.{decimals}f} = {' + '.join(words)}"


def _often(bill: Bill) -> str:
    paused = sum(one.cause == TTL for one in bill.rewrites)
    return f" ({len(bill.rewrites)}{f'; {paused} after pauses > 5 min' if paused else ''})" if bill.rewrites else ""


def _named(one: StatementBlock) -> str:
    return cells.fit(safe_text.one_line(f"{one.label} {one.about}".strip()), 60).strip()


def _carried(one: StatementBlock) -> str:
    return f"{numbers.money(one.usd)}, sent {numbers.many(one.calls, 'time')}"


def worthwhile(what: Statement) -> list[Cure]:
    """The cures that save a share of the bill worth naming, the best of each kind."""
    least = max(WORTH, WORTH * (what.bill.usd or 0.0))
    best: dict[str, Cure] = {}
    for cure in what.cures:
        if cure.saves >= least:
            best.setdefault(cure.kind, cure)
    return list(best.values())


def cure_words(cure: Cure) -> str:
    """What to do, and what it would have saved."""
    at = "" if cure.thread in ("", MAIN) else f" of thread {safe_text.one_line(cure.thread, 40)}"
    tokens, saves = format_thousands(cure.tokens), f"saves {numbers.money(cure.saves)}"
    match cure.kind:
        case savings.CLEAR:
            what = f"clear {numbers.many(cure.count, 'old tool result')} ({tokens}) at call {cure.call}{at}"
            return f"{what}, {saves} net of the rewrite"
        case savings.HOUR:
            fewer = numbers.many(cure.count, "rewrite")
            return f"cache entries of 1 hour in place of 5 minutes{at}, {saves} ({fewer} less)"
        case savings.MINUTES:
            return f"cache entries of 5 minutes in place of 1 hour{at}, {saves}"
        case savings.TOOLS:
            return f"leave out {numbers.many(cure.count, 'tool')} never called ({tokens} in every call){at}, {saves}"
        case savings.POLICY:
            policy, risk = cure.names
            what = f"{policy} from the first call on{at}: {numbers.many(cure.count, 'block')} less by {tokens}"
            return f"{what}, {saves} ({risk})"
    return f"switch the prompt cache on{at}, {saves}"


def spent_words(what: SessionTotals) -> str:
    """What a session comes to, with its subagents and without."""
    whole, main, others = what.total, what.main, what.others
    told = f"{numbers.many(whole.calls, 'call')}, {numbers.least(whole.usd, whole.at_least)} {LABEL}"
    if not what.is_split:
        return told
    who = f"of {numbers.many(what.agents, 'subagent')}" if what.agents else "beside it"
    return (
        f"{told}: {main.calls:,} for {numbers.least(main.usd, main.at_least)} in the main thread,"
        f" {others.calls or 'a sum'} for {numbers.least(others.usd, others.at_least)} {who}"
    )


def head(what: Statement) -> list[Span]:
    """What the statement is about: the money and whose price it is; for a subscription tokens and window lead."""
    calls = f"{numbers.many(count_calls(what.calls), 'call')}"
    more = f" · {numbers.many(what.sessions, 'session')}" if what.sessions > 1 else ""
    copied = sum(call.is_copy for call in what.calls)
    more += f" · {copied:,} copied by ctxtui from another session" if copied else ""
    usd = numbers.least(what.bill.usd, what.bill.at_least)
    if not what.subscription:
        return [Span(" "), Span(usd, "ink bold"), Span(f" {LABEL} · {calls}{more}", "dim")]
    tokens = sum(c.usage.input + c.output for c in what.calls if c.usage)
    share = f" · peak {numbers.share(what.peak / what.window, 0)} of the window" if what.window else ""
    return [
        Span(" "),
        Span(numbers.least_tokens(tokens, what.bill.partial > 0), "ink bold"),
        Span(f" tokens{share}"),
        Span(f" · subscription; {usd} {LABEL} · {calls}{more}", "dim"),
    ]
