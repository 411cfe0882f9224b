"""Commands of the list of policies."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class StagePolicy(Command):
    """Stage the edits of this policy as one action, under its name; where they stand already, take them back. It never
    changes what you pinned, nor does again what you took back."""

    name, action, keys, label, group = "stage policy", "stage", ("enter",), "stage or take back", "policies"


POLICIES: tuple[type[Command], ...] = (StagePolicy,)
