"""Commands of the edit log."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class TakeBack(Command):
    """Take this one entry back; on an entry that took another back: let that stand again."""

    name, action, keys, label, group = "take edit back", "take_back", ("enter", "u", "d"), "take back", "edit log"


EDIT_LOG: tuple[type[Command], ...] = (TakeBack,)
