"""Stats over all sessions, made in a process of its own of what is remembered of each."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ctxtui.analysis.money.usage_stats import Stats
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.stats import stats_of
from ctxtui.services.workers.remembered_sessions import known_so_far
from ctxtui.views.model.session_summary import SessionSummary


class StatsSoFar(NamedTuple):
    """The stats of the sessions that were read, and how many were not yet."""

    found: Stats
    left: int


class StatsWorker:
    """Makes stats as often as it is asked; `close` ends it at once."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._asked = settings, str(cwd)
        self._child = ChildProcess("ctxtui.services.workers.stats_worker:make")

    def ask(self, by: str) -> StatsSoFar | None:
        """The stats as they are now, with rows by one of `stats.WAYS`; for a worker thread. None where it was closed
        meanwhile."""
        try:
            found: StatsSoFar = self._child.ask((*self._asked, by), closed=0)
        except ChildGone:
            return None
        return found

    def close(self) -> None:
        """No more."""
        self._child.close()


def make() -> Callable[[tuple[Settings, str, str]], StatsSoFar]:
    """What the child answers with."""
    kept: dict[SessionSummary, SessionSummary] = {}

    def answer(request: tuple[Settings, str, str]) -> StatsSoFar:
        settings, cwd, by = request
        known, left = known_so_far(settings, Path(cwd), kept)
        return StatsSoFar(stats_of(known, time.time(), by=by), left)

    return answer
