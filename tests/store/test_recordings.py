"""Recordings as their readers see them: stored, grown, stored again."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.services.recordings.open import load
from ctxtui.store.rows import SourceInfo
from ctxtui.store.store import Store
from tests.cases import claude_code
from tests.corpus import corpus_params
from tests.store.builders import state, totals


def info(path: Path) -> SourceInfo:
    return SourceInfo(str(path), path.stat().st_size, path.stat().st_mtime, "any")


@pytest.mark.parametrize(
    "path", [*corpus_params("claude_code"), *corpus_params("codex"), *corpus_params("openai_logs")]
)
def test_every_recording_comes_back_as_it_was(path: Path, store: Store) -> None:
    try:
        session = load(path).session
    except CtxtuiError:
        pytest.skip("holds no context")
    id_ = store.import_session(session, info(path))
    assert state(store.load(id_)) == state(session)
    before, rows = totals(store), store.info().rows
    assert store.import_session(load(path).session, info(path)) == id_
    assert (totals(store), store.info().rows) == (before, rows)


def test_a_recording_that_grows_ends_as_a_fresh_import(tmp_path: Path, store: Store) -> None:
    whole = claude_code.generate(60, compactions=1, subagents=1)
    path = tmp_path / "a.jsonl"
    ids = set()
    for cut in (len(whole) // 3, len(whole) // 2 + 7, len(whole)):
        path.write_bytes(whole[:cut])
        ids.add(store.import_session(load(path).session, info(path)))
    assert len(ids) == 1
    session: Session = load(path).session
    assert state(store.load(ids.pop())) == state(session)
    assert store.count_calls() == len(session.calls)
    assert store.info().rows["threads"] == len(session.threads)


def test_a_generated_session_takes_less_than_half_of_its_file(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(claude_code.generate(600, bytes_per_message=5200))
    blank = store.info().size
    store.import_session(load(path).session, info(path))
    store.vacuum()
    assert store.info().size - blank < 0.5 * path.stat().st_size
