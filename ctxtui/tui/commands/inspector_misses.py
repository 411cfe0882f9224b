"""The Inspector's command for what the cache missed."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command, Situation
from ctxtui.tui.commands.inspector_calls import CALLS


class Misses(Command):
    """Why the cache missed: every miss, dearest first, with the block that parted the requests, word by word."""

    name, action, keys, label, short, group = "cache misses", "misses", ("c",), "misses", "misses", "calls"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """With more than one call."""
        return CALLS in at.facts


MISSED: tuple[type[Command], ...] = (Misses,)
