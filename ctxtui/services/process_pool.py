"""Process many requests in child processes: on this machine, or on a dask cluster.

Both ways use an executor that runs `ask_child`. Each thread of it has a child process of its own, because search
timeouts need a main thread, and a crash ends the process in which it happens.
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
_MAX_PROCESSES: Final = 8
"""Maximum number of processes: each holds a whole session in memory."""
_STOP_POLL_SECONDS: Final = 0.2


def processor_count() -> int:
    """The number of processes that can work at once here, capped to limit memory."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(_MAX_PROCESSES, count))


def iter_answers(
    maker: str,
    requests: Iterable[Any],
    gone: Gone,
    workers: int,
    *,
    cluster: str = "",
    stop: Event | None = None,
    children: list[ChildProcess] | None = None,
) -> Iterator[Any]:
    """Yield the answers to `requests` as they arrive.

    `workers` child processes make them, or the dask `cluster` at that address.

    - `maker`: a function (``module:function``) that makes the function that answers.
    - `gone`: makes the answer if a process died.
    - `stop`: ends it early when set.
    - `children`: gets the processes of this machine; closing one aborts its request, which `gone` answers.

    A request is taken from the iterable when a worker is free. Raises what `cluster_executor` raises.
    """
    if not cluster:
        with _child_executor(maker, workers, children) as executor:
            yield from _submit_requests(executor, workers, maker, iter(requests), gone, stop)
        return
    with cluster_executor(cluster) as (executor, count):
        yield from _submit_requests(executor, count, maker, iter(requests), gone, stop)


def _submit_requests(
    executor: Executor, at_once: int, maker: str, requests: Iterator[Any], gone: Gone, stop: Event | None
) -> Iterator[Any]:
    running: dict[Future[Any], Any] = {}
    while stop is None or not stop.is_set():
        for request in islice(requests, at_once - len(running)):
            running[executor.submit(ask_child, maker, request, __version__)] = request
        if not running:
            return
        done, _ = wait(running, timeout=_STOP_POLL_SECONDS, return_when=FIRST_COMPLETED)
        for future in done:
            request = running.pop(future)
            try:
                yield future.result()
            except ChildGone as error:
                yield gone(request, error)


@contextmanager
def _child_executor(maker: str, workers: int, children: list[ChildProcess] | None) -> Iterator[Executor]:
    processes = [ChildProcess(maker) for _ in range(workers)]
    if children is not None:
        children += processes
    spare = list(processes)
    with ThreadPoolExecutor(
        workers, "figures", initializer=lambda: _children.by_maker.update({maker: spare.pop()})
    ) as pool:
        try:
            yield pool
        finally:
            for child in processes:
                child.close()


class _ThreadChildren(threading.local):
    """The child processes of a thread, by maker."""

    def __init__(self) -> None:
        self.by_maker: dict[str, ChildProcess] = {}


_children = _ThreadChildren()


def ask_child(maker: str, request: Any, version: str) -> Any:
    """Ask this thread's child process. Raises `ChildGone`.

    Raises `CtxtuiError` if the caller has another `version` of ctxtui: figures of two versions must not be added up.
    """
    if version != __version__:
        raise CtxtuiError(
            f"a worker ({socket.gethostname()}) has ctxtui {__version__}, and here it is {version}",
            way_out="install the same version on both",
        )
    if maker not in _children.by_maker:
        _children.by_maker[maker] = ChildProcess(maker)
    return _children.by_maker[maker].ask(request)
