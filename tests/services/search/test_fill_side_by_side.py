"""The index that several processes read for is the one that a single one makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.services.search import index
from tests.cases.claude_code import generate
from tests.cases.claude_code_requests import parallel
from tests.cli.conftest import Run, ctxtui, home

__all__ = ["ctxtui", "home"]


def recordings() -> None:
    folder = Path.home() / ".claude" / "projects" / "-work-shop"
    folder.mkdir(parents=True)
    for n in range(4):
        (folder / f"0199a213-81c0-4800-8aa1-00000000000{n}.jsonl").write_bytes(generate(n_messages=14, seed=n))
    (folder / "0199a213-81c0-4800-8aa1-0000000000aa.jsonl").write_bytes(b'{"type":"summary","summary":"nothing"}\n')
    (folder / "0199a213-81c0-4800-8aa1-0000000000bb.jsonl").write_bytes(parallel().dump()[:900] + b"\x00\xff")


def told(ctxtui: Run) -> tuple[object, ...]:
    ran = ctxtui("db", "index", "--anew", "--json")
    hits = ctxtui("search", "the", "--json").json
    assert ran.code == 0
    return ran.json["indexed"], ran.json["known"], ran.json["failed"], hits


def test_all_processors_make_the_same_index(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    recordings()
    here = told(ctxtui)
    started: list[int] = []
    pool = index.iter_answers

    def counted(maker: str, requests: object, gone: object, workers: int) -> object:
        started.append(workers)
        return pool(maker, requests, gone, workers)  # type: ignore[arg-type]

    monkeypatch.setattr(index, "_MIN_PARALLEL_BYTES", 0)
    monkeypatch.setattr(index, "processor_count", lambda: 2)
    monkeypatch.setattr(index, "iter_answers", counted)
    assert told(ctxtui) == here and started == [2]
    assert ctxtui("db", "index", "--json").json["indexed"] == 0, "what is indexed is not read again"


def test_a_process_that_ends_is_told_of_its_session_alone(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    recordings()
    monkeypatch.setattr(index, "_MIN_PARALLEL_BYTES", 0)
    monkeypatch.setattr(index, "processor_count", lambda: 2)
    monkeypatch.setattr(index, "_MAKER", "tests.services.search.test_fill_side_by_side:ends")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    failed = ctxtui("db", "index", "--json").json["failed"]
    assert set(failed.values()) == {"its reader process ended"}


def ends() -> object:
    raise SystemExit(3)
