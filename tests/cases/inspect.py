"""The Inspector on a session built by hand: no file, no vocabulary, no price library."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.pricing.table import PriceTable
from ctxtui.services.config.package_data import price_table
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.pricing import local_pricer
from ctxtui.services.editing.overlay import ThreadEdits
from ctxtui.services.editing.staging import StagingArea
from ctxtui.services.library.notebook import Notebook
from ctxtui.services.recordings.recording import Loaded, RecordingNews
from ctxtui.services.study.study import Study
from ctxtui.services.study.thread_study import RecordingEnd
from ctxtui.services.workers.session_report import Report
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.inspector.screen import InspectorScreen
from tests.cases.sessions import book_of

T = TypeVar("T")


class InMemory:
    """Overlays that are saved nowhere."""

    def __init__(self) -> None:
        self._known: dict[str, ThreadEdits] = {}

    def of_thread(self, thread: str) -> ThreadEdits:
        return self._known.setdefault(thread, ThreadEdits(thread=thread))

    unsaved = False

    def save(self) -> None:
        pass

    def has_database_changed(self) -> bool:
        return False

    def stored(self) -> dict[str, list[Edit]]:
        return {}

    def add_stored(self, stored: Mapping[str, Iterable[Edit]]) -> list[Edit]:
        return []


class HandMade:
    """A source that gives a session which is there already; what is pushed to `news` comes as if it were read."""

    def __init__(self, session: Session, *, live: bool = False, priced: bool = True) -> None:
        self.name = "hand-made.jsonl"
        self.session = session
        self.live = live
        self.priced = priced
        self.closed = False
        self.settings = Settings(data_dir=os.devnull)
        self.overlays = InMemory()

    def open(self) -> tuple[Loaded, Iterator[RecordingNews]]:
        return Loaded(self.session, self.name), iter(())

    def study(self, session: Session) -> Study:
        table = price_table() if self.priced else PriceTable()
        return Study(session, book_of(session, counted=False), None, local_pricer(table))

    def read_end(self) -> RecordingEnd | None:
        return None

    def notebook(self, loaded: Loaded) -> Notebook:
        return Notebook(loaded, self.settings)

    def report(self, kind: Report[T], loaded: Loaded) -> T:
        raise CtxtuiError(f"no {kind.name}")

    def is_live(self, loaded: Loaded) -> bool:
        return self.live

    def staging(self, study: Study, loaded: Loaded) -> StagingArea:
        return StagingArea(study, self.overlays)

    def save_counts(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def app_of(source: HandMade, *, theme: str = "dark", glyphs: str = "unicode") -> CtxtuiApp:
    """The app on an Inspector of `source`."""
    return CtxtuiApp(
        lambda: InspectorScreen(source), lambda target: InspectorScreen(source), "x", theme=theme, glyphs=glyphs
    )


def app_on(session: Session, *, theme: str = "dark", glyphs: str = "unicode", live: bool = False) -> CtxtuiApp:
    """The app on an Inspector of a session."""
    return app_of(HandMade(session, live=live), theme=theme, glyphs=glyphs)
