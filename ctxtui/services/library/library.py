"""What Home lists: sessions by name at once, the store's own, and their figures as they are worked out apart."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildProcess
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.config.paths import database
from ctxtui.services.config.projects import related
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
from ctxtui.services.recordings.live_clients import find_owned, running_clients
from ctxtui.views.model.session_summary import ELSEWHERE, HERE, SAMPLES, SessionSummary

if TYPE_CHECKING:
    from ctxtui.services.library.glances import Glances
    from ctxtui.store.rows import SessionRow


def glimpse(
    found: FoundRecording, now: float, live_seconds: float, owned: frozenset[str] = frozenset()
) -> SessionSummary:
    """A session as its name and file times show it; `owned` are the paths that a running client owns."""
    return SessionSummary(
        key=found.file,
        title=found.path.name if found.group == SAMPLES else found.title or found.id,
        source=found.source,
        path=found.file,
        id=found.id,
        client_version=found.version,
        cwd=found.cwd,
        mtime=found.mtime,
        size=found.size,
        live=found.is_live(now, live_seconds) or found.file in owned,
        group=found.group,
    )


class SessionLibrary:
    """The sessions of this user. `glimpses` is fast; the rest is for worker threads."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings = settings
        self._cwd = cwd
        self._glances: Glances | None = None
        self._rows: list[SessionRow] = []
        self._hosted: frozenset[str] = frozenset()
        self._by_path: dict[str, SessionRow] = {}
        self._by_id: dict[str, SessionRow] = {}
        self._children: list[ChildProcess] = []
        self._folders: dict[str, float] = {}
        self._last: list[FoundRecording] = []
        self._own: dict[str, str] = {}
        """What ctxtui recorded of a program -> the program's own transcript of the same session: both are one row."""
        self._transcripts: dict[str, SessionSummary] = {}
        self.trouble: CtxtuiError | None = None
        """Why the database could not be asked, if it could not."""

    def glimpses(self) -> list[SessionSummary]:
        """Every recording as its name and file times show it, newest first. Milliseconds for thousands."""
        return self._seen(self._found())

    def placed(self) -> list[SessionSummary]:
        """As `glimpses`, with the directory of each Codex session, for which its first line is read."""
        around = related(self._cwd, os.environ)
        return self._seen(read_directories(self._found(), around))

    def _found(self) -> list[FoundRecording]:
        found = find_recordings(self._cwd, samples=sample_paths(), clients=self._settings.clients)
        self._folders = dict.fromkeys(watched_paths(found, os.environ, self._settings.clients), 0.0)
        self.folders_changed()
        return found

    def folders_changed(self) -> bool:
        """Whether a folder that holds recordings got or lost an entry since this was last asked."""
        before = self._folders
        self._folders = {folder: _mtime(folder) for folder in before}
        return self._folders != before

    def touched(self, seen: Iterable[SessionSummary]) -> list[SessionSummary]:
        """Those of `seen` whose file changed, or that began or ceased to be live, as they are now."""
        now, owned_now = time.time(), find_owned(self._last, running_clients())
        found = []
        for one in seen:
            there = recording_at(Path(one.path), one.group) if one.path else None
            if there is None:
                continue
            if one.own and (own := recording_at(Path(one.own))) is not None:
                there = there._replace(size=there.size + own.size, mtime=max(there.mtime, own.mtime))
            is_owned = one.path in owned_now or self._own.get(one.path) in owned_now
            live = there.is_live(now, self._settings.live_seconds) or (one.group != SAMPLES and is_owned)
            if (there.size, there.mtime, live) != (one.size, one.mtime, one.live):
                found.append(replace(one, size=there.size, mtime=there.mtime, live=live))
        return found

    def _seen(self, found: Iterable[FoundRecording]) -> list[SessionSummary]:
        self._last = list(found)
        # Without a session no running client can own one: then its processes need not be looked for.
        theirs_too = any(one.group != SAMPLES for one in self._last)
        now, owned_now = time.time(), find_owned(self._last, running_clients()) if theirs_too else frozenset[str]()
        every = [glimpse(one, now, self._settings.live_seconds, owned_now) for one in self._last]
        self._own = match_transcripts(self._last)
        if not self._own:
            self._transcripts = {}
            return every
        theirs = set(self._own.values())
        self._transcripts = {one.path: one for one in every if one.path in theirs}
        return [self._with_its_place(one) for one in every if one.path not in theirs]

    def _with_its_place(self, one: SessionSummary) -> SessionSummary:
        """An attached session where its client's own transcript is, and live while that client runs."""
        own = self._transcripts.get(self._own.get(one.path, ""))
        if own is None:
            return one
        group = own.group if one.group != own.group and not one.cwd else one.group
        return replace(
            one,
            own=own.path,
            size=one.size + own.size,
            mtime=max(one.mtime, own.mtime),
            cwd=one.cwd or own.cwd,
            group=group,
            live=one.live or own.live,
        )

    def inside(self, folder: Path) -> list[SessionSummary]:
        """The recordings in `folder` or below, by content, newest first; a file is a recording itself. Raises what
        `recordings_in` raises."""
        # Imported here: telling recordings by content needs every reader.
        from ctxtui.services.recordings.folder_scan import find_in_folder

        # As Home knows them, so that they are remembered once, wherever one stands.
        folder = folder.absolute()
        paths = [folder] if folder.is_file() else find_in_folder(folder, self._settings.clients)
        return self._seen(self._with_the_other(one for one in map(recording_at, paths) if one is not None))

    def _with_the_other(self, found: Iterable[FoundRecording]) -> list[FoundRecording]:
        """`found`; one of the two recordings of a session brings the other, wherever that is."""
        every = {one.file: one for one in find_recordings(self._cwd, clients=self._settings.clients)}
        pairs = match_transcripts(every.values())
        both = {file: (every[wire], every[own]) for wire, own in pairs.items() for file in (wire, own)}
        parts = (both.get(os.path.abspath(one.file), (one,)) for one in found)
        return list({one.file: one for part in parts for one in part}.values())

    def stored(self, seen: Iterable[SessionSummary]) -> list[SessionSummary]:
        """`seen` with what the database knows of each, then the sessions that only the database holds."""
        found = list(seen)
        self._rows = self._ask_store()
        self._by_path = {row.path: row for row in self._rows if row.path}
        self._by_id = {row.id: row for row in self._rows}
        return self._joined(found)

    def listed(self) -> list[SessionSummary]:
        """Which sessions there are: the one answer for Home and every command. Recordings of the known clients and
        of ctxtui's relay, chats and imports that only the database holds, and samples, which no sum counts."""
        return self.stored(self.placed())

    def looked_into(self, seen: Iterable[SessionSummary], seconds: float) -> tuple[list[SessionSummary], int]:
        """`seen` with titles, directories and versions from the heads of files of which nothing is known yet, for at
        most so many seconds; and of how many nothing is known still. What was read is remembered."""
        glances = self._heads()
        found = glances.look(seen, seconds)
        glances.keep()
        return found

    def _heads(self) -> Glances:
        if self._glances is None:
            # Imported here: readers are not needed for the first frame.
            from ctxtui.services.library.glances import Glances

            self._glances = Glances(self._settings)
        return self._glances

    def again(self) -> list[SessionSummary]:
        """`glimpses` with what the database said when it was last asked."""
        return self._joined(self.glimpses())

    def _joined(self, seen: Iterable[SessionSummary]) -> list[SessionSummary]:
        known = [self._known(one) for one in seen]
        held = {one.stored for one in known}
        rest = [row for row in self._rows if row.id not in held and row.path not in self._transcripts]
        around = related(self._cwd, os.environ) if rest else ()
        return [*known, *(_from_row(row, row.id in self._hosted, around) for row in rest)]

    def _ask_store(self) -> list[SessionRow]:
        path = database(self._settings.data_dir)
        if not path.exists():
            return []
        # Imported here: SQLite is not needed for the first frame.
        from ctxtui.store.store import Store

        try:
            with Store.open(path) as store:
                self._heads().take(store.glances())
                self._hosted = store.hosted()
                return [*store.sessions(), *store.sessions(archived=True)]
        except CtxtuiError as error:
            self.trouble = error
            return []

    def _known(self, one: SessionSummary) -> SessionSummary:
        if self._glances is not None:
            one = self._glances.shown(one)
        row = self._by_path.get(one.path) or self._by_path.get(one.own)
        row = row if one.path else self._by_id.get(one.stored)
        if row is None:
            return one
        title = row.title or one.title
        known = replace(one, stored=row.id, own_title=row.title, title=title)
        return replace(known, tags=row.tags, archived=row.archived, subscription=row.subscription)

    def figures(
        self, seen: Iterable[SessionSummary], stop: Event, cluster: str = "", *, workers: int = 0
    ) -> Iterator[SessionSummary]:
        """Each of `seen` with its figures, as they come; from the processes of a `cluster`, where its address is given,
        but for what only the database holds, else from so many `workers` (0: what may run beside a screen).

        `seen` is taken from one by one, as a process is free: what it gives next may change meanwhile. Ends early when
        `stop` is set.
        """
        # Imported here: processes and pools are not needed for the first frame.
        from ctxtui.services.library.totals.reader_pool import BESIDE_A_SCREEN, figured

        wanted: Iterable[SessionSummary] = (one for one in seen if not one.known)
        heads, many = self._heads(), workers or BESIDE_A_SCREEN
        far: Iterator[SessionSummary] = iter(())
        if cluster:
            listed = list(wanted)
            files = (one for one in listed if one.path)
            far = figured(files, self._settings, stop, self._children, many, cluster)
            wanted = [one for one in listed if not one.path]
        try:
            for one in chain(far, figured(iter(wanted), self._settings, stop, self._children, many)):
                heads.learn(one)
                yield self._known(one)
        finally:
            self.close()
            heads.keep()

    def remembered(self, seen: Iterable[SessionSummary], *, usage: bool = False) -> dict[str, SessionSummary]:
        """Those of `seen` whose figures the database remembers, or what their calls used (`usage`), by key: nothing is
        read."""
        # Imported here: the memory is not needed for the first frame.
        from ctxtui.services.library.totals.summary_memory import remembered

        return remembered(seen, self._settings, usage=usage)

    def each_remembered(self, seen: Iterable[SessionSummary]) -> Iterator[SessionSummary]:
        """Those of `seen` whose figures the database remembers, in their order: nothing is read."""
        # Imported here: the memory is not needed for the first frame.
        from ctxtui.services.library.totals.summary_memory import each_remembered

        heads = self._heads()
        for one in each_remembered([one for one in seen if not one.known], self._settings):
            heads.learn(one)
            yield self._known(one)

    def close(self) -> None:
        """End the processes that read."""
        children, self._children = self._children, []
        for child in children:
            child.close()


def _mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _from_row(row: SessionRow, live: bool, around: Iterable[Path]) -> SessionSummary:
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
