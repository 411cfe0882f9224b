"""The work of child processes on many requests: by this machine's processors, or by the workers of a dask cluster.

Both are executors that run `ask_child`: each of their threads has a child process of its own, because what stops a
search in time takes a main thread, and a crash ends the process that it is in.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from threading import Event
from typing import Any, Final

from ctxtui import __version__
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.cluster import cluster_executor

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


def answers(
    maker: str,
    requests: Iterable[Any],
    gone: Gone,
    workers: int,
    *,
    cluster: str = "",
    stop: Event | None = None,
    children: list[ChildProcess] | None = None,
) -> Iterator[Any]:
    """The answer of what `maker` (``module:function``) makes to each of `requests`, as they come: from so many
    processes of this machine, or from the workers of the `cluster` at that address. The next request is taken when a
    worker is free. `gone` answers where a process died at its work. Raises what `cluster_executor` raises.

    The processes of this machine are put into `children`: closing them ends the work at once. Ends early when `stop`
    is set.
    """
    if not cluster:
        with _child_executor(maker, workers, children) as executor:
            yield from _answered(executor, workers, maker, iter(requests), gone, stop)
        return
    with cluster_executor(cluster) as (executor, count):
        yield from _answered(executor, count, maker, iter(requests), gone, stop)


def _answered(
    executor: Executor, at_once: int, maker: str, requests: Iterator[Any], gone: Gone, stop: Event | None
) -> Iterator[Any]:
    running: dict[Future[Any], Any] = {}
    while stop is None or not stop.is_set():
        for request in islice(requests, at_once - len(running)):
            running[executor.submit(ask_child, maker, request, __version__)] = request
        if not running:
            return
        done, _ = wait(running, timeout=_OFTEN, return_when=FIRST_COMPLETED)
        for future in done:
            request = running.pop(future)
            try:
                yield future.result()
            except ChildGone as error:
                yield gone(request, error)


@contextmanager
def _child_executor(maker: str, workers: int, children: list[ChildProcess] | None) -> Iterator[Executor]:
    every = [ChildProcess(maker) for _ in range(workers)]
    if children is not None:
        children += every
    spare = list(every)
    with ThreadPoolExecutor(workers, "figures", initializer=lambda: _own.by_maker.update({maker: spare.pop()})) as pool:
        try:
            yield pool
        finally:
            for child in every:
                child.close()


class _Own(threading.local):
    """The child processes of a thread, by maker."""

    def __init__(self) -> None:
        self.by_maker: dict[str, ChildProcess] = {}


_own = _Own()


def ask_child(maker: str, request: Any, version: str) -> Any:
    """The answer to `request` from this thread's child process. Raises `ChildGone`, and `CtxtuiError` where the asking
    process has another `version` of this program: figures of two versions are not added up."""
    if version != __version__:
        raise CtxtuiError(
            f"a worker ({socket.gethostname()}) has ctxtui {__version__}, and here it is {version}",
            way_out="install the same version on both",
        )
    if maker not in _own.by_maker:
        _own.by_maker[maker] = ChildProcess(maker)
    return _own.by_maker[maker].ask(request)
