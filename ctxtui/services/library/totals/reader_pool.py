"""Reading many sessions side by side, each process with one of them at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Final

from ctxtui.dataclasses import replace
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.cluster import answers
from ctxtui.services.config.settings import Settings
from ctxtui.views.model.session_summary import SessionSummary

WORKERS = max(1, min(3, (os.cpu_count() or 2) - 1))
"""Processes that read; one processor is left to the screen."""

_MAKER: Final = "ctxtui.services.workers.summary_worker:make"


def figured(
    wanted: Iterator[SessionSummary], settings: Settings, stop: Event, children: list[ChildProcess]
) -> Iterator[SessionSummary]:
    """Each of `wanted` with its figures, as they come; what is wanted next is asked for as a process is free.

    The processes are put into `children`: closing them ends the work at once. Ends early when `stop` is set.
    """
    with ThreadPoolExecutor(WORKERS, "figures") as pool:
        idle = [ChildProcess(_MAKER) for _ in range(WORKERS)]
        children += idle
        running: dict[Future[SessionSummary], ChildProcess] = {}
        try:
            while not stop.is_set():
                while idle and (one := next(wanted, None)) is not None:
                    child = idle.pop()
                    running[pool.submit(_figures, child, one, settings)] = child
                if not running:
                    return
                done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    idle.append(running.pop(future))
                    yield future.result()
        finally:
            for child in children:
                child.close()


def figured_by(cluster: str, wanted: Iterator[SessionSummary], settings: Settings) -> Iterator[SessionSummary]:
    """As `figured`, by the processes of the cluster at that address. They read the same paths as this machine, and
    remember counts and figures where they run."""
    yield from answers(_MAKER, ((one, settings) for one in wanted), cluster, lambda asked, _: _ended(asked[0]))


def _figures(child: ChildProcess, seen: SessionSummary, settings: Settings) -> SessionSummary:
    try:
        answer: SessionSummary = child.ask((seen, settings))
    except ChildGone:
        return _ended(seen)
    return answer


def _ended(seen: SessionSummary) -> SessionSummary:
    return replace(seen, known=True, error="reading it ended the process that did")
