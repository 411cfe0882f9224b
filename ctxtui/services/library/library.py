"""Home's list: sessions by name at once, stored ones, and figures from other processes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.config.paths import database
from ctxtui.services.config.projects import related_directories
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.discover import (
    FoundRecording,
    find_recordings,
    is_inside,
    match_transcripts,
    read_directories,
    recording_at,
    watched_paths,
)
from ctxtui.services.recordings.file_tail import modification_time
from ctxtui.services.recordings.live_clients import find_owned, running_clients
from ctxtui.views.model.session_summary import ELSEWHERE, HERE, SAMPLES, SessionSummary

if TYPE_CHECKING:
    from ctxtui.services.library.glances import Glances
    from ctxtui.store.rows import SessionRow


_READER: Final = "ctxtui.services.workers.summary_worker:make"
_MAX_BESIDE_SCREEN: Final = 3
"""Maximum reading processes beside a screen, which keeps one processor."""


def summary_from_file(
    recording: FoundRecording, now: float, live_seconds: float, owned: frozenset[str] = frozenset()
) -> SessionSummary:
    """A session's summary from its file name and times.

    `owned` are the files of the sessions that running clients have open.
    """
    return SessionSummary(
        key=recording.file,
        title=recording.path.name if recording.group == SAMPLES else recording.title or recording.id,
        source=recording.source,
        path=recording.file,
        id=recording.id,
        client_version=recording.version,
        cwd=recording.cwd,
        mtime=recording.mtime,
        size=recording.size,
        live=recording.is_live(now, live_seconds) or recording.file in owned,
        group=recording.group,
    )


class SessionLibrary:
    """The user's sessions. All but `list_fast` is for worker threads."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings = settings
        self._cwd = cwd
        self._glances: Glances | None = None
        self._rows: list[SessionRow] = []
        self._hosted: frozenset[str] = frozenset()
        self._by_path: dict[str, SessionRow] = {}
        self._by_id: dict[str, SessionRow] = {}
        self._children: list[ChildProcess] = []
        self._folders: dict[str, int] = {}
        self._last: list[FoundRecording] = []
        self._own: dict[str, str] = {}
        """The program's own transcript of the same session, by ctxtui's recording; both are one row."""
        self._transcripts: dict[str, SessionSummary] = {}
        self.trouble: CtxtuiError | None = None
        """The error of the last reading of the database, if any."""

    def list_fast(self) -> list[SessionSummary]:
        """List every recording from its file name and times.

        This takes milliseconds for thousands of recordings.
        """
        return self._summaries_of(self._find_recordings())

    def list_with_directories(self) -> list[SessionSummary]:
        """List as `list_fast` does, with the directories that only the recordings themselves tell."""
        around = related_directories(self._cwd, os.environ)
        return self._summaries_of(read_directories(self._find_recordings(), around))

    def _find_recordings(self) -> list[FoundRecording]:
        recordings = find_recordings(self._cwd, samples=sample_paths(), clients=self._settings.clients)
        self._folders = dict.fromkeys(watched_paths(recordings, os.environ, self._settings.clients), 0)
        self.folders_changed()
        return recordings

    def folders_changed(self) -> bool:
        """Whether a folder or database of recordings has changed since the last call."""
        before = self._folders
        self._folders = {folder: modification_time(folder) for folder in before}
        return self._folders != before

    def find_changed(self, summaries: Iterable[SessionSummary]) -> list[SessionSummary]:
        """Update the `summaries` whose size, time or `live` changed; return only these."""
        now, owned_now = time.time(), find_owned(self._last, running_clients())
        changed = []
        for summary in summaries:
            recording = recording_at(Path(summary.path), summary.group) if summary.path else None
            if recording is None:
                continue
            if summary.own and (own_recording := recording_at(Path(summary.own))) is not None:
                recording = recording._replace(
                    size=recording.size + own_recording.size, mtime=max(recording.mtime, own_recording.mtime)
                )
            is_owned = summary.path in owned_now or self._own.get(summary.path) in owned_now
            live = recording.is_live(now, self._settings.live_seconds) or (summary.group != SAMPLES and is_owned)
            if (recording.size, recording.mtime, live) != (summary.size, summary.mtime, summary.live):
                changed.append(replace(summary, size=recording.size, mtime=recording.mtime, live=live))
        return changed

    def _summaries_of(self, recordings: Iterable[FoundRecording]) -> list[SessionSummary]:
        self._last = list(recordings)
        # Without sessions there is no need to look for running clients.
        has_sessions = any(recording.group != SAMPLES for recording in self._last)
        now, owned_now = time.time(), find_owned(self._last, running_clients()) if has_sessions else frozenset[str]()
        summaries = [summary_from_file(item, now, self._settings.live_seconds, owned_now) for item in self._last]
        self._own = match_transcripts(self._last)
        if not self._own:
            self._transcripts = {}
            return summaries
        transcripts = set(self._own.values())
        self._transcripts = {recording.path: recording for recording in summaries if recording.path in transcripts}
        return [self._take_transcript_place(recording) for recording in summaries if recording.path not in transcripts]

    def _take_transcript_place(self, summary: SessionSummary) -> SessionSummary:
        """List an attached session in place of its client's transcript; it is live if either is."""
        transcript = self._transcripts.get(self._own.get(summary.path, ""))
        if transcript is None:
            return summary
        group = transcript.group if summary.group != transcript.group and not summary.cwd else summary.group
        return replace(
            summary,
            own=transcript.path,
            size=summary.size + transcript.size,
            mtime=max(summary.mtime, transcript.mtime),
            cwd=summary.cwd or transcript.cwd,
            group=group,
            live=summary.live or transcript.live,
        )

    def in_folder(self, folder: Path) -> list[SessionSummary]:
        """The recordings in `folder` or below, detected by content.

        `folder` may be a single file; of a database, its sessions are returned. Raises the errors of `find_in_folder`.
        """
        # Imported here: detection by content needs all readers.
        from ctxtui.services.recordings.databases.address import is_database
        from ctxtui.services.recordings.folder_scan import find_in_folder

        # Absolute paths, as on Home, so that each is cached once.
        folder = folder.absolute()
        is_one = folder.is_file() and not is_database(folder)
        paths = [folder] if is_one else find_in_folder(folder, self._settings.clients)
        return self._summaries_of(
            self._with_counterparts(recording for recording in map(recording_at, paths) if recording is not None)
        )

    def _with_counterparts(self, listed: Iterable[FoundRecording]) -> list[FoundRecording]:
        recordings = {
            recording.file: recording for recording in find_recordings(self._cwd, clients=self._settings.clients)
        }
        pairs = match_transcripts(recordings.values())
        both = {file: (recordings[wire], recordings[own]) for wire, own in pairs.items() for file in (wire, own)}
        parts = (both.get(os.path.abspath(recording.file), (recording,)) for recording in listed)
        return list({recording.file: recording for part in parts for recording in part}.values())

    def join_stored(self, summaries: Iterable[SessionSummary]) -> list[SessionSummary]:
        """Add the database's data to `summaries`, then append the sessions that only it has."""
        listed = list(summaries)
        self._rows = self._read_rows()
        self._by_path = {row.path: row for row in self._rows if row.path}
        self._by_id = {row.id: row for row in self._rows}
        return self._join_stored(listed)

    def all_sessions(self) -> list[SessionSummary]:
        """Recordings of known clients and relays, stored chats and imports, samples."""
        return self.join_stored(self.list_with_directories())

    def read_heads(self, summaries: Iterable[SessionSummary], seconds: float) -> tuple[list[SessionSummary], int]:
        """Complete `summaries` from heads of files; also return how many are unread.

        New data is stored. No reading begins after `seconds`.
        """
        glances = self._heads()
        result = glances.read_heads(summaries, seconds)
        glances.store()
        return result

    def _heads(self) -> Glances:
        if self._glances is None:
            from ctxtui.services.library.glances import Glances

            self._glances = Glances(self._settings)
        return self._glances

    def refresh(self) -> list[SessionSummary]:
        """Return `list_fast` with the data last read from the database."""
        return self._join_stored(self.list_fast())

    def _join_stored(self, summaries: Iterable[SessionSummary]) -> list[SessionSummary]:
        completed = [self._with_stored_data(summary) for summary in summaries]
        stored_ids = {summary.stored for summary in completed}
        unlisted = [row for row in self._rows if row.id not in stored_ids and row.path not in self._transcripts]
        around = related_directories(self._cwd, os.environ) if unlisted else ()
        return [*completed, *(_summary_from_row(row, row.id in self._hosted, around) for row in unlisted)]

    def _read_rows(self) -> list[SessionRow]:
        path, self.trouble = database(self._settings.data_dir), None
        if not path.exists():
            return []
        from ctxtui.store.store import Store

        try:
            with Store.open(path) as store:
                self._heads().add_stored(store.load_glances())
                self._hosted = store.hosted_ids()
                return [*store.sessions(), *store.sessions(archived=True)]
        except CtxtuiError as error:
            self.trouble = error
            return []

    def _with_stored_data(self, summary: SessionSummary) -> SessionSummary:
        if self._glances is not None:
            summary = self._glances.complete(summary)
        row = self._by_path.get(summary.path) or self._by_path.get(summary.own)
        row = row if summary.path else self._by_id.get(summary.stored)
        if row is None:
            return summary
        title = row.title or summary.title
        completed = replace(summary, stored=row.id, own_title=row.title, title=title)
        return replace(completed, tags=row.tags, archived=row.archived, subscription=row.subscription)

    def figures(
        self, summaries: Iterable[SessionSummary], stop: Event, cluster: str = "", *, workers: int = 0
    ) -> Iterator[SessionSummary]:
        """Yield each of `summaries` that has no figures yet, with them, as they are computed.

        - `cluster`: the address of a dask cluster that computes them, except for sessions only in the database. Its
          workers read the same paths as this machine.

        - `workers`: otherwise the number of processes (0: what may run beside a screen).
        - `stop`: ends it early when set.

        `summaries` is consumed one by one as processes become free, so its order may change meanwhile.
        """
        from ctxtui.services.process_pool import iter_answers, processor_count

        def read(unread: Iterable[SessionSummary], address: str = "") -> Iterator[SessionSummary]:
            requests = ((summary, self._settings) for summary in unread)
            return iter_answers(
                _READER, requests, _failed_summary, many, cluster=address, stop=stop, children=self._children
            )

        to_read: Iterable[SessionSummary] = (summary for summary in summaries if not summary.known)
        heads, many = self._heads(), workers or max(1, min(_MAX_BESIDE_SCREEN, processor_count() - 1))
        remote: Iterator[SessionSummary] = iter(())
        if cluster:
            listed = list(to_read)
            remote = read((summary for summary in listed if summary.path), cluster)
            to_read = [summary for summary in listed if not summary.path]
        try:
            for summary in chain(remote, read(to_read)):
                heads.learn(summary)
                yield self._with_stored_data(summary)
        finally:
            self.close()
            heads.store()

    def load_cached(self, summaries: Iterable[SessionSummary], *, usage: bool = False) -> dict[str, SessionSummary]:
        """Load the cached figures of `summaries`, by key; with `usage`, also figures of usage alone."""
        from ctxtui.services.library.totals.summary_cache import cached_by_key

        return cached_by_key(summaries, self._settings, usage=usage)

    def iter_cached(self, summaries: Iterable[SessionSummary]) -> Iterator[SessionSummary]:
        """Yield the `summaries` that have cached figures, in order."""
        from ctxtui.services.library.totals.summary_cache import iter_cached

        heads = self._heads()
        for summary in iter_cached([summary for summary in summaries if not summary.known], self._settings):
            heads.learn(summary)
            yield self._with_stored_data(summary)

    def close(self) -> None:
        children, self._children = self._children, []
        for child in children:
            child.close()


def _failed_summary(request: tuple[SessionSummary, Settings], error: ChildGone) -> SessionSummary:
    return replace(request[0], known=True, error="its reader process ended")


def _summary_from_row(row: SessionRow, live: bool, around: Iterable[Path]) -> SessionSummary:
    return SessionSummary(
        key=row.id,
        title=row.title or row.id,
        own_title=row.title,
        source=row.source,
        stored=row.id,
        id=row.id,
        cwd=row.cwd,
        mtime=row.ended or row.imported,
        size=row.calls,
        tags=row.tags,
        archived=row.archived,
        subscription=row.subscription,
        live=live,
        group=HERE if is_inside(row.cwd, around) else ELSEWHERE,
    )
