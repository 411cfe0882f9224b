"""One line on why the context is so big: largest parts, their contents, best safe cut.

A safe cut is a set of policies that makes the next request smaller without removing text that the model may need.
"""

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

PART_NAMES: Final = {
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
MIN_PART_SHARE: Final = 0.03
MIN_GROUP_SHARE: Final = 0.12
COUNT_WORDS: Final = {1: "", 2: " twice", 3: " three times", 4: " four times", 5: " five times"}
SENTENCE_FORMS: Final = ((6, 2), (5, 2), (4, 2), (4, 1), (3, 1), (3, 0), (2, 0), (1, 0))
"""(parts, groups of each) of each form, fullest first; the first that fits is drawn."""
RESERVED_CELLS: Final = ((160, 80), (0, 16))
"""(minimum width, cells reserved for the cut), so that the line does not move when the cut is found."""


class WhySoBig(Struct, frozen=True, kw_only=True):
    """Content of the line.

    - `groups`: heaviest first; None: not known yet.
    - `cut`: the safe cut that saves most; `key` opens the list of cuts.
    """

    composition: Composition
    groups: Sequence[HeavyGroup] | None = None
    cut: Advice | None = None
    key: str = ""
    staged: int = 0
    """Tokens already freed by staged edits, which the cut's figure includes."""
    is_searching: bool = False
    """Whether edits changed after the cut was found, and a new search is running."""

    @property
    def frees(self) -> int:
        return max(0, self.cut.tag.freed - self.staged) if self.cut is not None else 0


def line(facts: WhySoBig, room: int) -> list[Span]:
    return with_cut(facts, sentence(facts, room), room)


def sentence(facts: WhySoBig, room: int) -> Spans:
    """The sentence without the cut, independent of staged edits."""
    if not facts.composition.parts:
        return ()
    spans: list[Span] = []
    reserved = next(cells for least, cells in RESERVED_CELLS if room >= least)
    for parts, groups in SENTENCE_FORMS:
        spans = [Span(" "), *_sentence(facts, parts, groups)]
        if width(spans) + reserved < room:
            break
    return spans


def with_cut(facts: WhySoBig, spans: Spans, room: int) -> list[Span]:
    if not spans:
        return []
    used_width = width(spans)
    for cut in (_cut(facts, full=True), _cut(facts, full=False)):
        if used_width + width(cut) < room:
            return [*spans, *cut]
    return cropped(spans, room)


def _sentence(facts: WhySoBig, parts: int, groups: int) -> list[Span]:
    content = facts.composition
    out = [Span(numbers.tokens(content.total), "ink bold"), Span(": ", "dim")]
    rows = _parts(content)
    named = [row for row in rows[:parts] if row[1] >= MIN_PART_SHARE * content.total] or rows[:1]
    for n, (category, tokens) in enumerate(named):
        if n:
            out.append(Span(", ", "dim"))
        is_unrecorded = category in (NOT_RECORDED, ATTACHED, _RESIDUAL)
        style = "faint" if is_unrecorded else category_at(category).style
        figure = numbers.guessed(tokens) if category in (NOT_RECORDED, ATTACHED) else numbers.tokens(tokens)
        out += [Span(f"{figure} ", "dim" if is_unrecorded else "ink"), Span(_name(category), style)]
        inside = _groups(facts, category, tokens)[:groups]
        if inside:
            out += [Span(" (", "dim"), Span(", ".join(map(_format_group, inside))), Span(")", "dim")]
    return out


def _parts(content: Composition) -> list[tuple[int, int]]:
    sizes = [(part.category, part.tokens) for part in content.parts if part.tokens > 0]
    if content.residual > 0:
        sizes.append((_RESIDUAL, content.residual))
    return sorted(sizes, key=lambda row: -row[1])


def _name(category: int) -> str:
    if category == _RESIDUAL:
        return "residual"
    return category_at(category).name if category >= len(CATEGORIES) else PART_NAMES[CATEGORIES[category]]


def _groups(facts: WhySoBig, category: int, tokens: int) -> list[HeavyGroup]:
    if category not in (INDEX["tool_call"], INDEX["tool_result"]):
        return []
    large = takewhile(lambda group: group.tokens >= MIN_GROUP_SHARE * tokens, facts.groups or ())
    return [group for group in large if group.category == category]


def _format_group(group: HeavyGroup) -> str:
    name = safe_text.one_line(group.name.rpartition("/")[2] or group.name, 32)
    if group.what == "file":
        times = COUNT_WORDS.get(group.count, f" {group.count:,} times")
        return f"{name}{times}{' =' if times else ''} {numbers.tokens(group.tokens)}"
    return f"{name} {group.what} {numbers.tokens(group.tokens)}"


def _cut(facts: WhySoBig, *, full: bool) -> list[Span]:
    if facts.is_searching:
        return [Span(" · ", "faint"), Span(facts.key, "accent bold"), Span(" searching", "dim")]
    if facts.cut is None or not facts.frees:
        return []
    names = safe_text.one_line(" + ".join(name.replace("_", " ") for name in facts.cut.names), 48) if full else "safe"
    frees = Span(numbers.signed(-facts.frees), "add bold")
    return [Span(" · ", "faint"), Span(facts.key, "accent bold"), Span(f" {names} ", "ink" if full else "dim"), frees]
