"""The end of a stored session, read by itself, is the end of the whole: row for row, rule for rule."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.category import INDEX
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.tail_preview import END
from ctxtui.store.schema.connect import connect
from ctxtui.store.sessions.listing import find
from ctxtui.store.sessions.read_end import is_long, read_end
from ctxtui.store.store import Store
from ctxtui.views.model.block_cache import Readings
from ctxtui.views.model.scene import calls_of, scene_at
from ctxtui.views.transcript.context_rows import ContextRows
from ctxtui.views.transcript.row_index import Boundaries, RuleRow
from tests.cases import claude_code
from tests.cases.sessions import book_of
from tests.corpus import corpus_params
from tests.sampling import few
from tests.store.builders import FILE, LOGS, Make, events_of, talk

Row = tuple[object, ...]
RESULT = INDEX["tool_result"]


def rows_of(session: Session) -> list[Row]:
    """What stands in each row of what is shown first: a rule's words, or its block, its place and what its row says."""
    thread = session.first_thread
    calls, boundaries = calls_of(session, thread), Boundaries(session.tree)
    boundaries.extend(calls)
    book = book_of(session, counted=False)
    scene = replace(scene_at(book, RunningTotals(book, ""), calls, len(calls) - 1, 0.75), partial=True)
    rows = ContextRows(Readings(session, book.names))
    rows.show(scene, boundaries, None, rows.shown)
    found: list[Row] = []
    for index in range(rows.count):
        row = rows.row(index, history=False)
        if isinstance(row, RuleRow):
            found.append((row.kind, row.text))
        else:
            node = session.tree[rows.entry(index)]
            # What a result says of its call stands further up.
            words = row.words if node.category != RESULT else ()
            found.append((node.block, node.place, row.sign, row.gutter, row.turn, row.tokens, words))
    return found


def check(store: Store, path: Path, id_: str, most: int) -> bool:
    """Hold the end of a session of about `most` bytes against the whole; whether there is one."""
    conn = connect(path, readonly=True)
    end = read_end(conn, find(conn, id_)[0], most)
    conn.close()
    if end is None:
        return False
    whole = store.load(id_)
    assert end.about == whole.about
    shown, wanted = rows_of(end), rows_of(whole)
    assert shown == wanted[len(wanted) - len(shown) :]
    calls = end.thread_calls(end.first_thread)
    theirs = whole.thread_calls(whole.first_thread)[-len(calls) :] if calls else []
    same = ("id", "usage", "model", "started", "ended", "epoch", "stop_reason", "error", "extra")
    assert [[getattr(call, name) for name in same] for call in calls] == [
        [getattr(call, name) for name in same] for call in theirs
    ]
    return True


@given(LOGS, st.sampled_from([1, 60, 400, 10_000]))
def test_the_end_of_any_session_is_that_of_the_whole(log: list[Make], most: int) -> None:
    tree = Tree()
    session = Session(tree).fold(events_of(log, tree))
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "s.db") as store:
        check(store, store.path, store.import_session(session, FILE), most)


@pytest.mark.parametrize("most", few([1, 2_000, 20_000, END]))
def test_the_end_of_a_sample_is_that_of_the_whole(store: Store, most: int) -> None:
    told = [check(store, store.path, store.import_session(load(path).session, FILE), most) for path in sample_paths()]
    assert any(told)


@pytest.mark.parametrize("compactions", few([0, 1, 3], 2))
@pytest.mark.parametrize("most", [1, 3_000, 30_000, 10_000_000])
def test_the_end_of_a_session_with_compactions_is_that_of_the_whole(store: Store, compactions: int, most: int) -> None:
    path = store.path.parent / "a.jsonl"
    path.write_bytes(claude_code.generate(120, compactions=compactions, subagents=1))
    assert check(store, store.path, store.import_session(load(path).session, FILE), most)


@pytest.mark.parametrize(
    "path", [*corpus_params("claude_code"), *corpus_params("codex"), *corpus_params("openai_logs")]
)
def test_the_end_of_every_recording_is_that_of_the_whole(path: Path, store: Store) -> None:
    try:
        session = load(path).session
    except CtxtuiError:
        pytest.skip("holds no context")
    id_ = store.import_session(session, FILE)
    for most in (1, 5_000, 60_000, END):
        check(store, store.path, id_, most)


def test_only_what_is_shown_is_unpacked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    id_ = store.import_session(talk(2_000), FILE)
    conn = connect(store.path, readonly=True)
    key = find(conn, id_)[0]
    asked: list[str] = []
    conn.set_trace_callback(asked.append)
    assert is_long(conn, key)
    end = read_end(conn, key, 4_000)
    conn.close()
    assert end is not None and 4_000 <= sum(len(block.body) for block in end.tree.blocks.values()) < 40_000
    assert len(end.tree) < 200 and end.thread_calls("main")[-1].sent_head != ROOT
    assert not any("session_blocks" in query and "body" in query for query in asked)


def test_a_short_session_is_read_whole(store: Store) -> None:
    id_ = store.import_session(talk(10), FILE)
    conn = connect(store.path, readonly=True)
    assert not is_long(conn, find(conn, id_)[0])
    conn.close()
