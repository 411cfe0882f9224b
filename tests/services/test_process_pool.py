"""The same work over many sessions, done by several processes of this machine, comes to what one process finds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from ctxtui.services import process_pool, session_work
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.process_pool import iter_answers
from tests.cases.claude_code import generate
from tests.cases.claude_code_requests import parallel
from tests.cli.conftest import Run, ctxtui, home
from tests.sampling import few

__all__ = ["ctxtui", "home"]


def make() -> Callable[[int], tuple[int, int]]:
    """Answers with the number and who answered; a negative one ends the process."""

    def answer(request: int) -> tuple[int, int]:
        if request < 0:
            os._exit(3)
        return request, os.getpid()

    return answer


def gone(request: int, error: ChildGone) -> tuple[int, int]:
    return request, 0


MAKER = "tests.services.test_process_pool:make"


def test_every_request_has_its_answer_and_the_dead_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    children: list[ChildProcess] = []
    found = dict(iter_answers(MAKER, [1, 2, -3, 4, 5, 6], gone, 2, children=children))
    assert sorted(found) == [-3, 1, 2, 4, 5, 6] and found[-3] == 0
    # One of them died and was started anew.
    assert len(children) == 2 and len({*found.values()} - {0}) <= 3 and os.getpid() not in found.values()


def test_it_ends_when_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    stop = Event()
    coming = iter_answers(MAKER, iter(range(1, 1_000_000)), gone, 2, stop=stop)
    next(coming)
    stop.set()
    assert len(list(coming)) <= 2


FIRST = b'"id":"m', b'"id":"m0x'
KEYS = [b"sk-ant-api03-" + bytes([letter]) * 90 + b" " for letter in b"aB"]


@pytest.mark.parametrize(
    "command",
    few(
        [
            ["lab", "logs", "--policy", "keep_rounds", "--json"],
            ["audit", "logs", "nowhere.jsonl"],
            ["check", "logs/0.jsonl", "logs/odd.jsonl", "--max-context", "9", "--json"],
            ["check", "logs", "--max-context", "9"],
            ["cost", "logs", "--json"],
            ["cost", "logs", "nowhere.jsonl", "--by", "tool", "--json"],
            ["cost", "logs", "--by", "thread"],
            ["why", "logs", "--json"],
            ["why", "logs"],
            ["report", "logs", "--json"],
            ["report", "logs", "--html", "-"],
        ],
        2,
    ),
    ids=lambda command: " ".join(command[:3]),
)
def test_all_processors_find_what_one_finds(ctxtui: Run, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    Path("logs").mkdir()
    for n in range(2):
        Path(f"logs/{n}.jsonl").write_bytes(parallel().dump().replace(b'"id":"m', f'"id":"m{n}x'.encode()))
    for n, name in enumerate(("odd", "zz")):
        # Two keys, of which one is in both: the same one has the same mask throughout.
        data = generate(n_messages=12, seed=5 + n)
        Path(f"logs/{name}.jsonl").write_bytes(data.replace(b'"content":"', b'"content":"' + b" ".join(KEYS[n:])))
    # A session that goes on after a copy of its beginning was made: its calls count in the copy.
    Path("logs/0-copy.jsonl").write_bytes(b"".join(parallel().dump().splitlines(keepends=True)[:9]).replace(*FIRST))
    Path("logs/broken.jsonl").write_bytes(parallel().dump()[:3000] + b"\x00\xff")
    here, asked = ctxtui(*command), list[int]()

    def counted(*given: object, **more: object) -> object:
        asked.append(len(given[1]))  # type: ignore[arg-type]
        return iter_answers(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(session_work, "iter_answers", counted)
    monkeypatch.setattr(session_work, "processor_count", lambda: 2)
    monkeypatch.setattr(session_work, "_MIN_PARALLEL_BYTES", 0)
    found = ctxtui(*command)
    assert asked and (found.code, found.out, found.err) == (here.code, here.out, here.err)


@pytest.mark.parametrize("by", ["tool", "model"])
def test_calls_that_an_earlier_recording_has_count_there(ctxtui: Run, by: str) -> None:
    Path("logs").mkdir()
    whole = parallel().dump()
    Path("logs/0-copy.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:9]))
    Path("logs/0.jsonl").write_bytes(whole)
    part, alone, both = (
        ctxtui("cost", name, "--by", by, "--json").json for name in ("logs/0-copy.jsonl", "logs/0.jsonl", "logs")
    )
    assert 0 < part["calls"] < alone["calls"] == both["calls"]
    assert both["total_usd"] == pytest.approx(alone["total_usd"])
    assert sum(row["usd"] for row in both["rows"]) == pytest.approx(alone["total_usd"])
    bills = [ctxtui("cost", "--why", name, "--json").json for name in ("logs/0.jsonl", "logs")]
    assert bills[0]["calls"] == bills[1]["calls"] and bills[1]["total_usd"] == pytest.approx(alone["total_usd"])
    assert bills[1]["sessions"] == 2


def test_little_work_starts_no_process(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object) -> object:
        raise AssertionError("a process for a few kB")

    monkeypatch.setattr(session_work, "iter_answers", never)
    Path("logs").mkdir()
    for n in range(3):
        Path(f"logs/{n}.jsonl").write_bytes(generate(n_messages=12, seed=n))
    assert ctxtui("audit", "logs").code == 0


def test_there_is_always_a_processor() -> None:
    assert 1 <= process_pool.processor_count() <= 8
