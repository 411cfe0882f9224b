"""Bases of commands that act on blocks: on the one under the cursor, or on the marked ones."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command
from ctxtui.tui.commands.facts import BLOCK, EDITS, MARKED, PUT_IN


class OnBlocks(Command):
    """A command for the marked blocks, or the one under the cursor."""

    group = "editing the context"
    panes = ("transcript",)
    needs = frozenset({EDITS})
    one_of = frozenset({BLOCK, MARKED})


class OnBlocksOrPutIn(OnBlocks):
    """The same, also on what an edit puts in."""

    one_of = frozenset({BLOCK, MARKED, PUT_IN})
