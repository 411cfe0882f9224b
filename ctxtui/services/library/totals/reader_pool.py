"""Compute the figures of many sessions in parallel, one session at a time in each process."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Final

from msgspec.structs import replace

from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.config.settings import Settings
from ctxtui.services.process_pool import iter_answers, processor_count
from ctxtui.views.model.session_summary import SessionSummary

BESIDE_A_SCREEN: Final = max(1, min(3, processor_count() - 1))
"""Number of reading processes beside a screen, which keeps one processor."""

_MAKER: Final = "ctxtui.services.workers.summary_worker:make"
_Request = tuple[SessionSummary, Settings]


def compute_figures(
    summaries: Iterator[SessionSummary],
    settings: Settings,
    stop: Event,
    children: list[ChildProcess],
    workers: int = BESIDE_A_SCREEN,
    cluster: str = "",
) -> Iterator[SessionSummary]:
    """Yield each of `summaries` with its figures as they are computed.

    The next one is taken when a process is free.

    - `workers`: number of processes of this machine.
    - `cluster`: address of a dask cluster that reads instead ("": none). Its workers read the same paths as this
      machine, and cache counts and figures where they run.
    - `children`: gets the processes of this machine; closing them ends the work at once.
    - `stop`: ends it early when set.
    """
    requests = ((summary, settings) for summary in summaries)
    yield from iter_answers(_MAKER, requests, _failed_summary, workers, cluster=cluster, stop=stop, children=children)


def _failed_summary(request: _Request, error: ChildGone) -> SessionSummary:
    return replace(request[0], known=True, error="its reader process ended")
