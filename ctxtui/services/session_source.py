"""The session of a screen, by name: opens it, computes its figures, stores its counts."""

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

    `read_end`, `open`, `report` and `save_counts` take long: call them in a worker thread. They import what they need,
    because the first frame must not wait for it.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        self._subscribed = False

    @cached_property
    def _services(self) -> SessionServices:
        from ctxtui.services.session_services import SessionServices

        return SessionServices(self.settings)

    def read_end(self) -> RecordingEnd | None:
        """Read the end of a recording that takes long to read.

        None for any other, and if it cannot be read.
        """
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
        path = Path(self.name) if os.path.isfile(self.name) else self._location.path
        return read_end(path) if path is not None else None

    @cached_property
    def _location(self) -> Named:
        from ctxtui.services.recordings.open_by_name import locate

        return locate(self.name, Path.cwd(), self.settings)

    def open(self) -> tuple[Loaded, Iterator[RecordingNews]]:
        """Open the recording and return it with the steps of its first reading.

        Raises the errors of `open_by_name.locate` and of opening what it finds.
        """
        from ctxtui.services.library.session_actions import is_subscription
        from ctxtui.services.recordings.open_by_name import open_named_unread

        self._services.preload()
        self._subscribed = is_subscription(self._location, self.settings)
        loaded, news = open_named_unread(self._location, self.settings)
        return loaded, iter(news)

    def study(self, session: Session) -> Study:
        study = self._services.study(session)
        study.subscription = self._subscribed
        return study

    def report(self, kind: Report[T], loaded: Loaded) -> T:
        """Compute a report in a child process, which reads the session again.

        Standard input cannot be read twice, so its reports are computed in this process.
        """
        from ctxtui.services.workers.session_report import report

        return report(kind, self.name, loaded if self._reports_in_process() else None, self.settings)

    def _reports_in_process(self) -> bool:
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
        """Whether the session may still grow.

        A stored session: a process hosts it. A file: it was written in the last `live_seconds`, or a running client
        owns it; never a sample. In a database or an archive: its last call is that new.
        """
        from ctxtui.services.recordings.stored_session import StoredSession

        if isinstance(loaded, StoredSession):
            return loaded.is_hosted
        if loaded.path is not None and loaded.path.resolve() in map(Path.resolve, sample_paths()):
            # A fresh clone has new file times.
            return False
        try:
            newest = max((os.stat(path).st_mtime for path in loaded.paths), default=0.0)
        except OSError:
            return False
        if loaded.follows and not loaded.paths:
            newest = max((call.ended or call.at or 0.0 for call in loaded.session.calls.values()), default=0.0)
        if time.time() - newest < self.settings.live_seconds:
            return True
        from ctxtui.services.recordings.live_clients import is_owned, running_clients

        files = [path for path in (loaded.path, loaded.transcript) if path is not None]
        running = running_clients() if files else []
        return any(is_owned(path, running) for path in files)

    def save_counts(self) -> None:
        self._services.save_counts()

    def close(self) -> None:
        """End the child processes."""
        if "_services" in self.__dict__:  # made, not only declared
            self._services.close()
