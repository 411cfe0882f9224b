"""What would help from here on: a row for each piece of advice, what risks least first."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.core.session import MAIN
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.price.advice import Advice
from ctxtui.views.text import cells, numbers, safe_text, sums
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Column, Table
from ctxtui.views.transcript.staged_pane import paid, payback

SHOWN: Final = 4
"""Pieces of advice that the bill names."""
_WIDE: Final = 100
STYLE: Final = {Risk.NOTHING: "ok", Risk.OUTSIDE: "ok", Risk.PARTS: "warn", Risk.SUMMARY: "warn", Risk.GONE: "crit"}
"""How a risk is written."""


def named(one: Advice) -> str:
    """Its policies: ``externalize_large + truncate_results``."""
    return " + ".join(safe_text.one_line(name, 40) for name in one.names)


def command(one: Advice, name: str, place: str = "") -> str:
    """The command line that does it to the session called `name`, at a `place` that `place_options` gives."""
    return f"ctxtui curate {shlex.quote(name)}{place} --after {one.options()}"


def place_options(number: int, calls: int, thread: str) -> str:
    """The options of `curate` for call `number` of the `calls` of a thread."""
    at = f" --call {number}" if number != calls else ""
    return at + (f" --thread {shlex.quote(thread)}" if thread not in ("", MAIN) else "")


def saved(one: Advice) -> str:
    """What it saves over the calls ahead."""
    return numbers.money(one.saves) if one.saves else f"{numbers.tokens(one.worth)} tokens"


def _frees(one: Advice, room: int) -> Span:
    return Span(numbers.signed(-one.tag.freed), "add bold")


def _per_call(one: Advice, room: int) -> Span:
    per_call = one.moment.per_call if one.moment is not None else None
    return Span(numbers.NONE if per_call is None else numbers.signed_money(per_call), paid(per_call))


def _once(one: Advice, room: int) -> Span:
    once = one.moment.once if one.moment is not None else None
    return Span(numbers.NONE if once is None else numbers.signed_money(once), paid(once))


def _pays(one: Advice, room: int) -> Span:
    back = one.moment.pays_back if one.moment is not None else None
    return Span(numbers.NONE if one.saves is None else payback(back, room > 8), "add" if back == 0 else "dim")


def _risk(one: Advice, room: int) -> Span:
    return Span(cells.fit(one.risk.words, room).rstrip(), STYLE[one.risk])


def _sum_of_freed(one: Advice) -> str:
    return sums.less(one.tag.after, one.tag.before, one.tag.freed, ("in the next call", "without it", "freed"))


def _sum_of_saved(one: Advice) -> str:
    moment, saves = one.moment, one.saves
    if moment is None or saves is None or moment.once is None or moment.per_call is None:
        return ""
    later = (one.horizon - 1) * -moment.per_call
    once = f"{'−' if moment.once >= 0 else '+'} {numbers.money(abs(moment.once))} once"
    return f"{numbers.money(saves)} saved = {numbers.money(later)} in {one.horizon - 1:,} calls {once}."


TABLE: Final[Table[Advice]] = Table(
    (
        Column("what", 0, lambda one, _: Span(named(one), "ink bold"), "left", gap=1, least=20),
        Column("frees", 9, _frees, sum=_sum_of_freed),
        Column(
            "saves",
            9,
            lambda one, _: Span(saved(one) if one.saves is not None else numbers.NONE, "ok bold"),
            sum=_sum_of_saved,
        ),
        Column("once", 10, _once, from_width=_WIDE, sum=_sum_of_saved),
        Column("per call", 10, _per_call, from_width=_WIDE, sum=_sum_of_saved),
        Column("pays back", 11, _pays, from_width=_WIDE, sum=_sum_of_saved),
        Column("risk", 30, lambda one, room: Span(one.risk.words, STYLE[one.risk]), "left", gap=2),
    ),
    mark=2,
    tail=0,
)


def sums_of(one: Advice | None) -> dict[str, str]:
    """The sums behind what is told of one, by the glossary's words."""
    if one is None:
        return {}
    edits = f"{len(one.edits):,} edits of {len(one.names):,} policies."
    freed = _sum_of_freed(one)
    return {"tokens": freed, "next call": freed, "policies": edits, "saves": _sum_of_saved(one)}


def note(every: Sequence[Advice]) -> str:
    """Over how many calls savings are added up."""
    return f"what is quoted later stays; saved over the next {every[0].horizon:,} calls" if every else ""


def lines(every: Sequence[Advice], name: str = "") -> Iterator[tuple[list[Span], str]]:
    """The rows of the best, for the bill, each with the sum behind its figures; where the session's `name` is given,
    with the command line of each."""
    for one in every[:SHOWN]:
        yield [Span(" ✓ ", "ok"), *words(one)], f"{_sum_of_freed(one)} {_sum_of_saved(one)}".strip()
        if name:
            yield [Span(f"     {command(one, name)}", "faint")], ""


def words(one: Advice) -> list[Span]:
    """One piece of advice in a line."""
    when = f" {one.moment.name}" if one.moment is not None else ""
    return [
        Span(named(one), "ink bold"),
        Span(f"{when} frees {numbers.tokens(one.tag.freed)}, saves ", "dim"),
        Span(saved(one), "ok bold"),
        Span("; ", "dim"),
        _risk(one, 60),
    ]


def detail(one: Advice, told: str, room: int) -> list[Spans]:
    """What it does and risks, and the command line that does the same, as `told`."""
    tag, moment = one.tag, one.moment
    size = f"next call {numbers.tokens(tag.before)} → {numbers.tokens(tag.after)}"
    when = f"; best applied {moment.name}" if moment is not None else ""
    edits = f"{len(one.edits):,} edit{'' if len(one.edits) == 1 else 's'}; "
    out: list[Spans] = [
        [Span(f" {edits}{size}{when}", "ink")],
        [Span(" "), _risk(one, max(10, room - 2))],
    ]
    out += [[Span(f" {part}", "dim")] for part in safe_text.wrap(told, max(20, room - 2))]
    return out
