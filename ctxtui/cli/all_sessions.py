"""Every session of the user, or every recording in a folder, with the figures that Home remembers of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

import click

from ctxtui.cli.output import note
from ctxtui.cli.progress import Working
from ctxtui.views.model.session_summary import SAMPLES, SessionSummary

if TYPE_CHECKING:
    from ctxtui.services.config.settings import Settings


CLUSTER_HELP: Final = "Read by the processes of a dask cluster: its scheduler's address, or local."
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_AGE: Final = re.compile(rf"(\d+(?:\.\d+)?)([{''.join(_UNITS)}])\Z")


class Age(click.ParamType[float]):
    """A span of time such as 30d, in seconds."""

    name = "age"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds of a text such as ``30d``."""
        if isinstance(value, float):
            return value
        parts = _AGE.match(str(value).strip().lower())
        if parts is None:
            self.fail(f"{value!r} is no age: a number with {', '.join(_UNITS)}, such as 30d", param, ctx)
        return float(parts[1]) * _UNITS[parts[2]]


def known_sessions(settings: Settings, folder: Path | None = None, cluster: str = "") -> list[SessionSummary]:
    """Them, oldest first, samples left out; what is not remembered yet is read now, by the processes of a `cluster` if
    its address is given. Raises what listing `folder`
    raises; what cannot be read has an `error`."""
    from ctxtui.services.library.library import SessionLibrary

    shelf = SessionLibrary(settings, Path.cwd())
    every = shelf.inside(folder) if folder is not None else shelf.stored(shelf.placed())
    found = [one for one in every if one.group != SAMPLES or folder is not None]
    if shelf.trouble:
        note(f"the database was left out: {shelf.trouble}")
    known = shelf.remembered(found)
    unread = [one for one in found if one.key not in known]
    if unread:
        with Working("reading") as work:
            for one in chain(_stored(unread, settings), shelf.figures(unread, Event(), cluster)):
                known[one.key] = one
                work.say(f"{len(known)} of {len(found)} sessions")
    return sorted(known.values(), key=lambda one: one.mtime)


def _stored(unread: list[SessionSummary], settings: Settings) -> Iterator[SessionSummary]:
    """Those that only the database holds, worked out one after the other."""
    own = [one for one in unread if one.stored and not one.path]
    if own:
        # Imported here: it needs every reader.
        from ctxtui.services.workers.summary_worker import from_store

        yield from (from_store(one, settings) for one in own)
