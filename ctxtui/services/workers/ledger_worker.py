"""The ledger of tools over all sessions, made in a process of its own of what is remembered of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.tool_ledger import ToolsLedger, tools_ledger
from ctxtui.services.workers.remembered_sessions import known_so_far
from ctxtui.views.model.session_summary import SessionSummary


class LedgerSoFar(NamedTuple):
    """The ledger of the sessions that were read, and how many were not yet."""

    found: ToolsLedger
    left: int


class LedgerWorker:
    """Makes the ledger as often as it is asked; `close` ends it at once."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._asked = settings, str(cwd)
        self._child = ChildProcess("ctxtui.services.workers.ledger_worker:make")

    def ask(self) -> LedgerSoFar | None:
        """The ledger as it is now; for a worker thread. None where it was closed meanwhile."""
        try:
            found: LedgerSoFar = self._child.ask(self._asked, closed=0)
        except ChildGone:
            return None
        return found

    def close(self) -> None:
        """No more."""
        self._child.close()


def make() -> Callable[[tuple[Settings, str]], LedgerSoFar]:
    """What the child answers with."""
    kept: dict[SessionSummary, SessionSummary] = {}

    def answer(request: tuple[Settings, str]) -> LedgerSoFar:
        settings, cwd = request
        known, left = known_so_far(settings, Path(cwd), kept)
        return LedgerSoFar(tools_ledger(known), len(left))

    return answer
