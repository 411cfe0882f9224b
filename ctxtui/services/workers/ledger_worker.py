"""The ledger of tools over all sessions, made in a process of its own of what is remembered of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.count_cache import Memory
from ctxtui.services.library.tool_ledger import ToolsLedger, tools_ledger
from ctxtui.views.model.session_summary import SAMPLES, SessionSummary


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
    """What the child answers with. What only the database holds is read here, once for each state of it."""
    stored: dict[tuple[str, float], SessionSummary] = {}

    def answer(request: tuple[Settings, str]) -> LedgerSoFar:
        from ctxtui.services.library.library import SessionLibrary
        from ctxtui.services.workers.summary_worker import from_store, remembered, version_for

        settings, cwd = request
        shelf = SessionLibrary(settings, Path(cwd))
        memory, version = Memory(database(settings.data_dir), create=False), version_for(settings)
        known: list[SessionSummary] = []
        left = 0
        for one in shelf.stored(shelf.glimpses()):
            if one.group == SAMPLES:
                continue
            if one.path:
                found = remembered(one, memory, version)
            else:
                key = one.stored, one.mtime
                try:
                    found = stored[key] = stored.get(key) or from_store(one, settings)
                except CtxtuiError:
                    continue  # Home says of it what is wrong
            known += [found] if found is not None else []
            left += found is None
        return LedgerSoFar(tools_ledger(sorted(known, key=lambda one: one.mtime)), left)

    return answer
