"""Reading many sessions side by side, each process with one of them at a time."""

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
"""Processes that read while a screen is shown; one processor is left to it."""

_MAKER: Final = "ctxtui.services.workers.summary_worker:make"
_Asked = tuple[SessionSummary, Settings]


def figured(
    wanted: Iterator[SessionSummary],
    settings: Settings,
    stop: Event,
    children: list[ChildProcess],
    workers: int = BESIDE_A_SCREEN,
    cluster: str = "",
) -> Iterator[SessionSummary]:
    """Each of `wanted` with its figures, as they come; what is wanted next is asked for as a process is free. The
    workers of a `cluster` read the same paths as this machine, and remember counts and figures where they run.

    The processes are put into `children`: closing them ends the work at once. Ends early when `stop` is set.
    """
    asked = ((one, settings) for one in wanted)
    yield from iter_answers(_MAKER, asked, _ended, workers, cluster=cluster, stop=stop, children=children)


def _ended(asked: _Asked, error: ChildGone) -> SessionSummary:
    return replace(asked[0], known=True, error="reading it ended the process that did")
