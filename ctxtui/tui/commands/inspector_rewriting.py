"""Commands of the inspector that write blocks anew, take parts out of them, or move them."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command, Situation
from ctxtui.tui.commands.inspector_edit import TOOLS, OnBlocks, OnBlocksOrPutIn


class Replace(OnBlocksOrPutIn):
    """Write another text in its place, in $EDITOR; on a summary or a note: edit it."""

    name, action, keys = "replace text in $EDITOR", "replace", ("R",)


class EditInPlace(OnBlocksOrPutIn):
    """Write another text in its place, here in the terminal; on a summary or a note: edit it."""

    name, action, keys = "edit text in place", "edit_in_place", ("I",)


class Hoist(OnBlocks):
    """Take the part that stays the same from message to message out of it and put it in front, once. What is found is
    offered; cut it down to what you mean. Several marked blocks give up what they share."""

    name, action = "hoist the static part", "hoist"


class Deduplicate(OnBlocks):
    """A reference in place of a result that another one repeats, or that a later read makes outdated."""

    name, action = "deduplicate result", "deduplicate"


class CompactJson(OnBlocks):
    """Make JSON in it smaller by rule: `drop=a,b rename=old:new flatten=m`. An empty line: only without blanks."""

    name, action = "compact JSON by rule", "compact"


class Minimise(OnBlocks):
    """Cut the tool's description at 100 characters and leave those of its properties out."""

    name, action = "minimise tool definition", "minimise"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """On definitions of tools."""
        return super().available(at) and TOOLS in at.facts


class MoveToFront(OnBlocks):
    """Move what the user said to the front, where it stays the same from call to call. Again: take it back."""

    name, action = "move block to the front", "move('start')"


class MoveToEnd(OnBlocks):
    """Move what the user said to the end, behind all that is cached: memory that changes. Again: take it back."""

    name, action = "move block to the end", "move('end')"


class MoveToSystem(OnBlocks):
    """Move what the user said to the end of the system prompt: memory that stays. Again: take it back."""

    name, action = "move block to the system prompt", "move('system')"


REWRITING: tuple[type[Command], ...] = (
    Replace, EditInPlace, Hoist, Deduplicate, CompactJson, Minimise, MoveToFront, MoveToEnd, MoveToSystem,
)  # fmt: skip
"""The commands that write anew and move, in the order of their use."""
