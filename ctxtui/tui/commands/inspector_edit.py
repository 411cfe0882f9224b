"""What the commands that edit the context have in common."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command, Situation

EDITS, STAGED, MARKED, UNDOABLE, TOOLS = "edits", "staged", "marked", "undoable", "tools"
"""Facts: the context can be edited; edits are staged; blocks are marked; there is an action to take back; a definition
of a tool is marked or under the cursor."""

BLOCK = "block"
PUT_IN = "put in"
"""The kind of row of a block that an edit puts in: a summary, a note."""


class OnBlocks(Command):
    """A command for the marked blocks, or the one under the cursor."""

    group = "editing the context"
    panes = ("transcript",)

    @classmethod
    def available(cls, at: Situation) -> bool:
        """With a block under the cursor, or marked ones, in a context that can be edited."""
        return EDITS in at.facts and (at.row == BLOCK or MARKED in at.facts)


class OnBlocksOrPutIn(OnBlocks):
    """The same, also on what an edit puts in."""

    @classmethod
    def available(cls, at: Situation) -> bool:
        """As for blocks, and on what an edit puts in."""
        return super().available(at) or (EDITS in at.facts and at.row == PUT_IN)
