"""Every session of the user, or every recording in a folder, with the figures that Home remembers of it."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

from ctxtui.cli.output import note
from ctxtui.cli.progress import Working
from ctxtui.views.model.session_summary import SAMPLES, SessionSummary

if TYPE_CHECKING:
    from ctxtui.services.config.settings import Settings


CLUSTER_HELP: Final = "Read by the processes of a dask cluster: its scheduler's address, or local."


def known_sessions(settings: Settings, folder: Path | None = None, cluster: str = "") -> list[SessionSummary]:
    """Them, oldest first, samples left out; what is not remembered yet is read now, by the processes of a `cluster` if
    its address is given. Raises what listing `folder`
    raises; what cannot be read has an `error`."""
    from ctxtui.services.library.library import SessionLibrary
    from ctxtui.services.workers.summary_worker import from_store, version_for

    shelf = SessionLibrary(settings, Path.cwd())
    every = shelf.inside(folder) if folder is not None else shelf.stored(shelf.placed())
    found = [one for one in every if one.group != SAMPLES or folder is not None]
    if shelf.trouble:
        note(f"the database was left out: {shelf.trouble}")
    with Working("reading") as work:
        stored = [one for one in found if one.stored and not one.path]
        version = version_for(settings) if stored else ""
        known = [from_store(one, settings, version) for one in stored]
        for one in shelf.figures(found, Event(), cluster):
            known.append(one)
            work.say(f"{len(known)} of {len(found)} sessions")
    return sorted(known, key=lambda one: one.mtime)
