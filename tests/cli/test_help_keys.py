"""`ctxtui help keys`: what each key does, and which are free."""

from __future__ import annotations

from ctxtui.tui.commands import key_text
from ctxtui.tui.commands.moved import MOVED
from ctxtui.tui.start import screen_commands
from tests.cli.conftest import Run


def test_keys_are_listed_with_what_they_do(ctxtui: Run) -> None:
    out = ctxtui("help", "keys").out
    assert "pin block" in out and any(line.startswith("p ") for line in out.splitlines())


def test_no_free_key_is_used_by_a_screen(ctxtui: Run) -> None:
    free = set(ctxtui("help", "keys", "--free").out.split())
    used = {key_text(key) for commands in screen_commands().values() for command in commands for key in command.keys}
    assert len(free) > 10 and not free & used and "q" not in free and "G" not in free
    assert not free & {key for key, _, _ in MOVED}, "such a key says where its command went"
