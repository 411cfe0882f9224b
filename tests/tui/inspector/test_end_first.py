"""The end of a long session stands on the screen before the rest is read, and stays where it is."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.sessions import MARK, session
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded, RecordingNews
from ctxtui.services.session_source import SessionSource
from ctxtui.store.store import Store
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.inspector.place_in_end import NOT_LOADED
from ctxtui.tui.inspector.screen import InspectorScreen
from tests.pty_app import Screen, run
from tests.sampling import few
from tests.store.builders import FILE
from tests.tui.inspector.test_inspector import text
from tests.tui.waiting import until


class Held(SessionSource):
    """Reads more than the end only once it `may`."""

    def __init__(self, name: str, settings: Settings) -> None:
        super().__init__(name, settings)
        self.may = threading.Event()

    def open(self) -> tuple[Loaded, Iterator[RecordingNews]]:
        self.may.wait(60)
        return super().open()


class Deleted(SessionSource):
    """A recording that is deleted while it is read."""

    def open(self) -> tuple[Loaded, Iterator[RecordingNews]]:
        loaded, pieces = super().open()

        def delete_first() -> Iterator[RecordingNews]:
            for piece in pieces:
                Path(self.name).unlink(missing_ok=True)
                yield piece

        return loaded, delete_first()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=str(tmp_path / "data"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of 4 MB."""
    return session(tmp_path_factory.mktemp("made"), 1_200, 4_000_000)


@pytest.fixture
def name(made: Path, tmp_path: Path) -> str:
    """A session of 4 MB; a copy for each test."""
    return str(shutil.copy(made, tmp_path))


@pytest.mark.parametrize("size", few([(80, 24), (120, 40)]))
async def test_what_is_shown_first_stays_where_it_is(name: str, settings: Settings, size: tuple[int, int]) -> None:
    source = Held(name, settings)
    screen = InspectorScreen(source)
    app = CtxtuiApp(lambda: screen, lambda _: screen, name)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: screen.state.recording_end is not None and MARK in text(screen))
        first = text(screen).splitlines()
        assert "reading" in first[0] and "call 600" not in first[0]
        title = next(line for line in first if "━ transcript" in line)
        assert "↑ ·" in title, "how many rows are above is not known"
        await until(pilot, lambda: "$" not in text(screen).splitlines()[-1])
        await pilot.press("dollar_sign")
        await until(pilot, lambda: NOT_LOADED[:60] in text(screen))
        source.may.set()
        await until(pilot, lambda: screen.state.complete and "call 600" in text(screen))
        then = text(screen).splitlines()
    assert NOT_LOADED[:60] not in "\n".join(then)
    rows = range(first.index(title) + 1, next(n for n, line in enumerate(first) if line.startswith("─ calls")))
    assert [_words(first[row]) for row in rows] == [_words(then[row]) for row in rows]
    assert MARK in then[rows[-1]]


async def test_who_went_up_and_opened_a_block_meanwhile_stays_there(name: str, settings: Settings) -> None:
    source = Held(name, settings)
    screen = InspectorScreen(source)
    app = CtxtuiApp(lambda: screen, lambda _: screen, name)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: screen.state.recording_end is not None and MARK in text(screen))
        await pilot.press(*["up"] * 40)
        await pilot.press("enter", "down")
        first, pane = text(screen).splitlines(), screen.panels.transcript
        assert MARK not in "\n".join(first)
        there = pane.data.readings.tree[pane.node].block if pane.data is not None and pane.node else None
        source.may.set()
        await until(pilot, lambda: screen.state.complete and "call 600" in text(screen))
        then = text(screen).splitlines()
        assert pane.data is not None and pane.node and pane.data.readings.tree[pane.node].block == there
    rows = range(5, next(n for n, line in enumerate(first) if line.startswith("─ calls")))
    assert [_words(first[row]) for row in rows] == [_words(then[row]) for row in rows]


def _words(line: str) -> str:
    """What a row says, without what the cache does with it and the number of its turn: neither is known before."""
    return line[1:2] + line[2:].lstrip(" 0123456789")[:28]


def test_a_long_stored_session_is_seen_in_a_terminal(tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = session(tmp_path, 1_200, 4_000_000)
    with Store.open(home / "ctxtui" / "ctxtui.db") as store:
        id_ = store.import_session(load(path).session, FILE)
    with run(home, id_, cwd=tmp_path) as terminal:
        screen = Screen(terminal, (120, 40))
        assert "✗" not in screen.until(lambda shown: MARK in shown, "nothing of it")
        assert "call 600" in screen.wait("call 600", MARK)


async def test_a_recording_that_is_deleted_while_it_is_read_ends_nothing(name: str, settings: Settings) -> None:
    screen = InspectorScreen(Deleted(name, settings))
    app = CtxtuiApp(lambda: screen, lambda _: screen, name)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: screen.state.complete)
        assert "call 600" in text(screen)
