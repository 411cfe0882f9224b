"""Every key of the Inspector does one thing at a time."""

from __future__ import annotations

from itertools import combinations

from ctxtui.tui.commands.command import Situation
from ctxtui.tui.inspector.commands import INSPECTOR

SHARED = {
    # While something is looked for, these walk through its hits.
    ("next event", "next hit"),
    ("previous event", "previous hit"),
    ("redo edit", "search by regular expression"),
}


def test_no_key_belongs_to_two_commands() -> None:
    for one, other in combinations(INSPECTOR, 2):
        if (one.name, other.name) not in SHARED:
            assert not set(one.keys) & set(other.keys), (one.name, other.name)


def test_every_command_can_be_asked_whether_it_is_available() -> None:
    assert all(command.available(Situation()) in (True, False) for command in INSPECTOR)
