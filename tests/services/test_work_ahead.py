"""Work begun in a copy of this process: what it gives, and what is told where it gives nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxtui.services.config.settings import Settings
from ctxtui.services.session_source import SessionSource
from ctxtui.services.work_ahead import CopyGone, WorkAhead
from tests.cases.claude_code import generate

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot copy a process"),
    # pytest's workers have threads, which the program has not where it begins.
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]


def test_what_a_copy_worked_out_is_taken_once() -> None:
    here = os.getpid()
    ahead = WorkAhead(lambda: (os.getpid() != here, "x" * 1_000_000))
    assert ahead.take() == (True, "x" * 1_000_000)
    with pytest.raises(CopyGone):
        ahead.take()
    ahead.close()


def _fails() -> str:
    raise ValueError("no")


@pytest.mark.parametrize("work", [_fails, lambda: sys.exit(3), lambda: lambda: None])
def test_a_copy_that_gives_nothing_says_so(work: Callable[[], object]) -> None:
    ahead = WorkAhead(work)
    with pytest.raises(CopyGone):
        ahead.take()


def test_who_waits_for_a_copy_that_is_ended_waits_no_more() -> None:
    ahead = WorkAhead(lambda: threading.Event().wait(600))
    heard: list[str] = []

    def wait() -> None:
        try:
            ahead.take()
        except CopyGone as error:
            heard.append(str(error))

    waiting = threading.Thread(target=wait)
    waiting.start()
    ahead.close()
    waiting.join(60)
    assert heard and not waiting.is_alive()
    unasked = WorkAhead(lambda: threading.Event().wait(600))
    unasked.close()
    with pytest.raises(CopyGone):
        unasked.take()


@pytest.mark.parametrize("size", [10, 600_000])
def test_an_answer_is_there_once_the_copy_has_ended(size: int) -> None:
    may, go = os.pipe()

    def work() -> str:
        os.read(may, 1)
        return "x" * size

    ahead = WorkAhead(work)
    assert not ahead.there()
    os.write(go, b"!")
    if size < 1 << 16 or sys.platform == "linux":
        _wait(ahead.there)
    assert ahead.take() == "x" * size
    assert not ahead.there()
    os.close(may)
    os.close(go)


@pytest.mark.parametrize("work", [_fails, lambda: threading.Event().wait(600)])
def test_no_answer_is_there_of_a_copy_that_failed_or_was_ended(work: Callable[[], object]) -> None:
    ahead = WorkAhead(work)
    if work is not _fails:
        ahead.close()
    _wait(lambda: not ahead.there() and not ahead._pid)
    if work is _fails:
        with pytest.raises(CopyGone):
            ahead.take()
        ahead.close()


def _wait(there: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not there():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_no_copy_is_made_beside_other_threads() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    assert not WorkAhead.possible()
    done.set()
    thread.join()


BEGUN = """
import os, sys
from ctxtui.services.config.settings import Settings
from ctxtui.services.session_source import SessionSource
source = SessionSource(sys.argv[1], Settings(data_dir=os.devnull))
source.begin()
begun = source._ahead is not None
end = source.glimpse()
reading = ("ctxtui.transcripts", "ctxtui.tokens", "ctxtui.analysis.book")
read = [name for name in sys.modules if name.startswith(reading)]
print(begun, end is not None and len(end.session.tree), read if begun else "")
"""


@pytest.mark.parametrize("messages", [1_200, 3])
def test_the_end_of_a_long_recording_is_read_by_a_copy(messages: int, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(generate(n_messages=messages, bytes_per_message=3_000))
    command = [sys.executable, "-c", BEGUN, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    here = SessionSource(str(path), Settings(data_dir=os.devnull)).glimpse()
    copied = messages > 3 and (os.cpu_count() or 1) > 1
    length = here is not None and len(here.session.tree)
    assert done.stdout.strip() == f"{copied} {length} {[] if copied else ''}".strip()
