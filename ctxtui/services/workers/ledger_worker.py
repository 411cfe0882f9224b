"""The ledger of tools over all sessions, made of what is remembered of each."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ctxtui.services.config.settings import Settings
from ctxtui.services.library.tool_ledger import ToolsLedger, tools_ledger
from ctxtui.services.workers.remembered_sessions import known_so_far
from ctxtui.views.model.session_summary import SessionSummary


class LedgerSoFar(NamedTuple):
    """The ledger of the sessions that were read, and how many were not yet."""

    found: ToolsLedger
    left: int


class LedgerMaker:
    """Makes the ledger as often as it is asked; for a `Worker`."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings, self._cwd = settings, cwd
        self._kept: dict[SessionSummary, SessionSummary] = {}

    def ledger(self) -> LedgerSoFar:
        """The ledger as it is now."""
        known, left = known_so_far(self._settings, self._cwd, self._kept)
        return LedgerSoFar(tools_ledger(known), len(left))
