"""Commands of the search through all sessions."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class Expression(Command):
    """What is searched for is a regular expression, or a plain text again."""

    name, action, keys, group = "search by regular expression", "expression", ("ctrl+r",), "searching"


FIND: tuple[type[Command], ...] = (Expression,)
