"""Every key does one thing at a time, and every command has one who does it."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.chat_source import ChatSource
from ctxtui.services.chat.host import Host
from ctxtui.services.config.config import load
from ctxtui.services.session_source import SessionSource
from ctxtui.tui import key_page
from ctxtui.tui.chat.commands import _REPLACEMENTS, CHAT_COMMANDS
from ctxtui.tui.chat.screen import ChatScreen
from ctxtui.tui.commands import EVERYWHERE
from ctxtui.tui.commands.command import Act, CommandContext, Commanded, key_text
from ctxtui.tui.commands.moved import MOVED, describe_moved_key
from ctxtui.tui.dialogs.command_palette import MatchingCommands
from ctxtui.tui.dialogs.help import Help, rows
from ctxtui.tui.home.screen import HOME, home_screen
from ctxtui.tui.inspector.screen import RECORDED, InspectorScreen
from ctxtui.tui.start import screen_commands
from ctxtui.views.text.span import plain
from tests.cases.sessions import every_category
from tests.tui.inspector.test_inspector import opened


def test_no_key_belongs_to_two_commands() -> None:
    for one, other in combinations(RECORDED, 2):
        assert not set(one.keys) & set(other.keys), (one.name, other.name)


def test_every_command_can_be_asked_whether_it_is_available() -> None:
    assert all(command.available(CommandContext()) in (True, False) for command in RECORDED)


def test_a_key_is_written_as_the_sign_that_it_types() -> None:
    """None by its name in Textual: ``exclamation_mark``."""
    keys = {key for command in (*RECORDED, *HOME, *CHAT_COMMANDS, *EVERYWHERE) for key in command.keys}
    names = {key_text(key) for key in keys}
    assert {"!", "{", "^p", "⏎", "space"} <= names
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
        assert command.action if not isinstance(act, Act) else screen.owner(act.owner), command.name
    assert len({command.__name__ for command in screen.commands}) == len(screen.commands), "a key finds them by name"


ONE_MEANING = {
    # What one key does on several screens is the same act on what stands there: its name, and the commands.
    "⏎": (
        "open, choose",
        {
            "go to it",
            "go to the block",
            "keep literal in the summary",
            "open call",
            "open or fold block",
            "open or fold difference",
            "open session",
            "open variant",
            "show where it was",
            "stage",
            "stage policy",
            "take edit back",
            "what would go",
        },
    ),
    "^o": (
        "hold, release",
        {"held request", "hold the next request", "send the held request"},
    ),
    "/": ("find, filter", {"filter sessions", "filter the list", "search"}),
    "$": ("money", {"money: total, misses, by tool", "stats of all sessions"}),
    "S": ("order", {"order by next column", "sort by size or position", "sort by next column"}),
    "^e": ("write to a file", {"export session", "write context to a file"}),
    "esc": ("leave", {"close what is open", "leave"}),
    "space": ("mark", {"mark block", "show or hide curve"}),
    "b": ("breakpoint", {"cache breakpoint", "place its breakpoints"}),
    "w": ("when", {"calls of a period", "when to apply"}),
    "u": ("undo", {"take edit back", "undo edit"}),
    "z": ("changes only, or all", {"edits only or all rows", "whole blocks or changes only"}),
    "!": ("advice", {"advice: what would help", "find the best"}),
    "^s": ("summary by a model", {"better summary", "summary by a model"}),
    "]": ("the next one", {"next call", "next compaction", "next miss"}),
    "y": ("copy", {"copy block", "copy command line", "copy request"}),
    "o": (
        "open it elsewhere",
        {"open block in pager", "request in pager", "show in transcript", "go to the other copy"},
    ),
    "P": ("the call before", {"call before the compaction", "diff of the two requests", "diff with the call before"}),
    "[": ("the one before", {"previous call", "previous compaction", "previous miss"}),
    "n": ("next hit or difference", {"next difference", "next hit"}),
    "N": ("previous hit or difference", {"previous difference", "previous hit"}),
    "f": ("talk from here", {"chat from the call before", "talk from here"}),
    "i": ("enter the prompt", {"answer a permission request", "settings of policy", "talk"}),
    "tab": (
        "the other view",
        {
            "all sentences, or the chart",
            "lost or kept",
            "next tab",
            "next grouping",
            "only MCP tools, or all tools",
            "whole request or difference",
        },
    ),
    "R": ("edit the text", {"edit the summary", "replace text in $EDITOR"}),
    "+": ("add", {"add policy", "keep this fact"}),
    "A": ("all of it", {"mark all that could go", "stage all that is safe", "stage its edits"}),
    "shift+tab": ("the other view", {"previous tab", "previous grouping"}),
}
"""Keys that do the same for several kinds of thing, and what that is."""


MOST = 56


def test_a_key_means_one_thing_everywhere() -> None:
    for key, told in key_page.commands_by_key({**screen_commands(), "every screen": EVERYWHERE}).items():
        names = {name.rpartition(" (")[0] for name in told}
        assert len(names) == 1 or names <= ONE_MEANING.get(key, ("", set()))[1], (key, names)


BEFORE = [
    tuple(line.split("\t"))
    for line in (Path(__file__).parent / "keys_before_1_0.txt").read_text(encoding="utf-8").splitlines()
]
"""Screen, key and name of every command that had a key before 1.0."""


def found(screen: str, words: str) -> list[str]:
    """What the palette of a screen finds."""
    palette = MatchingCommands(screen_commands()[screen], "commands")
    palette.reload = lambda *_, **__: None  # type: ignore[method-assign]
    palette.search(words)
    return [command.name for command in palette.matches]


def test_every_command_that_had_a_key_is_found_in_the_palette_by_its_old_name() -> None:
    kept = ("Home", "the inspector", "a chat")
    assert [name for screen, _, name in BEFORE if screen in kept and not found(screen, name)] == []


def test_every_key_that_does_something_else_now_stands_in_the_table() -> None:
    now_ = {(key_text(key), one.name) for every in screen_commands().values() for one in every for key in one.keys}
    now_ |= {(key_text(key), one.name) for one in EVERYWHERE for key in one.keys}
    moved = {(key, name.partition(" (")[0]) for key, name, _ in MOVED}
    renamed = {
        ("!", "findings"),
        ("$", "bill of the session"),
        ("W", "heaviest blocks, by tokens or carry"),
        ("^l", "draw the screen anew"),
        ("^o", "hold or release the request"),
        ("i", "answer for the tool that waits"),
        ("B", "rows by the one before"),
        ("b", "rows by something else"),
        ("b", "seek the best"),
        ("d", "calls since"),
        ("f", "go on from the call before"),
        ("s", "order by size or place"),
        ("shift+tab", "rows by the one before"),
        ("t", "tools of MCP servers, or all tools"),
        ("tab", "rows by something else"),
        ("v", "show the other one"),
    }
    for screen, key, name in BEFORE:
        stays = (key, name) in now_ or (key, name) in renamed or key == "\u23ce"
        assert stays or (key, name.partition(" (")[0]) in moved, (screen, key, name)


def test_every_key_that_the_table_names_is_one_of_today() -> None:
    used = {key_text(key) for every in screen_commands().values() for one in every for key in one.keys}
    used |= {key_text(key) for one in EVERYWHERE for key in one.keys} | {"^home", "^end", "G", "g g"}
    for key, name, way in MOVED:
        assert set(re.findall(r"`([^`]+)`", way)) <= used, (key, name, way)


def test_a_key_that_moved_says_where_it_is() -> None:
    assert describe_moved_key("J") == "jot a note on block: palette (^p)" and describe_moved_key("d") == ""


def test_the_help_names_about_fifty_keys() -> None:
    page = [plain(line) for line in rows(Help((*RECORDED, *EVERYWHERE)), "", 200)]
    listed = page[page.index("") : next(at for at, line in enumerate(page) if "more by name" in line)]
    keyed = [line for line in listed if line[:9].strip() and line[9:11] == "  " and line[11:12].strip()]
    assert 40 < len(keyed) <= MOST, keyed


async def test_first_and_last_row_are_reached_on_every_pane() -> None:
    async with opened(every_category()) as (screen, pilot):
        pane = screen.panels.transcript
        await pilot.press("g", "g")
        assert pane.cursor == 0 and not screen.line.is_asking
        await pilot.press("G")
        assert pane.cursor == pane.row_count - 1
        await pilot.press("ctrl+home")
        assert pane.cursor == 0


def test_a_replacement_in_a_chat_is_found_by_the_same_words() -> None:
    assert all(set(old.synonyms) <= set(new.synonyms) for old, new in _REPLACEMENTS.items())
