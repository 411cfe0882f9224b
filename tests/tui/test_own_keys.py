"""The user's own keys, commands and themes, on the real screens."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from ctxtui.core.errors import BadConfig
from ctxtui.services.config.config import load
from ctxtui.services.session_source import SessionSource
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.chat.commands import CHAT_COMMANDS, AnswerTool, BranchHere, EnterTalk
from ctxtui.tui.commands import EVERYWHERE, Command, command_id
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.list_screen import PageScreen
from ctxtui.tui.start import make_app, screen_commands
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.keyline import Key, keyline
from ctxtui.views.text.signs import DARK
from ctxtui.views.text.span import plain
from tests.tui.waiting import until

SAMPLE = Path(__file__).resolve().parent.parent.parent / "sessions" / "2-lluma-musume.jsonl"
CHANGED = ("keys", "shown", "part_commands", "help_partners", "help_row")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """The keys of the command classes are the process's: they are as before after each test."""
    commands = {each for members in screen_commands().values() for each in (*members, *CHAT_COMMANDS, *EVERYWHERE)}
    before = {each: {name: vars(each).get(name) for name in CHANGED} for each in commands}
    yield
    for each, members in before.items():
        for name, value in members.items():
            if value is not None:
                setattr(each, name, value)
            elif name in vars(each):
                delattr(each, name)


def app_of(tmp_path: Path, toml: str) -> CtxtuiApp:
    file = tmp_path / "config.toml"
    file.write_text(toml, encoding="utf-8")
    return make_app(str(SAMPLE), load(env={"CTXTUI_DATA_DIR": str(tmp_path)}, cwd=tmp_path, user=file))


async def opened(app: CtxtuiApp, pilot: Pilot[None]) -> InspectorScreen:
    screen = app.screen
    assert isinstance(screen, InspectorScreen)
    await until(pilot, lambda: (scene := screen.panels.scene) is not None and scene.counted)
    return screen


def command(name: str) -> type[Command]:
    return next(each for each in screen_commands()["the inspector"] if command_id(each) == name)


async def test_a_command_has_the_user_s_key_and_no_longer_its_own(tmp_path: Path) -> None:
    app = app_of(tmp_path, '[keys]\n"drop block" = ["D", "^w"]\n')
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot)
        await pilot.press("up", "up", "up", "up", "up", "d")
        await pilot.pause()
        assert not screen.edits.facts() & {"staged"}
        await pilot.press("D")
        await until(pilot, lambda: "staged" in screen.edits.facts())
    assert command("drop block").key_shown() == "D"


async def test_two_commands_exchange_their_keys(tmp_path: Path) -> None:
    app = app_of(tmp_path, '[keys]\n"pin block" = "d"\n"drop block" = "p"\n')
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot)
        await pilot.press("up", "up", "up", "up", "up", "p")
        await until(pilot, lambda: "staged" in screen.edits.facts())
        assert "dropped" in "".join(span.text for span in screen.prompt.hint)
    assert (command("pin block").keys, command("drop block").keys) == (("d",), ("p",))


async def test_a_taken_key_leaves_the_command_that_had_it(tmp_path: Path) -> None:
    app = app_of(tmp_path, '[keys]\n"advice" = "u"\n')
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, PageScreen))
    undo = command("undo edit")
    assert undo.keys == () and "undo" not in plain(keyline(80, [Key(*undo.key_line())]))


def test_a_chat_shows_the_keys_of_the_commands_that_it_shares(tmp_path: Path) -> None:
    app_of(tmp_path, '[keys]\n"copy block" = "i"\n"talk from here" = "f9"\n')
    assert EnterTalk.keys == AnswerTool.keys == () and BranchHere.keys == ("f9",)


async def test_commands_that_shared_a_key_keep_it(tmp_path: Path) -> None:
    """Textual's keymap forgets every binding of a key that one of its commands leaves."""
    shared = [each for each in screen_commands()["a chat"] if each.key_needs or each.key_unless]
    pairs = [(a, b) for a in shared for b in shared if a is not b and set(a.keys) & set(b.keys)]
    assert pairs, "no two commands share a key by their situation"
    mover, stayer = pairs[0]
    keys = stayer.keys
    app_of(tmp_path, f'[keys]\n"{command_id(mover)}" = "f9"\n')
    assert mover.keys == ("f9",) and stayer.keys == keys


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ('[keys]\n"drop blok" = "D"\n', "did you mean 'drop block'"),
        ('[keys]\n"drop block" = "j"\n', "the key 'j' moves in lists"),
        ('[commands.words]\nrun = "wc"\nkey = "k"\n', "the key 'k' moves in lists"),
        ('[keys]\n"drop block" = "del"\n', "there is no key 'del'"),
        ('[commands.words]\nrun = "wc"\nkey = "d"\n', "is used by 'drop block'"),
        (
            '[commands.a]\nrun = "wc"\nkey = "^w"\n[commands.b]\nrun = "cat"\nkey = "^w"\n',
            "the key '^w' is used by 'a'",
        ),
        ('[commands.words]\nrun = "wc"\nkey = ","\n', "an older command has moved"),
        ('theme = "forest"\n[themes.forest]\nprimary = "greenish"\n', "no colour 'greenish'"),
        ('theme = "forest"\n[themes.forest]\nprimary = "red"\nwarning = 3\n', "warn: no colour 3"),
        ('theme = "forest"\n[themes.forest]\nprimary = "red"\nvariables = 3\n', "`variables` must be a table"),
        ('theme = "forest"\n[themes.forest]\nprimary = "red"\ndark = "no"\n', "`dark` true or false"),
        ('theme = "forest"\n[themes.forest]\nprimary = "#00ff00"\nprimry = "red"\n', "has no 'primry'"),
        ('theme = "forest"\n', "theme must be one of auto"),
        ("[keys]\nquit = 3\n", "keys must be a table"),
        ('[commands.words]\nkey = "d"\n', "commands must be a table"),
        ('[commands.words]\nrun = "wc"\noutput = "file"\n', "output 'file'"),
    ],
)
def test_what_does_not_exist_is_named(tmp_path: Path, toml: str, says: str) -> None:
    with pytest.raises(BadConfig) as raised:
        app_of(tmp_path, toml)
    assert says in str(raised.value)


@pytest.mark.parametrize("table", ['[keys]\nquit = "Q"', '[commands.x]\nrun = "true"', '[themes.x]\nprimary = "red"'])
def test_a_project_sets_none_of_them(tmp_path: Path, table: str) -> None:
    (tmp_path / "ctxtui.toml").write_text(table, encoding="utf-8")
    with pytest.raises(BadConfig, match="may not be set by a project"):
        load(env={}, cwd=tmp_path, user=tmp_path / "none.toml")


async def test_an_own_command_reads_the_block_and_its_place(tmp_path: Path) -> None:
    told = tmp_path / "told"
    run = f"wc -c; env | grep ^CTXTUI_ > {told}"
    app = app_of(tmp_path, f'[commands.bytes]\nrun = "{run}"\nkey = "^w"\noutput = "message"\n')
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot)
        await pilot.press("up", "up", "up", "up", "up", "ctrl+w")
        target = screen.target()
        size = len(target.text.encode())
        await until(pilot, lambda: f"bytes: {size}" in "".join(span.text for span in screen.prompt.hint))
    variables = dict(line.split("=", 1) for line in told.read_text(encoding="utf-8").splitlines())
    assert size > 100 and variables["CTXTUI_SESSION"] == str(SAMPLE)
    assert variables["CTXTUI_CALL"] == "11" and variables["CTXTUI_CATEGORY"] == target.variables["CTXTUI_CATEGORY"]
    assert variables["CTXTUI_BLOCK"] == target.variables["CTXTUI_BLOCK"] != ""


async def test_an_own_command_that_fails_says_so(tmp_path: Path) -> None:
    app = app_of(tmp_path, '[commands.broken]\nrun = "echo no such thing; exit 3"\nkey = "^w"\noutput = "message"\n')
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot)
        await pilot.press("ctrl+w")
        await until(pilot, lambda: "exit code 3: no such thing" in "".join(span.text for span in screen.prompt.hint))


async def test_own_commands_stand_in_the_palette_and_not_over_a_list(tmp_path: Path) -> None:
    app = app_of(tmp_path, '[commands.bytes]\nrun = "wc -c"\nkey = "^w"\n')
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        assert [each.name for each in app.OWN_COMMANDS] == ["bytes"]
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: isinstance(app.screen, PageScreen))
        await pilot.press("ctrl+w")
        page = app.screen
        assert isinstance(page, PageScreen)
        await until(pilot, lambda: "press esc first" in "".join(span.text for span in page.message_line.message))


def test_a_theme_sets_its_colours_and_keeps_the_others(tmp_path: Path) -> None:
    toml = 'theme = "forest"\n[themes.forest]\nprimary = "#7FC97F"\n[themes.forest.variables]\ncat-user = "#F2C14E"\n'
    app = app_of(tmp_path, toml)
    assert app.theme == "forest"
    colours = app.get_css_variables()
    assert (colours["accent"], colours["cat-user"], colours["crit"]) == ("#7FC97F", "#F2C14E", DARK["crit"])


@pytest.mark.parametrize("colour", ["#0f0", "#00ff00", "lime", "hsl(120,100%,50%)", "rgb(0,255,0)"])
async def test_a_theme_takes_every_spelling_of_a_colour(tmp_path: Path, colour: str) -> None:
    """Rich paints the panes and knows fewer spellings than Textual."""
    app = app_of(tmp_path, f'theme = "forest"\n[themes.forest]\nprimary = "{colour}"\n')
    async with app.run_test():
        accent = look_of(app).palette.style("accent").color
        assert accent is not None and accent.triplet == (0, 255, 0)


async def test_a_key_before_anything_is_loaded_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that need a context did nothing, in silence, until the first rows came."""
    free = threading.Event()
    real = SessionSource.open

    def late(source: SessionSource) -> object:
        free.wait(60)
        return real(source)

    monkeypatch.setattr(SessionSource, "open", late)
    app = app_of(tmp_path, "")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        for key in ("exclamation_mark", "d", "c", "W", "K"):
            screen.line.show_message(())
            await pilot.press(key)
            await pilot.pause()
            assert "Nothing of this recording is loaded yet" in "".join(span.text for span in screen.prompt.hint), key
        free.set()
        await opened(app, pilot)
        assert "Nothing of this" not in "".join(span.text for span in screen.prompt.hint)
