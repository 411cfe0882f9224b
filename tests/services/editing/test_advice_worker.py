"""The search for advice in a process of its own: what it finds, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctxtui.core.session import MAIN
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.policy_proposals import Proposals
from ctxtui.services.editing.staging import StagingArea
from ctxtui.services.session_source import SessionSource
from ctxtui.services.workers import advice_worker
from ctxtui.services.workers.advice_worker import AdviceSearcher
from ctxtui.tui.inspector.controllers.why import WhyController
from ctxtui.tui.inspector.loader import SessionLoader
from tests.cases.claude_code import generate
from tests.cases.inspect import InMemory
from tests.services.editing.test_advice_columns import told
from tests.services.editing.test_staging import at_once
from tests.tui.inspector.test_inspector import opened
from tests.tui.waiting import until
from tests.views.inspector.test_why_so_big import reads

LONG = 120.0
"""Seconds for which anything is waited for at most: a loaded machine takes its time."""


def never() -> bool:
    return False


@pytest.fixture
def proposals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Proposals]]:
    """Makes proposals on a recording of 300 messages, which counts as long."""
    monkeypatch.setattr(advice_worker, "FEW", 10)
    path = tmp_path / "session.jsonl"
    path.write_bytes(generate(n_messages=300, bytes_per_message=900, seed=3))
    source = SessionSource(str(path), Settings(data_dir=str(tmp_path)))
    loaded, pieces = source.open()
    for news in pieces:
        loaded.take(news)
    study = source.study(loaded.session)
    study.grew()
    study.thread(MAIN)
    while study.work():
        pass
    desk, scene = StagingArea(study, InMemory()), study.scene(MAIN, 1 << 30)
    yield lambda: Proposals(desk, scene, lambda: desk.next_call(scene, at_once))
    source.close()


def children() -> set[int]:
    """Processes of this one that search."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            said, parent = (entry / "cmdline").read_bytes(), (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
        except (OSError, IndexError):
            continue
        if b"advice_worker" in said and int(parent) == os.getpid():
            found.add(int(entry.name))
    return found


def wait_for(there: Callable[[], object]) -> None:
    until = time.monotonic() + LONG
    while not there():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)


def test_it_finds_what_is_found_here(proposals: Callable[[], Proposals]) -> None:
    search = AdviceSearcher(proposals(), Settings())
    found = search.found(never)
    assert found and told(found) == told(proposals().advice(Settings().horizon))
    assert not search.trouble and not children()


def test_a_short_context_and_one_without_a_price_start_nothing(
    proposals: Callable[[], Proposals], monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(maker: str) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr("ctxtui.services.child_process._start", started)
    unpriced = proposals()
    monkeypatch.setattr(Proposals, "is_priced", property(lambda self: False))
    assert AdviceSearcher(unpriced, Settings()).found(never) == []
    monkeypatch.setattr(advice_worker, "FEW", 100_000)
    assert AdviceSearcher(proposals(), Settings()).found(never)


def test_who_needs_it_no_more_ends_it(proposals: Callable[[], Proposals]) -> None:
    search, got = AdviceSearcher(proposals(), Settings()), list[object]()
    thread = threading.Thread(target=lambda: got.append(search.found(never)))
    thread.start()
    wait_for(lambda: children() or got)
    search.close()
    thread.join(LONG)
    assert not thread.is_alive() and not children() and not search.trouble
    assert search.found(never) == [], "what was closed stays so"


def test_where_its_process_dies_it_goes_on_here_and_says_so(
    proposals: Callable[[], Proposals], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advice_worker, "_MAKER", "ctxtui.services.workers.advice_worker:none_such")
    search = AdviceSearcher(proposals(), Settings())
    found = search.found(never)
    assert told(found) == told(proposals().advice(Settings().horizon)) and found
    assert "ended" in search.trouble


AT_WORK = """
import sys, threading, time
from ctxtui.services.child_process import ChildProcess
child = ChildProcess("tests.services.editing.test_advice_worker:endless")
threading.Thread(target=lambda: child.ask(None), daemon=True).start()
while child._process is None:
    time.sleep(0.01)
print(child._process.pid, flush=True)
time.sleep(600)
"""


def endless() -> Callable[[object], None]:
    """A maker whose child is at work for ever."""
    advice_worker.make()

    def answer(request: object) -> None:
        Path(os.environ["AT_WORK"]).touch()
        while True:
            pass

    return answer


def test_it_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    root, begun = str(Path(__file__).parents[3]), tmp_path / "begun"
    env = {**os.environ, "PYTHONPATH": root, "AT_WORK": str(begun)}
    parent = subprocess.Popen([sys.executable, "-c", AT_WORK], stdout=subprocess.PIPE, env=env, cwd=root)
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        wait_for(begun.exists)
        os.kill(child, 0)
    finally:
        parent.kill()
        parent.wait()
    wait_for(lambda: not _lives(child))


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


async def test_an_edit_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, closed = threading.Event(), threading.Event()

    def found(self: AdviceSearcher, stopped: Callable[[], bool]) -> list[object]:
        begun.set()
        closed.wait(LONG)
        return []

    def close(self: AdviceSearcher) -> None:
        closed.set()

    monkeypatch.setattr(AdviceSearcher, "found", found)
    monkeypatch.setattr(AdviceSearcher, "close", close)
    async with opened(reads().session) as (screen, pilot):
        await until(pilot, lambda: screen.edits.editable())
        owner = screen.owner(WhyController)
        owner._rested()
        await until(pilot, begun.is_set)
        monkeypatch.setattr(owner, "_rested", lambda: None)
        await pilot.press("d")
        await until(pilot, closed.is_set)
        assert screen.edits.overlay is not None and screen.edits.overlay.staged


async def test_trouble_is_told_beside_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    def apart(self: AdviceSearcher, stopped: Callable[[], bool]) -> list[object]:
        self.trouble = "the process that looks for what would help ended"
        return []

    monkeypatch.setattr(AdviceSearcher, "found", apart)
    told = list[str]()
    # From the beginning: on a busy machine it has rested before anybody asks.
    monkeypatch.setattr(WhyController, "say", lambda self, spans: told.append("".join(span.text for span in spans)))
    # Whoever searches stands back behind keys: what was found is taken meanwhile.
    monkeypatch.setattr(SessionLoader, "wait_for_keys", lambda self: time.sleep(0.1))
    async with opened(reads().session) as (screen, pilot):
        await until(pilot, lambda: screen.edits.editable())
        screen.owner(WhyController)._rested()
        await until(pilot, lambda: bool(told))
        assert set(told) == {"the process that looks for what would help ended; it was looked for without"}
