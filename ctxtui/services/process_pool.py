"""The work of child processes on all processors of this machine: several children, each with one request at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, Final

from ctxtui.services.child_process import ChildGone, ChildProcess

Gone = Callable[[Any, ChildGone], Any]
"""The answer to a request whose process ended."""
_MOST: Final = 8
"""Processes at most: each holds a whole session in memory."""
_OFTEN: Final = 0.2
"""Seconds between looks whether to stop."""


def processors() -> int:
    """How many processes can work at once here, as far as memory is not short."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(_MOST, there))


def answers_here(
    maker: str,
    requests: Iterable[Any],
    gone: Gone,
    workers: int,
    *,
    stop: Event | None = None,
    children: list[ChildProcess] | None = None,
) -> Iterator[Any]:
    """The answer of what `maker` makes to each of `requests`, as they come, from at most so many processes; what is
    wanted next is taken as one is free. `gone` answers where a process died at its work.

    The processes are put into `children`: closing them ends the work at once. Ends early when `stop` is set.
    """
    wanted = iter(requests)
    every = [ChildProcess(maker) for _ in range(workers)]
    if children is not None:
        children += every
    with ThreadPoolExecutor(workers, "figures") as pool:
        idle, running = list(every), dict[Future[Any], ChildProcess]()
        try:
            while stop is None or not stop.is_set():
                while idle and (one := next(wanted, _END)) is not _END:
                    child = idle.pop()
                    running[pool.submit(_answer, child, one, gone)] = child
                if not running:
                    return
                done, _ = wait(running, timeout=_OFTEN, return_when=FIRST_COMPLETED)
                for future in done:
                    idle.append(running.pop(future))
                    yield future.result()
        finally:
            for child in every:
                child.close()


_END: Final = object()


def _answer(child: ChildProcess, request: Any, gone: Gone) -> Any:
    try:
        return child.ask(request)
    except ChildGone as error:
        return gone(request, error)
