"""Growth in sentences: its shape with the evidence, what grew, what was carried, sent again, never quoted, and where it
leads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.analysis.growth import feasible as answers
from ctxtui.analysis.growth import growth as shapes
from ctxtui.analysis.growth.feasible import Feasibility, GrowthReport
from ctxtui.analysis.growth.growth import GrownPart, Growth, GrowthShape
from ctxtui.views.inspector.stacked_chart import sign_of, sign_span
from ctxtui.views.lists.preflight import units, when
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, Spans, width

_NAME: Final = 10
_NAMED_PARTS: Final = 4


def shape_words(found: GrowthShape) -> str:
    """The shape in words, with its evidence."""
    calls = f"calls {found.first:,}–{found.first + found.calls - 1:,}"
    fit = f"a line explains {numbers.share(found.r2, 0)} of the differences over {calls}"
    match found.kind:
        case shapes.FLAT:
            return f"flat: {numbers.signed(found.per_call)} a call over {calls}"
        case shapes.LINEAR:
            return f"linear: {numbers.signed(found.per_call)} a call; {fit}"
        case shapes.SHRINKING:
            return f"shrinking: {numbers.signed(found.per_call)} a call; {fit}"
        case shapes.UNEVEN:
            return f"uneven: {numbers.signed(found.per_call)} a call on average; {fit} only"
    word = "faster than linear (quadratic)" if found.kind == shapes.FASTER else "slowing down"
    ends = f"{numbers.signed(found.begins)} a call at first, {numbers.signed(found.ends)} at last"
    return f"{word}: {ends}; a bend explains {numbers.share(found.r2_bent, 0)}, {fit}"


def sent_words(what: Growth) -> str:
    """All that was sent, and how that grows."""
    told = f"{numbers.tokens(what.carry)} in {len(what.calls):,} call{'' if len(what.calls) == 1 else 's'}"
    if what.shape is None:
        return told
    word = "quadratic" if what.shape.sent == shapes.FASTER else "nearly linear"
    return f"{told}; in all it grows {word}: twice the calls send {what.shape.doubled:.1f} times as much"


def sum_of_growth(what: Growth) -> str:
    """What the figures of the sentences are made of."""
    calls = len(what.calls)
    if not calls:
        return ""
    first, last = what.stretch
    each = f"{what.carry:,} tokens of context in {calls:,} calls, {what.carry // calls:,} each on average"
    return f"{each}; rates and what grew are those of calls {first:,} to {last:,}, ranges those of ctxtui preflight."


class GrowthSentence(NamedTuple):
    """One sentence with its `name`; the lower its `rank`, the sooner it is said where there is room for few."""

    rank: int
    name: str
    spans: Spans


def sentences(what: GrowthReport) -> Iterator[GrowthSentence]:
    """Every sentence, in order."""
    grown = what.growth
    if grown.shape is not None:
        yield GrowthSentence(0, "context", [Span(shape_words(grown.shape), "ink bold")])
    if grown.calls:
        yield GrowthSentence(4, "sent", [Span(sent_words(grown))])
    if grown.since is not None and grown.calls:
        more, whole = grown.since.tokens - grown.calls[-1].tokens, numbers.tokens(grown.since.tokens)
        words = f"{numbers.tokens(more)} came after call {len(grown.calls):,} and were not sent yet: {whole} with them"
        yield GrowthSentence(2, "since", [Span(words, "ink bold")])
    rising = [part for part in grown.parts if part.growth > 0]
    if rising and len(grown.calls) > 1:
        yield GrowthSentence(5, "what grew", _parts(rising, lambda part: numbers.signed(part.growth)))
    carried = sorted(grown.parts, key=lambda part: -part.carry)
    if carried and len(grown.calls) > 1:
        yield GrowthSentence(9, "carry", _parts(carried, lambda part: numbers.tokens(part.carry)))
    yield from _again(grown)
    yield from _dead(grown)
    yield from _ahead(what)
    for lacking in grown.lacks:
        yield GrowthSentence(1, "not told", [Span(lacking, "dim")])


def wrapped(what: GrowthReport, room: int, height: int = 0) -> list[list[Span]]:
    """The sentences in lines of `room` cells, in at most `height` lines (0: as many as there are)."""
    return [line for lines in _fitting(what, room, height) if lines for line in lines]


def left_out(what: GrowthReport, room: int, height: int) -> int:
    """How many sentences have no room there."""
    return sum(not lines for lines in _fitting(what, room, height))


def _fitting(what: GrowthReport, room: int, height: int) -> list[list[list[Span]]]:
    """The lines of each sentence; none of those that have no room."""
    made = [(one, list(_wrapped(one, room))) for one in sentences(what)]
    taken, kept = 0, set[int]()
    for n in sorted(range(len(made)), key=lambda n: made[n][0].rank):
        if not height or taken + len(made[n][1]) <= height:
            taken += len(made[n][1])
            kept.add(n)
    return [lines if n in kept else [] for n, (_, lines) in enumerate(made)]


def _wrapped(one: GrowthSentence, room: int) -> Iterator[list[Span]]:
    if len(one.spans) != 1:
        yield [_name(one.name), *_whole(one.spans, room - _NAME - 2)]
        return
    ((text, style),) = one.spans
    for n, words in enumerate(safe_text.wrap(text, max(20, room - _NAME - 2))):
        yield [_name(one.name if n == 0 else ""), Span(words, style)]


def _whole(spans: Spans, room: int) -> Iterator[Span]:
    """Of parts, three spans each, those that fit whole."""
    for at in range(0, len(spans), 3):
        room -= width(spans[at : at + 3])
        # The blanks behind the last one need no room.
        if room < -3:
            return
        yield from spans[at : at + 3]


def _name(text: str) -> Span:
    return Span(" " + cells.left(text, _NAME), "dim")


def _parts(every: Sequence[GrownPart], figure: Callable[[GrownPart], str]) -> Spans:
    out: list[Span] = []
    for part in every[:_NAMED_PARTS]:
        sign = sign_of(part.name)
        out += [sign_span(part.name), Span(f" {sign.name} ", "dim"), Span(f"{figure(part)}   ")]
    return out


def _again(grown: Growth) -> Iterator[GrowthSentence]:
    share = grown.again.share
    if share is not None and len(grown.calls) > 1:
        twice = f"; {numbers.tokens(grown.again.twice)} of the last context stand there twice" * bool(grown.again.twice)
        yield GrowthSentence(7, "again", [Span(f"{numbers.share(share)} of all input had been sent before{twice}")])


def _dead(grown: Growth) -> Iterator[GrowthSentence]:
    dead = grown.dead
    if not dead.judged:
        return
    if not dead.dead:
        words = f"none: all {dead.judged:,} results that could be quoted were quoted later"
        yield GrowthSentence(8, "dead", [Span(words)])
        return
    tokens = sum(one.tokens for one in dead.dead)
    usd = f", {numbers.money(grown.dead_usd)} so far" if grown.dead_usd is not None else ""
    told = f"{len(dead.dead):,} of {dead.judged:,} results were never quoted: {numbers.tokens(tokens)}"
    yield GrowthSentence(6, "dead", [Span(f"{told}, carried {numbers.tokens(dead.carry)}{usd}")])


def _ahead(what: GrowthReport) -> Iterator[GrowthSentence]:
    ahead = what.ahead
    if ahead is None or ahead.outlook.growth is None:
        return
    for name, limit in (("usable", ahead.usable), ("compacts", ahead.compaction)):
        if limit is not None:
            words = f"{numbers.tokens(limit.tokens)} {when(limit, ahead.outlook)}"
            yield GrowthSentence(3, name, [Span(words)])
    window = ahead.window
    if what.feasible is None:
        return
    if what.feasible.window is not None and window.window > window.usable:
        limit = what.feasible.window
        words = f"{numbers.tokens(limit.tokens)} {when(limit, ahead.outlook, what.feasible.unit)}"
        yield GrowthSentence(3, "window", [Span(words)])
    yield GrowthSentence(2, "feasible", [Span(feasible_words(what.feasible), _STYLES[what.feasible.answer])])


_STYLES: Final = {
    answers.FITS: "ok",
    answers.LIKELY: "ink",
    answers.UNLIKELY: "warn",
    answers.NEVER: "crit",
    answers.UNKNOWN: "dim",
}


def feasible_words(found: Feasibility) -> str:
    """Whether so many more fit, as a range."""
    count = units(found.unit, found.ahead)
    if found.after is None:
        return f"{count} more: nothing tells yet how the context grows"
    comes = f"{numbers.tokens(found.after.low)} to {numbers.tokens(found.after.high)}"
    limit = found.usable or found.window
    of = f" of {numbers.tokens(limit.tokens)} usable" if found.usable and limit else ""
    return f"{count} more come to {comes}{of}: {found.answer}"
