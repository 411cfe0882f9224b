"""The end of a recording, of which nothing is counted, says what book and running totals would say of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.session import Session
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.open import load
from ctxtui.services.study.thread_study import RecordingEnd
from ctxtui.views.inspector import header
from ctxtui.views.model.block_cache import Readings
from ctxtui.views.model.scene import Scene, calls_of, scene_at
from ctxtui.views.transcript.context_rows import ContextRows
from ctxtui.views.transcript.row_index import Boundaries
from tests.cases.sessions import book_of

SETTINGS = Settings()


def uncounted(session: Session) -> Scene:
    """The scene as the book itself makes it, before anything is counted."""
    calls = calls_of(session, session.first_thread)
    book = book_of(session, counted=False)
    running = RunningTotals(book, calls[-1].model)
    return replace(scene_at(book, running, calls, len(calls) - 1, SETTINGS.usable_share), partial=True)


def shown(scene: Scene) -> tuple[object, ...]:
    """The header and every row, with what stands under an open one."""
    session = scene.session
    boundaries = Boundaries(session.tree)
    boundaries.extend(scene.calls)
    rows = ContextRows(Readings(session, scene.book.names))
    rows.show(scene, boundaries, None, rows.shown)
    told = header.header(scene, "reading", None, False)
    every = [(rows.entry(row), rows.row(row), rows.details(row, 80)) for row in range(rows.count)]
    return told, [header.draw_header(told, room) for room in (80, 120, 200)], every


@pytest.mark.parametrize("path", sample_paths(), ids=lambda path: path.name)
def test_an_end_is_shown_as_a_session_of_which_nothing_is_counted(path: Path) -> None:
    session = load(path).session
    if not session.threads:
        pytest.skip("nothing to show")
    assert shown(RecordingEnd(session, SETTINGS).scene) == shown(uncounted(session))
