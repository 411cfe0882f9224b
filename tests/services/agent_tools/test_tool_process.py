"""Tools in a process of their own: ended by whoever interrupts, by a deadline, never begun when it is too late."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.tool import PlannedWrite
from ctxtui.services import child_process
from ctxtui.services.agent_tools.tool_process import ToolProcess
from ctxtui.services.child_process import ChildGone
from ctxtui.services.worker import Worker

SLOW = ToolCall("slow", "grep", {"pattern": "(a|aa)+$"})
"""Ten seconds of work: what its patience is."""


@asynccontextmanager
async def tools(root: Path, deadline: float = 60.0, **known: str) -> AsyncIterator[ToolProcess]:
    made = ToolProcess(root, lambda: known, deadline=deadline)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("a" * 90 + "b\n")
    return tmp_path / "work"


def child_of(made: ToolProcess) -> int:
    process = made._worker.child._process
    assert process is not None
    return process.pid


async def test_calls_are_done_one_after_the_other_in_another_process(root: Path) -> None:
    async with tools(root, NOTE="kept") as made:
        assert made.needs_permission("write_file") and not made.needs_permission("grep")
        call = ToolCall("w", "write_file", {"path": "b.txt", "content": "{{REF:NOTE}}"})
        planned = await made.plan(call)
        assert isinstance(planned, PlannedWrite) and planned.after == b"kept", "as it will be, not as it was spelled"
        wrote, found = await asyncio.gather(
            made.run(call, planned), made.run(ToolCall("r", "read_file", {"path": "b.txt"}))
        )
        assert found == ToolResult("r", "1\tkept") and not wrote.is_error
        assert child_of(made) != os.getpid()
        assert (await made.run(ToolCall("c", "recall", {"name": "NOTE"}))).text == "kept"
        assert (await made.run(ToolCall("x", "rm", {}))).is_error


async def test_nothing_of_the_folder_is_run_by_its_tools(
    root: Path, monkeypatch: pytest.MonkeyPatch, cold_children: None
) -> None:
    """Files called as modules are: what a child imports comes from elsewhere."""
    (root / "ctxtui").mkdir()
    for name in ("json.py", "regex.py", "ctxtui/__init__.py", "sitecustomize.py", "pickle.py"):
        (root / name).write_text(f"open({str(root / 'pwned')!r}, 'w')\n")
    monkeypatch.chdir(root)
    async with tools(root) as made:
        assert "a.txt" in (await made.run(ToolCall("g", "grep", {"pattern": "aaa"}))).text
        assert not (root / "pwned").exists()


async def test_a_deadline_ends_a_tool_and_the_next_one_works(root: Path) -> None:
    async with tools(root, deadline=7.0) as made:
        done = await made.run(SLOW)
        assert done.is_error and "stopped after 7 seconds" in done.text, "before its patience ends"
        assert (await made.run(ToolCall("l", "list_dir", {}))).text == "a.txt"


async def test_whoever_is_cancelled_ends_the_tool_and_nothing_behind_it_begins(root: Path) -> None:
    async with tools(root) as made:
        await made.run(ToolCall("l", "list_dir", {}))
        child = child_of(made)
        write = ToolCall("w", "write_file", {"path": "new.txt", "content": "x"})
        tasks = [asyncio.create_task(made.run(SLOW)), asyncio.create_task(made.run(write))]
        await asyncio.sleep(0.3)
        began = time.monotonic()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert time.monotonic() - began < 5
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
        await asyncio.sleep(0.3)
        assert not (root / "new.txt").exists()
        assert (await made.run(ToolCall("l", "list_dir", {}))).text == "a.txt"


async def test_a_tool_that_was_cancelled_on_its_way_is_not_done(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child is still being started when the turn is interrupted."""
    begun, go_on, start = threading.Event(), threading.Event(), child_process._start

    def start_late(maker: str) -> subprocess.Popen[bytes]:
        begun.set()
        assert go_on.wait(60)
        return start(maker)

    monkeypatch.setattr(child_process, "_start", start_late)
    async with tools(root) as made:
        task = asyncio.create_task(made.run(ToolCall("w", "write_file", {"path": "new.txt", "content": "x"})))
        assert await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        asyncio.get_running_loop().call_later(0.1, go_on.set)
        await asyncio.gather(task, return_exceptions=True)
        async with asyncio.timeout(60):
            while not go_on.is_set() or made._worker.child._lock.locked():
                await asyncio.sleep(0.01)
        assert not (root / "new.txt").exists() and made._worker.child._process is None


def test_a_request_that_a_close_came_before_is_not_asked() -> None:
    worker = Worker(str)
    asking = worker.prepare(str.upper)
    worker.stop()
    with pytest.raises(ChildGone):
        asking()
    assert worker.child._process is None and worker.call(str.upper) == ""
    worker.close()
    with pytest.raises(ChildGone):
        worker.call(str.upper)


async def test_a_tool_that_dies_is_told_to_the_model(root: Path) -> None:
    async with tools(root) as made:
        await made.run(ToolCall("l", "list_dir", {}))
        threading.Timer(0.5, os.kill, (child_of(made), 9)).start()
        done = await made.run(SLOW)
        assert done.is_error and "the tool failed" in done.text
