"""What would help from here on: a row for each piece of advice, what risks least first."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.core.session import MAIN
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.price.advice import Advice, best_moment
from ctxtui.curation.price.price_tag import PriceTag
from ctxtui.views.blocks.body import wrapped
from ctxtui.views.text import numbers, safe_text, sums
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.staged_pane import paid, payback

SHOWN: Final = 4
"""Pieces of advice that the bill names."""
STYLE: Final = {Risk.NOTHING: "ok", Risk.OUTSIDE: "ok", Risk.PARTS: "warn", Risk.SUMMARY: "warn", Risk.GONE: "crit"}
"""How a risk is written."""


def named(one: Advice) -> str:
    """Its policies: ``externalize large + truncate results``."""
    return " + ".join(map(named_step, one.names))


def named_step(name: str) -> str:
    """A policy by its name, in words."""
    return safe_text.one_line(name.replace("_", " "), 40)


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


def _sum_of_freed(one: Advice, staged: int) -> str:
    before, freed = one.tag.before - staged, one.tag.freed - staged
    return sums.less(one.tag.after, before, freed, ("in the next call", "without it", "freed"))


def _sum_of_saved(one: Advice) -> str:
    moment, saves = one.moment, one.saves
    if moment is None or saves is None or moment.once is None or moment.per_call is None:
        return ""
    later = (one.horizon - 1) * -moment.per_call
    once = f"{'−' if moment.once >= 0 else '+'} {numbers.money(abs(moment.once))} once"
    return f"{numbers.money(saves)} saved = {numbers.money(later)} in {one.horizon - 1:,} calls {once}."


def sum_of(one: Advice, staged: int = 0) -> str:
    """What the figures of one are made of; staged edits free so many tokens already."""
    return f"{_sum_of_freed(one, staged)} {_sum_of_saved(one)}".strip()


def note(every: Sequence[Advice]) -> str:
    """Over how many calls savings are added up."""
    return f"what is quoted later stays; saved over the next {every[0].horizon:,} calls" if every else ""


def lines(every: Sequence[Advice], name: str = "") -> Iterator[tuple[list[Span], str]]:
    """The rows of the best, for the bill, each with the sum behind its figures; where the session's `name` is given,
    with the command line of each."""
    for one in every[:SHOWN]:
        yield [Span(" ✓ ", "ok"), *words(one)], sum_of(one)
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
        Span(one.risk.description, STYLE[one.risk]),
    ]


def detail(one: Advice, told: str, room: int, staged: int = 0) -> list[Spans]:
    """What it does and risks, its price, and the command line that does the same, as `told`; staged edits free so many
    tokens already."""
    wide = max(20, room - 2)
    out: list[Spans] = [
        [Span(f" {part}", "ink bold" if n == 0 else "ink")]
        for step in one.remedy.steps
        for n, part in enumerate(safe_text.wrap(f"{named_step(step.policy.name)}: {step.policy.about}", wide))
    ]
    out += [part for line in price_lines(one.tag, one.risk, staged) for part in wrapped(line, room, 1)]
    return out + [[Span(f" {part}", "faint")] for part in safe_text.wrap(told, wide)]


def pays_back(calls: int | None) -> str:
    """After how many calls it has paid for itself, as a clause."""
    return "never pays back" if calls is None else f"pays back {'after ' if calls else ''}{payback(calls, True)}"


def price_lines(tag: PriceTag, risk: Risk | None, staged: int = 0) -> Iterator[Spans]:
    """What the next call comes to, and what that costs at the cheapest moment and now."""
    yield [
        Span(" next call ", "dim"),
        Span(f"{numbers.tokens(tag.before - staged)} → {numbers.tokens(tag.after)}", "ink bold"),
        Span("; ", "dim"),
        Span(risk.description if risk is not None else "", STYLE[risk] if risk is not None else "dim"),
    ]
    for each in dict.fromkeys((best_moment(tag), tag.moments[0] if tag.moments else None)):
        if each is not None and each.once is not None and each.per_call is not None:
            line = [Span(f" applied {each.name} ", "dim")]
            line += [Span(numbers.signed_money(each.once), paid(each.once)), Span(" once, ", "dim")]
            line += [Span(numbers.signed_money(each.per_call), paid(each.per_call))]
            yield [*line, Span(f" a call, {pays_back(each.pays_back)}", "dim")]
