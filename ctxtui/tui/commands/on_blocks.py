"""Bases of commands that act on blocks: on the one under the cursor, or on the marked ones."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command, Situation
from ctxtui.tui.commands.facts import BLOCK, EDITS, MARKED, PUT_IN


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
