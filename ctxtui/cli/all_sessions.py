"""All sessions of the user, or all recordings in a folder, with the figures cached for Home."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from threading import Event
from typing import Final

import click

from ctxtui.cli.output import note_skipped_database
from ctxtui.cli.progress import Working
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.totals.summary_cache import read_usages, reread_reason
from ctxtui.services.process_pool import processor_count
from ctxtui.views.model.call_owners import is_own_session
from ctxtui.views.model.session_summary import SessionSummary

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_AGE: Final = re.compile(rf"(\d+(?:\.\d+)?)([{''.join(_UNITS)}])\Z")
NO_CALLS: Final = (
    "No call was found. ctxtui counts the recordings of agents on this machine (see ctxtui sessions; samples do not "
    "count), calls of ctxtui chat and ctxtui exec, and files imported with ctxtui import FILE."
)
_DAY: Final = 86_400
"""Seconds before `since` that are read as well, in case clocks differ."""


class Age(click.ParamType[float]):
    """A time span such as 30d, in seconds."""

    name = "age"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        parts = _AGE.match(str(value).strip().lower())
        if parts is None:
            self.fail(f"{value!r} is not an age: use a number with {', '.join(_UNITS)}, such as 30d", param, ctx)
        return float(parts[1]) * _UNITS[parts[2]]


def known_sessions(
    settings: Settings, folder: Path | None = None, cluster: str = "", since: float = 0.0
) -> list[SessionSummary]:
    """The user's sessions, or those in `folder`, oldest first; see `AllSessions`."""
    sessions = AllSessions(settings, folder, cluster, since)
    for _ in sessions.read():
        pass
    return sessions.summaries


class AllSessions:
    """The user's sessions without the samples, or the recordings in a folder.

    Sessions with cached figures are listed at any age; other files last written more than a day before `since` (Unix
    seconds) are not read. `cluster`: address of a dask cluster that reads them, "" for none.
    """

    def __init__(self, settings: Settings, folder: Path | None = None, cluster: str = "", since: float = 0.0) -> None:
        self._settings, self._cluster = settings, cluster
        self._library = SessionLibrary(settings, Path.cwd())
        listed = self._library.in_folder(folder) if folder is not None else self._library.all_sessions()
        note_skipped_database(self._library.trouble)
        own_sessions = [summary for summary in listed if is_own_session(summary) or folder is not None]
        self._known = self._library.load_cached(own_sessions)
        self._summaries = [
            summary for summary in own_sessions if summary.key in self._known or summary.mtime >= since - _DAY
        ]

    @property
    def summaries(self) -> list[SessionSummary]:
        """Sessions with figures so far, oldest first."""
        return sorted(self._known.values(), key=lambda summary: summary.mtime)

    @property
    def unread_count(self) -> int:
        return len(self._not_fully_read())

    def read_usage(self) -> None:
        self._known |= self._library.load_cached(self._without_figures(), usage=True)
        unread = self._without_figures()
        if unread:
            with Working(f"reading what calls used{self._reread_note(unread)}") as work:
                stored = self._library.figures([summary for summary in unread if not summary.path], Event())
                for summary in chain(stored, read_usages(unread, self._settings)):
                    self._known[summary.key] = summary
                    work.show(f"{len(self._known):,} of {len(self._summaries):,} sessions")

    def read(self) -> Iterator[SessionSummary]:
        """Read each session in full that is not yet."""
        unread = self._not_fully_read()
        if not unread:
            return
        done = len(self._summaries) - len(unread)
        files = self._library.figures(unread, Event(), self._cluster, workers=processor_count())
        with Working(f"reading{self._reread_note(unread)}") as work:
            for summary in files:
                self._known[summary.key] = summary
                done += 1
                work.show(f"{done:,} of {len(self._summaries):,} sessions")
                yield summary

    def _reread_note(self, unread: list[SessionSummary]) -> str:
        return f" {reason}" if (reason := reread_reason(unread, self._settings)) else ""

    def _without_figures(self) -> list[SessionSummary]:
        return [summary for summary in self._summaries if summary.key not in self._known]

    def _not_fully_read(self) -> list[SessionSummary]:
        return [s for s in self._summaries if s.key not in self._known or self._known[s.key].usage_only]
