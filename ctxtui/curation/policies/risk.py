"""What a model can no longer read under an edit: from nothing at all to what is gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import (
    ANNOTATE,
    BREAKPOINT,
    COMPACT_JSON,
    DEDUPLICATE,
    DROP,
    EXTERNALIZE,
    HOIST,
    MINIMISE,
    MOVE,
    NOTE,
    PIN,
    STRIP,
    SUMMARIZE,
    TRUNCATE,
)
from ctxtui.curation.context import Context


class Risk(IntEnum):
    """How much goes, the least first."""

    NOTHING = 0
    OUTSIDE = 1
    PARTS = 2
    SUMMARY = 3
    GONE = 4

    @property
    def words(self) -> str:
        """As people read it."""
        return _WORDS[self]

    @property
    def short(self) -> str:
        """The same in at most twelve cells, for a narrow line."""
        return _SHORT[self]


_WORDS: Final = {
    Risk.NOTHING: "nothing is lost",
    Risk.OUTSIDE: "kept outside, by reference",
    Risk.PARTS: "parts go",
    Risk.SUMMARY: "a summary stays",
    Risk.GONE: "deleted",
}
_SHORT: Final = {
    Risk.NOTHING: "nothing lost",
    Risk.OUTSIDE: "kept outside",
    Risk.PARTS: "parts go",
    Risk.SUMMARY: "summary kept",
    Risk.GONE: "deleted",
}
_BY_KIND: Final = {
    **dict.fromkeys((PIN, NOTE, MOVE, HOIST, BREAKPOINT, ANNOTATE), Risk.NOTHING),
    EXTERNALIZE: Risk.OUTSIDE,
    **dict.fromkeys((TRUNCATE, STRIP, MINIMISE), Risk.PARTS),
    SUMMARIZE: Risk.SUMMARY,
}


def risk_of(context: Context, edits: Iterable[Edit]) -> Risk:
    """The greatest risk among `edits`; one of an unknown kind is the greatest."""
    return max((risk_of_one(context, edit) for edit in edits), default=Risk.NOTHING)


def loses_text(context: Context, edits: Iterable[Edit]) -> bool:
    """Whether words go that the model may need again. Definitions of tools that are dropped whole are none, nor is what
    can be recalled."""
    return any(risk_of_one(context, edit) > Risk.OUTSIDE and not _drops_tools(context, edit) for edit in edits)


def _drops_tools(context: Context, edit: Edit) -> bool:
    found = [position for target in edit.targets if (position := context.find(target)) is not None]
    return edit.kind == DROP and bool(found) and all(context.items[at].place.section == "tools" for at in found)


def only_tools_go(context: Context, edits: Sequence[Edit]) -> bool:
    """Whether definitions of tools are dropped, and no other words go that the model may need again."""
    return any(_drops_tools(context, edit) for edit in edits) and not loses_text(context, edits)


def risk_of_one(context: Context, edit: Edit) -> Risk:
    """The risk of one edit."""
    if edit.kind == COMPACT_JSON:
        return Risk.PARTS if edit.params.get("drop") else Risk.NOTHING
    risk = _BY_KIND.get(edit.kind, Risk.GONE)
    if edit.kind != DEDUPLICATE and risk <= Risk.PARTS:
        return risk
    found = (position for target in edit.targets if (position := context.find(target)) is not None)
    if edit.kind == DEDUPLICATE:
        # The words of an outdated result stand nowhere else.
        return Risk.NOTHING if all(context.stands_twice(position) for position in found) else Risk.PARTS
    if all(context.items[position].place.section == "tools" for position in found):
        # A definition that goes takes nothing that was said along.
        return Risk.PARTS
    return risk
