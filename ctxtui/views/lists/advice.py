"""The list of advice: one row for each piece, lowest risk first.

A piece of advice is one or more policies, with the edits that they propose, their price, savings and risk.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.core.session import MAIN
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.price.advice import Advice, best_moment
from ctxtui.curation.price.price_tag import PriceTag
from ctxtui.views.blocks.body import wrap
from ctxtui.views.text import numbers, safe_text, sums
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.staged_pane import money_style, payback_clause

MAX_IN_BILL: Final = 4
RISK_STYLES: Final = {
    Risk.NOTHING: "ok",
    Risk.OUTSIDE: "ok",
    Risk.PARTS: "warn",
    Risk.SUMMARY: "warn",
    Risk.GONE: "crit",
}


def policy_names(piece: Advice) -> str:
    return " + ".join(map(_policy_name, piece.names))


def _policy_name(name: str) -> str:
    return safe_text.one_line(name.replace("_", " "), 40)


def command(piece: Advice, name: str, place: str = "") -> str:
    """The command line that applies `piece` to session `name`.

    `place` comes from `place_options`.
    """
    return f"ctxtui curate {shlex.quote(name)}{place} --after {piece.options()}"


def place_options(number: int, calls: int, thread: str) -> str:
    """Options of ``curate`` for call `number` of a thread's `calls`."""
    at = f" --call {number}" if number != calls else ""
    return at + (f" --thread {shlex.quote(thread)}" if thread not in ("", MAIN) else "")


def format_savings(piece: Advice) -> str:
    """Its savings over the calls ahead: money, or tokens if no price is known."""
    return numbers.money(piece.saves) if piece.saves else f"{numbers.tokens(piece.worth)} tokens"


def _sum_of_freed(piece: Advice, staged: int) -> str:
    before, freed = piece.tag.before - staged, piece.tag.freed - staged
    return sums.difference(piece.tag.after, before, freed, ("in the next call", "without it", "freed"))


def _sum_of_saved(piece: Advice) -> str:
    moment, saves = piece.moment, piece.saves
    if moment is None or saves is None or moment.once is None or moment.per_call is None:
        return ""
    later = (piece.horizon - 1) * -moment.per_call
    once = f"{'−' if moment.once >= 0 else '+'} {numbers.money(abs(moment.once))} once"
    return f"{numbers.money(saves)} saved = {numbers.money(later)} in {piece.horizon - 1:,} calls {once}."


def explain(piece: Advice, staged: int = 0) -> str:
    """Explain the figures; `staged` is the number of tokens that staged edits free already."""
    return f"{_sum_of_freed(piece, staged)} {_sum_of_saved(piece)}".strip()


def note(pieces: Sequence[Advice]) -> str:
    """The note for all pieces: kept blocks, and the calls over which savings are added up."""
    return f"blocks quoted later are kept; saved over the next {pieces[0].horizon:,} calls" if pieces else ""


def lines(pieces: Sequence[Advice], name: str = "", place: str = "") -> Iterator[tuple[list[Span], str]]:
    """Rows of the first pieces for the bill, each with the explanation of its figures.

    With command lines if the session's `name` is given; `place` comes from `place_options`.
    """
    for piece in pieces[:MAX_IN_BILL]:
        yield [Span(" ✓ ", "ok"), *_advice_spans(piece)], explain(piece)
        if name:
            yield [Span(f"     {command(piece, name, place)}", "faint")], ""


def _advice_spans(piece: Advice) -> list[Span]:
    when = f" {piece.moment.name}" if piece.moment is not None else ""
    return [
        Span(policy_names(piece), "ink bold"),
        Span(f"{when} frees {numbers.tokens(piece.tag.freed)}, saves ", "dim"),
        Span(format_savings(piece), "ok bold"),
        Span("; ", "dim"),
        Span(piece.risk.description, RISK_STYLES[piece.risk]),
    ]


def detail(piece: Advice, command_line: str, room: int, staged: int = 0) -> list[Spans]:
    """Effect, risk and price of a piece of advice, and its `command_line`."""
    wide = max(20, room - 2)
    out: list[Spans] = [
        [Span(f" {part}", "ink bold" if n == 0 else "ink")]
        for step in piece.remedy.steps
        for n, part in enumerate(safe_text.wrap(f"{_policy_name(step.policy.name)}: {step.policy.about}", wide))
    ]
    out += [part for line in price_lines(piece.tag, piece.risk, staged) for part in wrap(line, room, 1)]
    return out + [[Span(f" {part}", "faint")] for part in safe_text.wrap(command_line, wide)]


def price_lines(tag: PriceTag, risk: Risk | None, staged: int = 0) -> Iterator[Spans]:
    """Size of the next call, and costs at the cheapest moment and now, if they are known."""
    yield [
        Span(" next call ", "dim"),
        Span(f"{numbers.tokens(tag.before - staged)} → {numbers.tokens(tag.after)}", "ink bold"),
        Span("; ", "dim"),
        Span(risk.description if risk is not None else "", RISK_STYLES[risk] if risk is not None else "dim"),
    ]
    for moment in dict.fromkeys((best_moment(tag), tag.moments[0] if tag.moments else None)):
        if moment is not None and moment.once is not None and moment.per_call is not None:
            line = [Span(f" applied {moment.name} ", "dim")]
            line += [Span(numbers.signed_money(moment.once), money_style(moment.once)), Span(" once, ", "dim")]
            line += [Span(numbers.signed_money(moment.per_call), money_style(moment.per_call))]
            yield [*line, Span(f" a call, {payback_clause(moment.pays_back)}", "dim")]
