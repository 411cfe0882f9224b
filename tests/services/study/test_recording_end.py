"""The end of a recording, of which nothing is counted, says what book and running totals would say of it."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest

from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT
from ctxtui.dataclasses import replace
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.open import load
from ctxtui.services.study.recording_end import RecordingEnd, end_facts
from ctxtui.views.inspector import header
from ctxtui.views.model.block_cache import Readings
from ctxtui.views.model.preview import Preview
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


def shown(scene: Scene, known: Mapping[int, Preview] | None = None) -> tuple[object, ...]:
    """The header and every row, with what stands under an open one."""
    session = scene.session
    boundaries = Boundaries(session.tree)
    boundaries.extend(scene.calls)
    rows = ContextRows(Readings(session, scene.book.names, known=known))
    rows.show(scene, boundaries, None, rows.shown)
    told = header.header(scene, "reading", None, False)
    every = [(rows.entry(row), rows.row(row), rows.details(row, 80)) for row in range(rows.count)]
    return told, [header.draw(told, room) for room in (80, 120, 200)], every


@pytest.mark.parametrize("path", sample_paths(), ids=lambda path: path.name)
def test_an_end_is_shown_as_by_a_book_that_has_counted_nothing(path: Path) -> None:
    session = load(path).session
    if not session.threads:
        pytest.skip("nothing to show")
    # It may come from another process.
    facts = pickle.loads(pickle.dumps(end_facts(session, SETTINGS)))
    end = RecordingEnd(facts, SETTINGS)
    expected = uncounted(session)
    assert shown(end.scene, end.previews) == shown(expected)
    afresh = Readings(session, expected.book.names)
    tree, running = session.tree, expected.running
    last = tree.path(expected.tip)[-64:]
    # The row that stands above the view for the turn in it is one of these, too.
    first = {tree[node].turn_start for node in last} - {ROOT}
    assert end.previews == {node: afresh.preview(node) for node in {*last, *first}}
    for node in range(len(tree)):
        for head in (expected.head, expected.tip):
            assert end.scene.running.is_read(head, node) == running.is_read(head, node)
            assert end.scene.running.gone(head, node) == running.gone(head, node)
        assert end.scene.running.counted(node) == running.counted(node) == (node == ROOT)
        assert end.scene.running.category(node) == running.category(node)
        assert end.scene.book.counted(expected.call.model, node) == expected.book.counted(expected.call.model, node)
    assert end.scene.running.elsewhere == running.elsewhere
    assert end.scene.running.strips_thinking == running.strips_thinking


def test_what_else_is_asked_of_an_end_is_answered_by_book_and_totals() -> None:
    session = load(sample_paths()[0]).session
    end, expected = RecordingEnd(end_facts(session, SETTINGS), SETTINGS).scene, uncounted(session)
    model = expected.call.model
    assert end.book.card(model) == expected.book.card(model)
    assert end.running.done == expected.running.done == 1
    assert end.running.own(ROOT) == expected.running.own(ROOT)
