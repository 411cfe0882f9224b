"""Commands of the inspector that search."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command, Situation

SEARCHING = "searching"
"""The fact that a search is on."""


class Search(Command):
    """Find a text in the blocks: each key shows the next hit. `enter` keeps it, `esc` folds all as it was."""

    name, action, keys, label, short, group, first = "search", "search", ("slash",), "search", "find", "searching", True


class NextHit(Command):
    """To the next hit of the search, from the last one to the first."""

    name, action, keys, shown, label, short = "next hit", "next_hit(1)", ("n",), "n N", "hits", "hit"
    group = "searching"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """While a search is on."""
        return SEARCHING in at.facts


class PreviousHit(NextHit):
    """To the hit before, from the first one to the last."""

    name, action, keys, shown, label, short = "previous hit", "next_hit(-1)", ("N",), "", "", ""


class Expression(Command):
    """What is searched for is a regular expression, or a plain text again."""

    name, action, keys, group = "search by regular expression", "expression", ("ctrl+r",), "searching"


SEARCH: tuple[type[Command], ...] = (Search, NextHit, PreviousHit, Expression)
