"""The parts of a bill as rows: what each came to, what of the input nothing explains, and answers that are known in
part."""

from __future__ import annotations

from typing import Final, NamedTuple

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
    to_the_cent,
)
from ctxtui.analysis.money.statement import Statement
from ctxtui.views.text import bars, cells, numbers, safe_text, sums
from ctxtui.views.text.span import Span
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
            Column("", 13, lambda name, _: Span(name, "ink"), "left", gap=1),
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
        shown = [Span(f" {'residual':<13}", "ink"), Span(fits[0] if fits else said[-1], "dim")]
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
    return dict(zip(shown, to_the_cent([bill.parts[name].usd for name in shown], decimals), strict=True)), decimals
