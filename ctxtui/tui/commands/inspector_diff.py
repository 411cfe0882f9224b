"""Commands of the inspector that compare calls."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command, Situation
from ctxtui.tui.commands.inspector_calls import CALLS


class DiffMarked(Command):
    """Mark this call; then, on another call, show what differs between the two. Again on the marked call: unmark it."""

    name, action, keys, label, short = "mark call, then diff with it", "mark_call", ("D",), "diff", "diff"
    group = "calls"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """With more than one call."""
        return CALLS in at.facts


class DiffBefore(DiffMarked):
    """What this call's context has that the call before had not, and what it lost."""

    name, action, keys, label = "diff with the call before", "diff_before", ("P",), ""


COMPARING: tuple[type[Command], ...] = (DiffMarked, DiffBefore)
