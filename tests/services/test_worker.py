"""An object in a process of its own."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.services.child_process import ChildGone
from ctxtui.services.worker import Worker, WorkerClosed, end_when_closed


class Adder:
    """Adds up what it is given."""

    def __init__(self, first: int) -> None:
        if first < 0:
            raise NotFound("nothing below zero", place="first", way_out="begin at zero")
        self.sum = first

    def add(self, number: int, times: int = 1) -> int:
        """The sum, with `number` so many times more."""
        self.sum += number * times
        return self.sum

    def count(self, most: int) -> Iterator[int]:
        """Numbers up to `most`."""
        yield from range(most)

    def pid(self) -> int:
        """Where it is."""
        return os.getpid()

    def rest(self, file: Path) -> None:
        """Write `file`, then do nothing for a minute."""
        file.touch()
        time.sleep(60)


@pytest.fixture
def worker() -> Iterator[Worker[Adder]]:
    made = Worker(Adder, 3)
    yield made
    made.close()


def test_an_object_lives_from_call_to_call_and_is_made_anew_where_it_was_stopped(worker: Worker[Adder]) -> None:
    assert worker.call(Adder.add, 4) == 7 and worker.call(Adder.add, 1, times=3) == 10
    assert worker.call(Adder.pid) != os.getpid()
    worker.stop()
    assert worker.call(Adder.add, 0) == 3
    worker.close()
    assert worker.attempt(Adder.add, 0) is None
    with pytest.raises(ChildGone):
        worker.call(Adder.add, 0)


def test_steps_come_one_by_one_and_end_where_others_begin(worker: Worker[Adder]) -> None:
    assert list(worker.steps(Adder.count, 3)) == [0, 1, 2] and list(worker.steps(Adder.count, 0)) == []
    first = worker.steps(Adder.count, 9)
    assert next(first) == 0 and worker.call(Adder.add, 1) == 4 and next(first) == 1
    assert list(worker.steps(Adder.count, 2)) == [0, 1]
    assert list(first) == []
    last = worker.steps(Adder.count, 9)
    assert next(last) == 0
    worker.close()
    assert list(last) == []


def test_errors_are_raised_here_with_place_and_way_out() -> None:
    worker = Worker(Adder, -1)
    try:
        with pytest.raises(CtxtuiError, match="nothing below zero") as told:
            worker.call(Adder.add, 1)
        assert (told.value.place, told.value.way_out) == ("first", "begin at zero")
    finally:
        worker.close()


def test_where_the_process_dies_work_goes_on_here(worker: Worker[Adder]) -> None:
    os.kill(worker.call_or_run_here(Adder.pid), signal.SIGKILL)
    assert worker.call_or_run_here(Adder.pid) == os.getpid() and worker.call_or_run_here(Adder.add, 2) == 5
    worker.close()
    with pytest.raises(WorkerClosed):
        worker.call_or_run_here(Adder.add, 2)


def test_work_in_hand_ends_when_its_worker_is_closed(worker: Worker[Adder], tmp_path: Path) -> None:
    ended: list[str] = []

    def job() -> None:
        try:
            worker.call_or_run_here(Adder.rest, tmp_path / "begun")
        except WorkerClosed:
            ended.append("closed")
            raise

    thread = threading.Thread(target=end_when_closed(job))
    thread.start()
    while not (tmp_path / "begun").exists():
        time.sleep(0.01)
    worker.close()
    thread.join(20)
    assert ended == ["closed"] and not thread.is_alive()
    with pytest.raises(WorkerClosed):
        worker.call_or_run_here(Adder.add, 1)


def test_steps_of_a_process_that_dies_say_so(worker: Worker[Adder]) -> None:
    steps = worker.steps(Adder.count, 9)
    assert next(steps) == 0
    os.kill(worker.child.pid, signal.SIGKILL)
    with pytest.raises(ChildGone):
        list(steps)
