"""Growth in sentences: shape, evidence, what grew, carried and unquoted tokens, outlook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.analysis.growth import feasible as answers
from ctxtui.analysis.growth import growth as shapes
from ctxtui.analysis.growth.feasible import Feasibility, GrowthReport
from ctxtui.analysis.growth.growth import GrownPart, Growth, GrowthShape
from ctxtui.views.inspector.stacked_chart import sign_of, sign_span
from ctxtui.views.lists.preflight import describe_limit
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, Spans, width

_NAME: Final = 10
_NAMED_PARTS: Final = 4


def _describe_shape(shape: GrowthShape) -> str:
    calls = f"calls {shape.first:,}–{shape.first + shape.calls - 1:,}"
    fit = f"a straight line explains {numbers.share(shape.r2, 0)} of the variation over {calls}"
    match shape.kind:
        case shapes.FLAT:
            return f"flat: {numbers.signed(shape.per_call)} a call over {calls}"
        case shapes.LINEAR:
            return f"linear: {numbers.signed(shape.per_call)} a call; {fit}"
        case shapes.SHRINKING:
            return f"shrinking: {numbers.signed(shape.per_call)} a call; {fit}"
        case shapes.UNEVEN:
            return f"uneven: {numbers.signed(shape.per_call)} a call on average; {fit} only"
    word = "faster than linear (quadratic)" if shape.kind == shapes.FASTER else "slowing down"
    ends = f"{numbers.signed(shape.begins)} a call at first, {numbers.signed(shape.ends)} at last"
    return f"{word}: {ends}; a quadratic curve explains {numbers.share(shape.r2_bent, 0)}, {fit}"


def _describe_sent(growth: Growth) -> str:
    total = f"{numbers.tokens(growth.carry)} in {numbers.many(len(growth.calls), 'call')}"
    if growth.shape is None:
        return total
    word = "quadratically" if growth.shape.sent == shapes.FASTER else "nearly linearly"
    return f"{total}; the total grows {word}: twice the calls send {growth.shape.doubled:.1f} times as much"


def explain_growth(growth: Growth) -> str:
    calls = len(growth.calls)
    if not calls:
        return ""
    first, last = growth.stretch
    each = f"{growth.carry // calls:,} each on average"
    sent = f"{growth.carry:,} tokens of context in {numbers.many(calls, 'call')}, {each}"
    return f"{sent}; rates and growth are from calls {first:,} to {last:,}."


class GrowthSentence(NamedTuple):
    """A sentence with its `name`; if not all fit, the lowest `rank` has priority."""

    rank: int
    name: str
    spans: Spans


def sentences(report: GrowthReport) -> Iterator[GrowthSentence]:
    """Yield the sentences that apply, in the order of the screen."""
    grown = report.growth
    if grown.shape is not None:
        yield GrowthSentence(0, "context", [Span(_describe_shape(grown.shape), "ink bold")])
    if grown.calls:
        yield GrowthSentence(4, "sent", [Span(_describe_sent(grown))])
    if grown.since is not None and grown.calls:
        more, whole = grown.since.tokens - grown.calls[-1].tokens, numbers.tokens(grown.since.tokens)
        words = f"{numbers.tokens(more)} added after call {len(grown.calls):,}, not sent yet: {whole} in all"
        yield GrowthSentence(2, "since", [Span(words, "ink bold")])
    rising = [part for part in grown.parts if part.growth > 0]
    if rising and len(grown.calls) > 1:
        yield GrowthSentence(5, "what grew", _parts(rising, lambda part: numbers.signed(part.growth)))
    carried = sorted(grown.parts, key=lambda part: -part.carry)
    if carried and len(grown.calls) > 1:
        yield GrowthSentence(9, "carry", _parts(carried, lambda part: numbers.tokens(part.carry)))
    yield from _again(grown)
    yield from _dead(grown)
    yield from _ahead(report)
    for lacking in grown.lacks:
        yield GrowthSentence(1, "unknown", [Span(lacking, "dim")])


def wrap(report: GrowthReport, room: int, height: int = 0) -> list[list[Span]]:
    """The sentences in lines of `room` cells, in at most `height` lines (0: unlimited)."""
    return [line for lines in _select_fitting(report, room, height) if lines for line in lines]


def count_left_out(report: GrowthReport, room: int, height: int) -> int:
    return sum(not lines for lines in _select_fitting(report, room, height))


def _select_fitting(report: GrowthReport, room: int, height: int) -> list[list[list[Span]]]:
    """The lines of each sentence; empty for sentences that do not fit."""
    wrapped_sentences = [(sentence, list(_wrap_sentence(sentence, room))) for sentence in sentences(report)]
    used_height, fitting = 0, set[int]()
    for n in sorted(range(len(wrapped_sentences)), key=lambda n: wrapped_sentences[n][0].rank):
        if not height or used_height + len(wrapped_sentences[n][1]) <= height:
            used_height += len(wrapped_sentences[n][1])
            fitting.add(n)
    return [lines if n in fitting else [] for n, (_, lines) in enumerate(wrapped_sentences)]


def _wrap_sentence(sentence: GrowthSentence, room: int) -> Iterator[list[Span]]:
    if len(sentence.spans) != 1:
        yield [_name(sentence.name), *_complete_parts(sentence.spans, room - _NAME - 2)]
        return
    ((text, style),) = sentence.spans
    for n, words in enumerate(safe_text.wrap(text, max(20, room - _NAME - 2))):
        yield [_name(sentence.name if n == 0 else ""), Span(words, style)]


def _complete_parts(spans: Spans, room: int) -> Iterator[Span]:
    for at in range(0, len(spans), 3):
        room -= width(spans[at : at + 3])
        # The blanks after the last part need no room.
        if room < -3:
            return
        yield from spans[at : at + 3]


def _name(text: str) -> Span:
    return Span(" " + cells.left(text, _NAME), "dim")


def _parts(parts: Sequence[GrownPart], figure: Callable[[GrownPart], str]) -> Spans:
    out: list[Span] = []
    for part in parts[:_NAMED_PARTS]:
        sign = sign_of(part.name)
        out += [sign_span(part.name), Span(f" {sign.name} ", "dim"), Span(f"{figure(part)}   ")]
    return out


def _again(grown: Growth) -> Iterator[GrowthSentence]:
    share = grown.again.share
    if share is not None and len(grown.calls) > 1:
        twice = f"; {numbers.tokens(grown.again.twice)} of the last context are duplicates" * bool(grown.again.twice)
        yield GrowthSentence(7, "again", [Span(f"{numbers.share(share)} of all input had been sent before{twice}")])


def _dead(grown: Growth) -> Iterator[GrowthSentence]:
    dead = grown.dead
    if not dead.judged:
        return
    if not dead.dead:
        words = f"none: all {dead.judged:,} results that could be quoted were quoted later"
        yield GrowthSentence(8, "dead", [Span(words)])
        return
    tokens = sum(result.tokens for result in dead.dead)
    usd = f", {numbers.money(grown.dead_usd)} so far" if grown.dead_usd is not None else ""
    count_text = f"{len(dead.dead):,} of {dead.judged:,} results were never quoted: {numbers.tokens(tokens)}"
    yield GrowthSentence(6, "dead", [Span(f"{count_text}, carried {numbers.tokens(dead.carry)}{usd}")])


def _ahead(report: GrowthReport) -> Iterator[GrowthSentence]:
    ahead = report.ahead
    if ahead is None or ahead.outlook.growth is None:
        return
    for name, limit in (("usable", ahead.usable), ("compacts", ahead.compaction)):
        if limit is not None:
            words = f"{numbers.tokens(limit.tokens)} {describe_limit(limit, ahead.outlook.unit)}"
            yield GrowthSentence(3, name, [Span(words)])
    window = ahead.window
    if report.feasible is None:
        return
    if report.feasible.window is not None and window.window > window.usable:
        limit = report.feasible.window
        words = f"{numbers.tokens(limit.tokens)} {describe_limit(limit, report.feasible.unit)}"
        yield GrowthSentence(3, "window", [Span(words)])
    yield GrowthSentence(2, "feasible", [Span(_describe_feasible(report.feasible), _STYLES[report.feasible.answer])])


_STYLES: Final = {
    answers.FITS: "ok",
    answers.LIKELY: "ink",
    answers.UNLIKELY: "warn",
    answers.NEVER: "crit",
    answers.UNKNOWN: "dim",
}


def _describe_feasible(feasible: Feasibility) -> str:
    count = numbers.many(feasible.ahead, feasible.unit)
    if feasible.after is None:
        return f"{count} more: the growth of the context is still unknown"
    outcome = f"{numbers.tokens(feasible.after.low)} to {numbers.tokens(feasible.after.high)}"
    of = f" of {numbers.tokens(feasible.usable.tokens)} usable" if feasible.usable else ""
    return f"{count} more reach {outcome}{of}: {feasible.answer}"
