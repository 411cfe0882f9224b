"""Open the session of a screen by name: read it slice by slice, study it, save its counts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.config.settings import Settings

if TYPE_CHECKING:
    from ctxtui.services.editing.staging import StagingArea
    from ctxtui.services.library.notebook import Notebook
    from ctxtui.services.recordings.open_by_name import Named
    from ctxtui.services.recordings.recording import Loaded, RecordingNews
    from ctxtui.services.session_services import SessionServices
    from ctxtui.services.study.study import Study
    from ctxtui.services.study.thread_study import RecordingEnd
    from ctxtui.services.workers.session_report import Report

T = TypeVar("T")


class SessionSource:
    """The session that `name` names, for a screen.

    `read_end`, `open` and `save_counts` are for a worker thread; `close` is called when the screen closes. Imports for
    reading and counting are made in the worker, because the first frame must not wait for them.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        self._subscribed = False
        self._cached_location: Named | None = None
        self._loaded: Loaded | None = None

    @cached_property
    def _services(self) -> SessionServices:
        from ctxtui.services.session_services import SessionServices

        return SessionServices(self.settings)

    def read_end(self) -> RecordingEnd | None:
        """Read the end of a recording that takes long to read; None for any other."""
        try:
            session = self._end_session()
        except CtxtuiError:
            return None  # `open` reports the error
        if session is None:
            return None
        from ctxtui.services.study.thread_study import RecordingEnd

        return RecordingEnd(session, self.settings)

    def _end_session(self) -> Session | None:
        from ctxtui.services.recordings.tail_preview import read_end

        if self.name == "-" or os.path.isdir(self.name):
            return None
        path = Path(self.name) if os.path.isfile(self.name) else self._located().path
        return read_end(path) if path is not None else None

    def _located(self) -> Named:
        """Locate the name, once. Raises what `open_by_name.locate` raises."""
        if self._cached_location is None:
            from ctxtui.services.recordings.open_by_name import locate

            self._cached_location = locate(self.name, Path.cwd(), self.settings)
        return self._cached_location

    def open(self) -> tuple[Loaded, Iterator[RecordingNews]]:
        """Open the recording, with its first reading still to be taken.

        Raises the errors of `open_by_name.locate` and of opening what it finds.
        """
        from ctxtui.services.library.session_actions import is_subscription
        from ctxtui.services.recordings.open_by_name import open_named_unread

        self._services.preload()
        location = self._located()
        self._subscribed = is_subscription(location, self.settings)
        self._loaded, news = open_named_unread(location, self.settings)
        return self._loaded, iter(news)

    def study(self, session: Session) -> Study:
        """A study of `session` in which nothing is computed yet."""
        study = self._services.study(session)
        study.subscription = self._subscribed
        return study

    def report(self, kind: Report[T], loaded: Loaded) -> T:
        """Compute a report in a child process.

        Standard input cannot be read twice, so its reports are computed in this process.
        """
        from ctxtui.services.workers.session_report import report

        return report(kind, self.name, loaded if self._is_readable_once() else None, self.settings)

    def _is_readable_once(self) -> bool:
        return self.name == "-"

    def staging(self, study: Study, loaded: Loaded) -> StagingArea:
        from ctxtui.services.editing.overlay import SessionEdits
        from ctxtui.services.editing.staging import StagingArea

        return StagingArea(study, SessionEdits(loaded, self.settings), self.clock)

    def clock(self) -> float:
        return time.time()

    def notebook(self, loaded: Loaded) -> Notebook:
        from ctxtui.services.library.notebook import Notebook

        return Notebook(loaded, self.settings)

    def is_live(self, loaded: Loaded) -> bool:
        """True if the session was written to lately, a running client owns it, or it is hosted."""
        from ctxtui.services.recordings.stored_session import StoredSession

        if isinstance(loaded, StoredSession):
            return loaded.is_hosted
        if loaded.path is not None and loaded.path.resolve() in map(Path.resolve, sample_paths()):
            # Samples are never live, although a fresh clone has new file times.
            return False
        try:
            newest = max((os.stat(path).st_mtime for path in loaded.paths), default=0.0)
        except OSError:
            return False
        if time.time() - newest < self.settings.live_seconds:
            return True
        # Imported here: not needed for the first frame.
        from ctxtui.services.recordings.live_clients import is_owned, running_clients

        files = [path for path in (loaded.path, loaded.transcript) if path is not None]
        running = running_clients() if files else []
        return any(is_owned(path, running) for path in files)

    def save_counts(self) -> None:
        self._services.save_counts()

    def close(self) -> None:
        """End the child processes."""
        if "_services" in self.__dict__:
            self._services.close()
