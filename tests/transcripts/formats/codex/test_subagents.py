"""Subagents of Codex: rollouts of their own, threads of one session."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from ctxtui.core.session import MAIN, Session
from ctxtui.services.recordings.open import load
from ctxtui.transcripts.formats.codex.session import CodexReader, is_companion
from tests.cases.codex_current import CHILD_ID, ROOT_ID, Client, child, parent, turns
from tests.corpus import ABSENT, CORPUS

STRANGER = "01a20291-9999-7240-ae1e-000000000009"


def session(main: bytes, *others: bytes) -> Session:
    found = Session()
    reader = CodexReader(found.tree)
    found.fold([*reader.feed(main), *reader.settle()])
    for data in others:
        part = reader.part("rollout-2026-11-22T09-23-23-x.jsonl")
        found.fold([*part.feed(data), *part.settle()])
    return found


def test_a_subagent_is_a_thread_with_its_path_for_a_label() -> None:
    found = session(parent().dump(), child().dump())
    thread = found.threads[CHILD_ID]
    assert (thread.label, thread.parent) == ("count_orders", MAIN)
    assert [call.usage and call.usage.input for call in found.thread_calls(CHILD_ID)] == [800, 880]
    assert len(found.thread_calls()) == 3
    assert (found.about.id, found.about.title) == (ROOT_ID, "count the orders with an agent")


def test_a_subagents_subagent_hangs_on_it() -> None:
    inner = child()
    meta = inner.records[0]["payload"]
    meta.update(id=STRANGER, parent_thread_id=CHILD_ID)
    found = session(parent().dump(), child().dump(), inner.dump())
    assert found.threads[STRANGER].parent == CHILD_ID


def test_history_that_a_subagent_copied_stays_its_parents() -> None:
    root = parent()
    own = Client(CHILD_ID)
    own.begin(parent_thread_id=ROOT_ID)
    own.records += copy.deepcopy(root.records[1:])
    own.answer("Mine.", 1_200, 1_100)
    alone, both = session(root.dump()), session(root.dump(), own.dump())
    assert both.order[MAIN] == alone.order[MAIN]
    assert [call.usage and call.usage.input for call in both.thread_calls(CHILD_ID)] == [1_200]


def test_a_compaction_of_a_subagent_is_its_own() -> None:
    inner = child()
    inner.compact_here(940)
    inner.answer("Going on.", 700, 0)
    root = turns(Client())
    root.compact_here(1_180)
    found = session(root.dump(), inner.dump())
    compactions = {id_: thread.parent for id_, thread in found.threads.items() if thread.label == "compaction"}
    assert compactions == {"compaction 1": MAIN, f"{CHILD_ID} compaction 1": CHILD_ID}


def test_a_file_without_its_beginning_is_a_thread_all_the_same() -> None:
    cut = b"".join(child().dump().splitlines(keepends=True)[3:])
    found = session(parent().dump(), cut)
    assert len(found.thread_calls("rollout-2026-11-22T09-23-23-x")) == 2


def test_only_kin_are_read_along() -> None:
    root, own, other = (
        parent().dump(),
        child().dump(),
        turns(Client(STRANGER)).dump().replace(ROOT_ID.encode(), b"x" * 36),
    )
    assert (
        is_companion(root, own)
        and not is_companion(root, other)
        and not is_companion(root, root)
        and not is_companion(own, root)
    )
    assert (
        not is_companion(b"", own)
        and not is_companion(root, b"")
        and not is_companion(root[:40], own)
        and not is_companion(root, b'{"type":1}')
    )


def test_a_folder_of_the_day_holds_strangers_too(tmp_path: Path) -> None:
    main = tmp_path / f"rollout-2026-11-22T09-23-22-{ROOT_ID}.jsonl"
    main.write_bytes(parent().dump())
    (tmp_path / f"rollout-2026-11-22T09-23-23-{CHILD_ID}.jsonl").write_bytes(child().dump())
    stranger = turns(Client(STRANGER)).dump().replace(ROOT_ID.encode(), STRANGER.encode())
    (tmp_path / f"rollout-2026-11-22T09-23-24-{STRANGER}.jsonl").write_bytes(stranger)
    (tmp_path / "rollout-empty.jsonl").write_bytes(b"")
    found = load(main).session
    assert set(found.threads) == {MAIN, CHILD_ID}


def test_the_recorded_subagent() -> None:
    folder = CORPUS / "clients" / "codex-0.169.0" / "current-model-subagent"
    if not folder.is_dir():
        pytest.skip(f"{ABSENT}: {folder.name}")
    (main,) = folder.glob("rollout-2026-11-22T09-23-22-*.jsonl")
    found = load(main).session
    assert [thread.label for thread in found.threads.values()] == ["", "count_orders"]
    assert [len(found.thread_calls(id_)) for id_ in found.threads] == [12, 2]
