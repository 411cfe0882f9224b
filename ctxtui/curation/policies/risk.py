"""Risk of an edit: how much the model can no longer read after it."""

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
    TRANSPLANT,
    TRUNCATE,
)
from ctxtui.curation.context import Context


class Risk(IntEnum):
    """Share of the content that is lost, in steps from nothing to all."""

    NOTHING = 0
    OUTSIDE = 1
    PARTS = 2
    SUMMARY = 3
    GONE = 4

    @property
    def description(self) -> str:
        return _WORDS[self]

    @property
    def short(self) -> str:
        """The same in at most twelve cells, for a narrow line."""
        return _SHORT[self]


_WORDS: Final = {
    Risk.NOTHING: "nothing is lost",
    Risk.OUTSIDE: "kept outside, by reference",
    Risk.PARTS: "parts are lost",
    Risk.SUMMARY: "only a summary stays",
    Risk.GONE: "deleted",
}
_SHORT: Final = {
    Risk.NOTHING: "nothing lost",
    Risk.OUTSIDE: "kept outside",
    Risk.PARTS: "parts lost",
    Risk.SUMMARY: "summary kept",
    Risk.GONE: "deleted",
}
_BY_KIND: Final = {
    **dict.fromkeys((PIN, NOTE, TRANSPLANT, MOVE, HOIST, BREAKPOINT, ANNOTATE), Risk.NOTHING),
    EXTERNALIZE: Risk.OUTSIDE,
    **dict.fromkeys((TRUNCATE, STRIP, MINIMISE), Risk.PARTS),
    SUMMARIZE: Risk.SUMMARY,
}
"""The risk of each kind of edit; `risk_of_one` examines the others, by default `GONE`."""


def risk_of(context: Context, edits: Iterable[Edit]) -> Risk:
    """The greatest risk among `edits`; an unknown kind counts as a removal."""
    return max((risk_of_one(context, edit) for edit in edits), default=Risk.NOTHING)


def loses_text(context: Context, edits: Iterable[Edit]) -> bool:
    """Whether text is lost that the model may need again.

    Tool definitions that are dropped whole do not count, nor recallable content.
    """
    return any(risk_of_one(context, edit) > Risk.OUTSIDE and not _drops_tools(context, edit) for edit in edits)


def _drops_tools(context: Context, edit: Edit) -> bool:
    positions = [position for target in edit.targets if (position := context.find(target)) is not None]
    return edit.kind == DROP and bool(positions) and all(context.items[at].place.section == "tools" for at in positions)


def drops_only_tools(context: Context, edits: Sequence[Edit]) -> bool:
    """Whether tool definitions are dropped, and no other text that the model may need again."""
    return any(_drops_tools(context, edit) for edit in edits) and not loses_text(context, edits)


def risk_of_one(context: Context, edit: Edit) -> Risk:
    """The risk of one edit."""
    if edit.kind == COMPACT_JSON:
        return Risk.PARTS if edit.params.get("drop") or edit.params.get("flatten") else Risk.NOTHING
    risk = _BY_KIND.get(edit.kind, Risk.GONE)
    if edit.kind != DEDUPLICATE and risk <= Risk.PARTS:
        return risk
    positions = (position for target in edit.targets if (position := context.find(target)) is not None)
    if edit.kind == DEDUPLICATE:
        # The text of an outdated result may occur nowhere else.
        return Risk.NOTHING if all(context.is_duplicate(position) for position in positions) else Risk.PARTS
    if all(context.items[position].place.section == "tools" for position in positions):
        # Removing a definition removes nothing of the conversation.
        return Risk.PARTS
    return risk
