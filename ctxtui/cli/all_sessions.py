"""Every session of the user, or every recording in a folder, with the figures that Home remembers of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from threading import Event
from typing import Final

import click

from ctxtui.cli.output import note
from ctxtui.cli.progress import Working
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.totals.summary_memory import read_usages, reread_reason
from ctxtui.services.process_pool import processor_count
from ctxtui.views.model.call_owners import counts
from ctxtui.views.model.session_summary import SessionSummary

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_AGE: Final = re.compile(rf"(\d+(?:\.\d+)?)([{''.join(_UNITS)}])\Z")


_DAY: Final = 86_400
"""Seconds by which clocks may differ."""


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


def known_sessions(
    settings: Settings, folder: Path | None = None, cluster: str = "", since: float = 0.0
) -> list[SessionSummary]:
    """Them, oldest first, samples left out; what is not remembered yet is read now. Raises what listing `folder`
    raises; what cannot be read has an `error`. For `since` see `AllSessions`."""
    sessions = AllSessions(settings, folder, cluster, since)
    for _ in sessions.read():
        pass
    return sessions.known


class AllSessions:
    """The sessions of the user, or the recordings in a folder: what is remembered of them at once, the rest as it is
    read. Of those whose file was last written to before `since` (Unix seconds) no call is wanted: they are not read.
    Raises what listing the folder raises."""

    def __init__(self, settings: Settings, folder: Path | None = None, cluster: str = "", since: float = 0.0) -> None:
        self._settings, self._cluster = settings, cluster
        self._shelf = SessionLibrary(settings, Path.cwd())
        listed = self._shelf.in_folder(folder) if folder is not None else self._shelf.all_sessions()
        if self._shelf.trouble:
            note(f"the database was left out: {self._shelf.trouble}")
        every = [one for one in listed if counts(one) or folder is not None]
        self._known = self._shelf.remembered(every)
        self._every = [one for one in every if one.key in self._known or one.mtime >= since - _DAY]

    @property
    def known(self) -> list[SessionSummary]:
        """Those of which something is known by now, oldest first."""
        return sorted(self._known.values(), key=lambda one: one.mtime)

    @property
    def left(self) -> int:
        """How many are still to be read whole."""
        return sum(one.key not in self._known or self._known[one.key].usage_only for one in self._every)

    def read_usage(self) -> None:
        """Read what the calls of all others used, and nothing else of them."""
        self._known |= self._shelf.remembered(self._unread(), usage=True)
        unread = self._unread()
        if unread:
            with Working(f"reading what calls used{self._anew(unread)}") as work:
                stored = self._shelf.figures([one for one in unread if not one.path], Event())
                for one in chain(stored, read_usages(unread, self._settings)):
                    self._known[one.key] = one
                    work.say(f"{len(self._known):,} of {len(self._every):,} sessions")

    def read(self) -> Iterator[SessionSummary]:
        """Read all others whole, and give each as it was read."""
        unread = [one for one in self._every if one.key not in self._known or self._known[one.key].usage_only]
        if not unread:
            return

        done = len(self._every) - len(unread)
        files = self._shelf.figures(unread, Event(), self._cluster, workers=processor_count())
        with Working(f"reading{self._anew(unread)}") as work:
            for one in files:
                self._known[one.key] = one
                done += 1
                work.say(f"{done:,} of {len(self._every):,} sessions")
                yield one

    def _anew(self, unread: list[SessionSummary]) -> str:
        """What the line of progress adds where sessions are read again that did not change."""
        return f" {why}" if (why := reread_reason(unread, self._settings)) else ""

    def _unread(self) -> list[SessionSummary]:
        return [one for one in self._every if one.key not in self._known]
