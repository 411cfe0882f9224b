"""Commands of the list of misses."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class OpenCall(Command):
    """Show the call of this miss in the transcript."""

    name, action, keys, label, group = "open call", "open", ("enter",), "open call", "misses"


class NextMiss(Command):
    """The next miss, less dear."""

    name, action, keys, shown = "next miss", "step(1)", ("right_square_bracket", "full_stop", "n"), "[ ]"
    label, group = "miss", "misses"


class PreviousMiss(Command):
    """The miss before, dearer."""

    name, action, keys, group = "previous miss", "step(-1)", ("left_square_bracket", "comma", "N"), "misses"


MISSES: tuple[type[Command], ...] = (OpenCall, NextMiss, PreviousMiss)
