"""All sessions of the user as far as they are remembered: nothing is read for it but what only the database holds."""

from __future__ import annotations

from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.workers.summary_worker import from_store
from ctxtui.views.model.call_owners import counts
from ctxtui.views.model.session_summary import SessionSummary

KnownSessions = MutableMapping[SessionSummary, SessionSummary]
"""Sessions with their figures, by themselves as they were listed: kept from one look to the next."""


def known_so_far(
    settings: Settings, cwd: Path, kept: KnownSessions
) -> tuple[list[SessionSummary], list[SessionSummary]]:
    """The sessions whose figures are remembered, oldest first, samples left out; and those that are not read yet."""
    shelf = SessionLibrary(settings, cwd)
    every = [one for one in shelf.stored(shelf.glimpses()) if counts(one)]
    known = {one: kept[one] for one in every if one in kept}
    found = shelf.remembered(one for one in every if one not in known)
    known |= {one: found[one.key] for one in every if one.key in found}
    left = []
    for one in every:
        if one in known:
            continue
        if one.path:
            left.append(one)
        else:
            with suppress(CtxtuiError):  # Home says of it what is wrong
                known[one] = _from_store(one, settings)
    kept.clear()
    kept.update(known)
    return sorted(known.values(), key=lambda one: one.mtime), left


def _from_store(one: SessionSummary, settings: Settings) -> SessionSummary:
    return from_store(one, settings)
