"""The help: signs first, then what one is doing, every command with its name; what is typed filters it."""

from __future__ import annotations

import pytest

from ctxtui.services.config.config import load
from ctxtui.tui.commands import EVERYWHERE
from ctxtui.tui.dialogs.help import Help, HelpScreen, rows
from ctxtui.tui.inspector.controllers.staging import Drop
from ctxtui.tui.inspector.screen import RECORDED
from ctxtui.tui.start import make_app
from ctxtui.views.text.span import plain, width
from tests.cases.sessions import every_category
from tests.tui.inspector.test_inspector import opened

EVERY = (*RECORDED, *EVERYWHERE)


def text(words: str = "", room: int = 80, what: Help | None = None) -> str:
    return "\n".join(plain(line) for line in rows(what or Help(EVERY), words, room))


@pytest.mark.parametrize("room", [60, 80, 120, 200])
def test_every_key_has_a_line_and_the_signs_come_first(room: int) -> None:
    page = text(room=room)
    assert page.splitlines()[0].strip().startswith("signs on the screens")
    shared = {name for command in EVERY for name in command.help_partners}
    named = [command for command in EVERY if command.keys and command.__name__ not in shared]
    lines = [(command.help_row[1] or command.name)[:30] for command in named]
    assert all(line in page for line in lines) and len(set(lines)) == len(lines)
    keyless = [command for command in EVERY if not command.keys]
    assert f"{len(keyless)} more by name" in page and keyless[0].name not in page
    assert all(command.name[:30] in text(command.name.split(":")[0], room) for command in keyless[:5])
    assert all(width(line) <= room for line in rows(Help(EVERY), "", room))


def test_what_is_typed_leaves_only_what_it_occurs_in() -> None:
    found = text("drop")
    assert "drop block" in found and "previous call" not in found and "signs on the screens" not in found
    assert "Nothing matches" in text("xyzzy")
    assert "written to the cache again" in text("\u2573"), "a sign finds what it means"


def test_what_one_is_doing_comes_before_other_tasks() -> None:
    def place(what: Help, task: str) -> int:
        return text(what=what).index(f"\n {task}")

    assert place(Help(EVERY), "move between calls") < place(Help(EVERY), "change the context")
    editing = Help(EVERY, first_groups=("editing the context",))
    assert place(editing, "change the context") < place(editing, "move between calls")


def test_commands_of_other_screens_are_found_too() -> None:
    app = make_app(None, load(()))
    others = app._other_commands()
    assert {"Home", "a chat", "misses", "policies"} <= others.keys()
    what = Help(EVERY, others=lambda: others)
    assert "on another screen: Home" in text("archive", what=what) and "on another screen: Home" not in text(what=what)


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("stale", "drop block"),
        ("remove", "drop block"),
        ("delete", "drop block"),
        ("big", "blocks: heaviest"),
        ("old", "drop block"),
        ("save", "write context to a file"),
        ("resume", "talk from here"),
        ("money", "money: total"),
        ("expensive", "money: total"),
    ],
)
def test_words_that_no_command_is_called_by_find_it_first(word: str, named: str) -> None:
    first = text(word).split("\n\n")[0]
    assert "best matches" in first and named in first


async def test_typing_filters_and_one_esc_closes() -> None:
    async with opened(every_category()) as (screen, pilot):
        await pilot.press("question_mark", *"drop bl")
        page = pilot.app.screen
        assert isinstance(page, HelpScreen)

        def shown() -> str:
            return "\n".join(strip.text for strip in page._compositor.render_strips())

        await pilot.pause()
        assert Drop.name in shown() and "previous call" not in shown()
        await pilot.press("escape")
        await pilot.pause()
        assert pilot.app.screen is screen
        await pilot.press("question_mark")
        await pilot.press("question_mark")
        await pilot.pause()
        assert pilot.app.screen is screen
