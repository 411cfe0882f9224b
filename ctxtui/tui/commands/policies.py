"""Commands of the list of policies."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class StagePolicy(Command):
    """Stage the edits of this policy as one action, under its name; where they stand already, take them back. It never
    changes what you pinned, nor does again what you took back."""

    name, action, keys, label, group = "stage policy", "stage", ("enter",), "stage or take back", "policies"


class SetPolicy(Command):
    """Set the policy under the cursor otherwise: `n=5`, `exclude=Read,Bash`. What it would do is worked out anew; an
    empty line stands for its defaults."""

    name, action, keys, label, group = "settings of policy", "set", ("s",), "settings", "policies"


POLICIES: tuple[type[Command], ...] = (StagePolicy, SetPolicy)
