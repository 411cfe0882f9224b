"""A new list: its rows, their table, a screen of some lines and a line in the registry, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

import ctxtui
from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands import bindings
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists import registry
from ctxtui.tui.lists.list_screen import HostedList
from ctxtui.tui.lists.registry import ListCommand
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Column, Table
from tests.cases.inspect import HandMade, app_of
from tests.cases.sessions import long_session
from tests.tui.inspector.test_inspector import settled, text, until

PACKAGE = Path(ctxtui.__file__).parent


# What a person writes: the rows, their table, the screen, the command.

Heard = tuple[int, str]
"""A call's number, and its model."""

MODELS: Table[Heard] = Table(
    (
        Column("model", 0, lambda row, _: Span(row[1]), "left"),
        Column("call", 6, lambda row, _: Span(f"{row[0]:,}"), sort=lambda row: row[0]),
    )
)


class ModelsScreen(HostedList[Heard, int]):
    """The model of each call."""

    heading, empty_text, order = "models", "No call.", "call"

    def load(self) -> Sequence[Heard]:
        """The calls of the thread."""
        scene = self.scene
        if scene is None or self.host.thread != "main":
            raise CtxtuiError("no thread is [shown]")
        return [(number, call.model) for number, call in enumerate(scene.calls, 1)]

    def table(self, rows: Sequence[Heard]) -> Table[Heard]:
        """Model and number."""
        return MODELS

    def rule_notes(self, rows: Sequence[Heard]) -> Spans:
        """How many."""
        return [Span(f"{len(rows)} of them", "dim")]

    def choose(self, row: Heard) -> int:
        """Its call."""
        return row[0]

    def done(self, result: int) -> None:
        """To the call."""
        self.host.to_call(self.host.thread, result)


class ShowModels(ListCommand):
    """Which model answered which call."""

    name, keys, opens = "models of the calls", ("ctrl+y",), f"{__name__}.ModelsScreen"


class WithModels(InspectorScreen):
    """The Inspector with one more list."""

    commands = (*InspectorScreen.commands, ShowModels)
    BINDINGS = bindings((ShowModels,))


def seen(screen: InspectorScreen) -> str:
    return text(screen.app.screen)  # type: ignore[arg-type]


async def test_a_new_list_is_opened_ordered_chosen_and_told_of_in_palette_and_help(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = app_of(HandMade(long_session(12)))
    source = HandMade(long_session(12))
    monkeypatch.setattr(app, "_make_inspector", lambda target: WithModels(source))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, WithModels)
        await settled(screen, pilot)
        await pilot.press("ctrl+p", *"models of the")
        await pilot.pause(0.1)
        assert "Which model answered which call." in seen(screen)
        await pilot.press("enter")
        await until(pilot, lambda: "of them" in seen(screen))
        assert "models" in seen(screen) and "call \u2193" in seen(screen)
        assert isinstance(app.screen, ModelsScreen)
        count = len(app.screen.rows)
        assert app.screen.pane.row is not None and app.screen.pane.row[0] == count
        await pilot.press("end", "enter")
        await until(pilot, lambda: app.screen is screen and screen.state.index == 0)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: "of them" in seen(screen))
        await pilot.press("escape", "question_mark", "end")
        await pilot.pause(0.1)
        helped = "\n".join(f"{command.group}: {command.help()}" for command in screen.commands_now())
        assert "lists: Which model answered which call." in helped


async def test_why_a_list_cannot_be_made_stands_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_of(HandMade(long_session(4)))
    source = HandMade(long_session(4))
    monkeypatch.setattr(app, "_make_inspector", lambda target: WithModels(source))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = app.screen
        assert isinstance(screen, WithModels)
        await settled(screen, pilot)
        screen.state.thread = "other"
        await pilot.press("ctrl+y")
        await until(pilot, lambda: "no thread is [shown]" in seen(screen))


# What a person touches


@cache
def modules() -> dict[str, str]:
    """The text of every module."""
    return {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


def named_in(word: str, *, outside: str = "") -> list[str]:
    """The modules that name `word`, but the module `outside`."""
    told = re.compile(rf"\b{word}\b")
    plain = word if word.isidentifier() else ""
    return [name for name, text in modules().items() if name != outside and plain in text and told.search(text)]


def test_no_module_but_the_one_that_opens_it_names_a_list_screen() -> None:
    screens = {}
    for path in sorted((PACKAGE / "tui" / "lists").rglob("*.py")):
        for name in re.findall(r"^class (\w+Screen)\(", path.read_text(encoding="utf-8"), re.M):
            screens[name] = path.relative_to(PACKAGE).as_posix()
    bases = {"PageScreen", "ListScreen"}
    for name in screens.keys() - bases:
        own = f"push_screen({name}(" in modules()[screens[name]]
        assert len(named_in(name, outside=screens[name])) == (0 if own else 1), name
    opened = {command.opens.rpartition(".")[2] for command in (*registry.LISTS, *registry.REPORTS)}
    assert opened <= screens.keys()
    for name in opened:
        assert named_in(name, outside=screens[name]) == ["tui/lists/registry.py"]


def test_a_list_is_rows_a_table_a_screen_and_a_line() -> None:
    # The threads: `analysis.growth.thread_tree`, `views.inspector.threads`, `tui.lists.threads`.
    told = r"ThreadsScreen|ShowThreads"
    assert named_in(told) == ["tui/lists/registry.py", "tui/lists/threads.py"], "and the two of rows and table: four"
