"""All sessions of the user as far as they are remembered: nothing is read for it but what only the database holds."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.count_cache import Memory
from ctxtui.services.library.library import SessionLibrary
from ctxtui.views.model.session_summary import SAMPLES, SessionSummary

Stored = MutableMapping[tuple[str, float], SessionSummary]
"""What was read of sessions that only the database holds, by id and time of change: kept from one look to the next."""


def known_so_far(settings: Settings, cwd: Path, stored: Stored) -> tuple[list[SessionSummary], int]:
    """The sessions whose figures are remembered, oldest first, samples left out; and how many are not read yet."""
    # Imported here: summaries need every reader.
    from ctxtui.services.workers.summary_worker import from_store, remembered, version_for

    shelf = SessionLibrary(settings, cwd)
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
                found = stored[key] = stored.get(key) or from_store(one, settings, version)
            except CtxtuiError:
                continue  # Home says of it what is wrong
        known += [found] if found is not None else []
        left += found is None
    return sorted(known, key=lambda one: one.mtime), left
