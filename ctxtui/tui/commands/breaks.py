"""Commands of the list of what staged edits break."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class Keep(Command):
    """Have the summary say this literal, word for word."""

    name, action, keys, label, group = "keep literal in the summary", "keep", ("enter", "k"), "keep", "what it breaks"


BREAKS: tuple[type[Command], ...] = (Keep,)
