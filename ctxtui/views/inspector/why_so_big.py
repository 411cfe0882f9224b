"""Why the context is so big, in one line: its parts by size, what the largest are made of, and the best safe cut."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from msgspec import Struct

from ctxtui.analysis.content.heavy_groups import HeavyGroup
from ctxtui.core.category import CATEGORIES, INDEX
from ctxtui.curation.price.advice import Advice
from ctxtui.views.inspector.composition import Composition
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.signs import ATTACHED, NOT_RECORDED, category_at
from ctxtui.views.text.span import Span, Spans, cropped, width

_NAMES: Final = {
    "system": "system",
    "tools": "tool definitions",
    "memory": "memory",
    "user": "user",
    "assistant": "answers",
    "thinking": "thinking",
    "tool_call": "calls",
    "tool_result": "results",
    "image": "images",
    "document": "documents",
    "summary": "summary",
}
_RESIDUAL: Final = -1
_LEAST: Final = 0.03
"""The share of the context from which on a part is named."""
_WORTH: Final = 0.12
"""The share of its part from which on a group is named."""
_TIMES: Final = {1: "", 2: " twice", 3: " three times", 4: " four times", 5: " five times"}
_FORMS: Final = ((6, 2), (5, 2), (4, 2), (4, 1), (3, 1), (3, 0), (2, 0), (1, 0))
"""(parts, groups for each), the fullest first: the first one that fits is drawn."""
_RESERVED: Final = ((160, 80), (0, 16))
"""(from this width on, cells that are left for the cut), so that nothing moves when it is found."""


class WhySoBig(Struct, frozen=True, kw_only=True):
    """What is known of it: the composition, its `groups` (the heaviest first; None: not known yet) and the safe
    `cut` that saves most (None: none is known), which the list of `key` has."""

    what: Composition
    groups: Sequence[HeavyGroup] | None = None
    cut: Advice | None = None
    key: str = ""
    staged: int = 0
    """Tokens that staged edits free already: the cut, which counts from what is applied, has them in it."""
    anew: bool = False
    """Whether edits have changed since a cut was found, and it is being looked for again."""

    @property
    def frees(self) -> int:
        """Tokens that the cut would free besides; 0 where there is none."""
        return max(0, self.cut.tag.freed - self.staged) if self.cut is not None else 0


def line(one: WhySoBig, room: int) -> list[Span]:
    """The sentence in `room` cells: the fullest that fits, with room for the cut."""
    return with_cut(one, sentence(one, room), room)


def sentence(one: WhySoBig, room: int) -> Spans:
    """The same without the cut; it says nothing of what is staged."""
    if not one.what.parts:
        return ()
    spans: list[Span] = []
    reserved = next(cells for least, cells in _RESERVED if room >= least)
    for parts, groups in _FORMS:
        spans = [Span(" "), *_sentence(one, parts, groups)]
        if width(spans) + reserved < room:
            break
    return spans


def with_cut(one: WhySoBig, said: Spans, room: int) -> list[Span]:
    """The `sentence` that is `said`, in `room` cells with the cut behind it."""
    if not said:
        return []
    taken = width(said)
    for cut in (_cut(one, full=True), _cut(one, full=False)):
        if taken + width(cut) < room:
            return [*said, *cut]
    return cropped(said, room)


def _sentence(one: WhySoBig, parts: int, groups: int) -> list[Span]:
    what = one.what
    out = [Span(numbers.tokens(what.total), "ink bold"), Span(": ", "dim")]
    rows = _parts(what)
    named = [row for row in rows[:parts] if row[1] >= _LEAST * what.total] or rows[:1]
    for n, (category, tokens) in enumerate(named):
        if n:
            out.append(Span(", ", "dim"))
        lacks = category in (NOT_RECORDED, ATTACHED, _RESIDUAL)
        style = "faint" if lacks else category_at(category).style
        figure = numbers.guessed(tokens) if category in (NOT_RECORDED, ATTACHED) else numbers.tokens(tokens)
        out += [Span(f"{figure} ", "dim" if lacks else "ink"), Span(_name(category), style)]
        inside = _groups(one, category, tokens)[:groups]
        if inside:
            out += [Span(" (", "dim"), Span(", ".join(map(_group, inside))), Span(")", "dim")]
    return out


def _parts(what: Composition) -> list[tuple[int, int]]:
    """(category, tokens) of everything that the context holds, the largest first."""
    found = [(part.category, part.tokens) for part in what.parts if part.tokens > 0]
    if what.residual > 0:
        found.append((_RESIDUAL, what.residual))
    return sorted(found, key=lambda row: -row[1])


def _name(category: int) -> str:
    if category == _RESIDUAL:
        return "residual"
    return category_at(category).name if category >= len(CATEGORIES) else _NAMES[CATEGORIES[category]]


def _groups(one: WhySoBig, category: int, tokens: int) -> list[HeavyGroup]:
    if category not in (INDEX["tool_call"], INDEX["tool_result"]):
        return []
    large = takewhile(lambda group: group.tokens >= _WORTH * tokens, one.groups or ())
    return [group for group in large if group.category == category]


def _group(group: HeavyGroup) -> str:
    """``README.md three times = 9.8k``, ``npm output 21.0k``, ``Write bodies 17.2k``."""
    name = safe_text.one_line(group.name.rpartition("/")[2] or group.name, 32)
    if group.what == "file":
        often = _TIMES.get(group.count, f" {group.count:,} times")
        return f"{name}{often}{' =' if often else ''} {numbers.tokens(group.tokens)}"
    return f"{name} {group.what} {numbers.tokens(group.tokens)}"


def _cut(one: WhySoBig, *, full: bool) -> list[Span]:
    if one.anew:
        return [Span(" · ", "faint"), Span(one.key, "accent bold"), Span(" looking again", "dim")]
    if one.cut is None or not one.frees:
        return []
    names = safe_text.one_line(" + ".join(name.replace("_", " ") for name in one.cut.names), 48) if full else "safe"
    frees = Span(numbers.signed(-one.frees), "add bold")
    return [Span(" · ", "faint"), Span(one.key, "accent bold"), Span(f" {names} ", "ink" if full else "dim"), frees]
