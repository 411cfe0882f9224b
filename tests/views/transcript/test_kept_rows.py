"""Lines that were drawn before are those that would be drawn now."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from ctxtui.core.edit_kinds import DROP, PIN, TRUNCATE
from ctxtui.core.session import MAIN, Session
from ctxtui.services.config.package_data import model_table, price_table
from ctxtui.services.counting.pricing import local_pricer
from ctxtui.services.study.study import Study
from ctxtui.views.model.block_cache import Readings
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.context_rows import LINE, ContextRows
from tests.analysis.sessions import book
from tests.cases.sessions import compacted, every_category, long_session, with_subagents
from tests.services.editing.test_next_request_of_a_growing_context import say
from tests.services.editing.test_staging import Table, talk


def shown(rows: ContextRows, table: Table, marked: frozenset[int]) -> list[list[Span]]:
    """Every line of the scene under its edits."""
    scene, known = table.scene, table.study.thread(MAIN)
    staged = table.desk.has_edits(MAIN)
    rows.staging = table.desk.staging(scene, marked) if staged else None
    rows.marked = marked
    rows.show(scene, known.boundaries, known.ledger, (LINE,) * 11)
    grid = Grid.for_pane(70, 120, staged=staged)
    return [list(rows.line(index, 0, grid, "▸" if index == 2 else " ")) for index in range(rows.count)]


@pytest.mark.parametrize("kinds", [(DROP, TRUNCATE, PIN), (PIN, DROP, TRUNCATE), (TRUNCATE, PIN, DROP)])
def test_what_was_drawn_before_is_what_would_be_drawn_now(kinds: tuple[str, ...]) -> None:
    table = Table(every_category())
    kept = ContextRows(Readings(table.study.session, table.study.book.names))
    seen = []
    for n, kind in enumerate(("", *kinds)):
        if kind:
            table.stage(kind, table.results()[n % 2], **({"head": 5, "tail": 0} if kind == TRUNCATE else {}))
            table.work()
        marked = frozenset(table.desk.context(table.scene).nodes[n : n + 1])
        fresh = ContextRows(Readings(table.study.session, table.study.book.names))
        seen.append(shown(kept, table, marked))
        assert seen[-1] == shown(fresh, table, marked)
    assert len({repr(one) for one in seen}) == len(seen), "every step shows something else"


def test_what_stood_there_before_the_session_grew_is_what_would_stand_there_now() -> None:
    table = talk(6)
    kept = ContextRows(Readings(table.study.session, table.study.book.names))
    for call in (5, 5, 3, 5, 0, 5, 5):
        table.call = call
        for text in ("and then?", "/clear", "go on"):
            say(table, f"{text} {len(table.study.session.tree)}")
            fresh = ContextRows(Readings(table.study.session, table.study.book.names))
            assert shown(kept, table, frozenset()) == shown(fresh, table, frozenset())
            assert kept.charge == fresh.charge and list(kept.entries) == list(fresh.entries)


@pytest.mark.parametrize("grid", [Grid.for_pane(70, 120), Grid.for_pane(200, 240)])
def test_of_every_call_the_rows_are_those_that_would_be_made_now(grid: Grid) -> None:
    table = Table(every_category())
    kept = ContextRows(Readings(table.study.session, table.study.book.names))
    known, calls = table.study.thread(MAIN), len(table.study.thread(MAIN).calls)
    for call in (*range(calls), *reversed(range(calls))):
        table.call = call
        fresh = ContextRows(Readings(table.study.session, table.study.book.names))
        for rows in (kept, fresh):
            rows.show(table.scene, known.boundaries, known.ledger, (LINE,) * 11)
        assert kept.count == fresh.count
        for row in range(kept.count):
            assert kept.row(row) == fresh.row(row) and kept.row(row, history=False) == fresh.row(row, history=False)
            assert kept.line(row, 0, grid, " ") == fresh.line(row, 0, grid, " ")


def made(rows: ContextRows, study: Study, index: int) -> list[object]:
    """Every row of a call, with its history and without."""
    known = study.thread(MAIN)
    rows.show(study.scene(MAIN, index), known.boundaries, known.ledger, (LINE,) * 11)
    return [rows.charge, *(rows.row(row, history=history) for row in range(rows.count) for history in (True, False))]


@pytest.mark.parametrize("session", [every_category, compacted, with_subagents, partial(long_session, 40)])
def test_what_was_made_before_is_what_would_be_made_now(session: Callable[[], Session]) -> None:
    """While blocks are counted, calls priced, contexts held against reports, and from call to call and back."""
    counts = book(session(), model_table(), 3)
    study = Study(counts.session, counts, None, local_pricer(price_table()))
    study.session_grew()
    kept, calls, seen = ContextRows(Readings(study.session, counts.names)), len(study.thread(MAIN).calls), set[str]()
    while study.work():
        for index in (calls - 1, 0, calls // 2, calls - 1, calls - 1):
            found = made(kept, study, index)
            assert found == made(ContextRows(Readings(study.session, counts.names)), study, index)
            seen.add(repr(found))
    assert len(seen) > 1, "something was shown before all was known"
