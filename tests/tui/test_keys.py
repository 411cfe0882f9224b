"""Every key does one thing at a time, and every command has one who does it."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.chat_source import ChatSource
from ctxtui.services.chat.host import Host
from ctxtui.services.config.config import load
from ctxtui.services.session_source import SessionSource
from ctxtui.tui.chat.commands import CHAT_KEYS
from ctxtui.tui.chat.screen import ChatScreen
from ctxtui.tui.commands import EVERYWHERE
from ctxtui.tui.commands.command import Act, Commanded, Situation, key_text
from ctxtui.tui.home.commands import HOME
from ctxtui.tui.home.screen import home_screen
from ctxtui.tui.inspector.screen import RECORDED, InspectorScreen

SHARED = {
    # While something is looked for, these walk through its hits.
    ("next event", "next hit"),
    ("previous event", "previous hit"),
    ("redo edit", "search by regular expression"),
}


def test_no_key_belongs_to_two_commands() -> None:
    for one, other in combinations(RECORDED, 2):
        if (one.name, other.name) not in SHARED:
            assert not set(one.keys) & set(other.keys), (one.name, other.name)


def test_every_command_can_be_asked_whether_it_is_available() -> None:
    assert all(command.available(Situation()) in (True, False) for command in RECORDED)


def test_a_key_is_written_as_the_sign_that_it_types() -> None:
    """None by its name in Textual: ``exclamation_mark``."""
    keys = {key for command in (*RECORDED, *HOME, *CHAT_KEYS, *EVERYWHERE) for key in command.keys}
    names = {key_text(key) for key in keys}
    assert {"!", "&", "^p", "⏎", "space"} <= names
    spelled = {name for name in names if len(name.removeprefix("^")) > 1}
    assert spelled <= {"space", "esc", "bksp", "tab", "home", "end", "pgup", "pgdn", "del", "f1"}


def screen_of(name: str, folder: Path) -> Commanded:
    config = load(cwd=folder)
    if name == "home":
        return home_screen(config.settings, folder)
    if name == "inspector":
        return InspectorScreen(SessionSource("x.jsonl", config.settings))
    return ChatScreen(ChatSource(Host(ModelChoice("offline"), config, folder)))


@pytest.mark.parametrize("name", ["home", "inspector", "chat"])
async def test_every_command_has_one_who_does_it(name: str, tmp_path: Path) -> None:
    screen = screen_of(name, tmp_path)
    for command in screen.commands:
        act = command.run
        assert command.action if not isinstance(act, Act) else screen.owner(act.of), command.name
    assert len({command.__name__ for command in screen.commands}) == len(screen.commands), "a key finds them by name"
