"""Where a screen has its session from: what was named, opened slice by slice, studied, followed; what it counted is
remembered."""

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
    from ctxtui.services.session_services import Helpers
    from ctxtui.services.study.study import Study
    from ctxtui.services.study.thread_study import RecordingEnd
    from ctxtui.services.workers.session_report import Report

T = TypeVar("T")


class SessionSource:
    """Everything behind one open session. `glimpse`, `open` and `keep` are for a worker thread, `close` for when the
    screen goes. What reading and counting need is imported by the worker: the first frame does not wait for it."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        self._subscribed = False
        self._found: Named | None = None
        self._loaded: Loaded | None = None

    @cached_property
    def _helpers(self) -> Helpers:
        from ctxtui.services.session_services import Helpers

        return Helpers(self.settings)

    def glimpse(self) -> RecordingEnd | None:
        """The end of the recording, where the whole of it takes long to read; None where it does not."""
        try:
            found = self._end()
        except CtxtuiError:
            return None  # opening it in earnest tells what is wrong
        if found is None:
            return None
        from ctxtui.services.study.thread_study import RecordingEnd

        return RecordingEnd(found, self.settings)

    def _end(self) -> Session | None:
        from ctxtui.services.recordings.tail_preview import ending

        path: Path | None = Path(self.name)
        if self.name == "-" or (path is not None and path.is_dir()):
            return None
        if path is not None and not path.is_file():
            path = self._named().path
        return ending(path) if path is not None else None

    def _named(self) -> Named:
        """What the name stands for; looked for once. Raises what `locate` raises."""
        if self._found is None:
            from ctxtui.services.recordings.open_by_name import locate

            self._found = locate(self.name, Path.cwd(), self.settings)
        return self._found

    def open(self) -> tuple[Loaded, Iterator[RecordingNews]]:
        """The recording with nothing read yet, and its first reading. Raises what `locate` and `opening` raise."""
        from ctxtui.services.library.session_actions import subscribed
        from ctxtui.services.recordings.open_by_name import opening_named

        self._helpers.ready()
        found = self._named()
        self._subscribed = subscribed(found, self.settings)
        self._loaded, news = opening_named(found, self.settings)
        return self._loaded, iter(news)

    def study(self, session: Session) -> Study:
        """The figures of `session`; nothing is worked out yet."""
        made = self._helpers.study(session)
        made.subscription = self._subscribed
        return made

    def report(self, kind: Report[T], loaded: Loaded) -> T:
        """A report on the session; worked out in a process of its own, but for what cannot be read a second time."""
        from ctxtui.services.workers.session_report import report

        return report(kind, self.name, loaded if self._read_once() else None, self.settings)

    def _read_once(self) -> bool:
        return self.name == "-"

    def desk(self, study: Study, loaded: Loaded) -> StagingArea:
        """Where edits of the session are staged."""
        from ctxtui.services.editing.overlay import SessionEdits
        from ctxtui.services.editing.staging import StagingArea

        return StagingArea(study, SessionEdits(loaded, self.settings), self.clock)

    def clock(self) -> float:
        """The time in Unix seconds."""
        return time.time()

    def notebook(self, loaded: Loaded) -> Notebook:
        """Where notes on the recording are kept."""
        from ctxtui.services.library.notebook import Notebook

        return Notebook(loaded, self.settings)

    def is_live(self, loaded: Loaded) -> bool:
        """Whether the recording was written to lately, or a running client owns it; a stored one: whether it is
        hosted now."""
        from ctxtui.services.recordings.stored_session import StoredSession

        if isinstance(loaded, StoredSession):
            return loaded.hosted
        if loaded.path is not None and loaded.path.resolve() in map(Path.resolve, sample_paths()):
            # A clone has just written them, and nobody goes on with one: Home says so, too.
            return False
        try:
            newest = max((os.stat(path).st_mtime for path in loaded.paths), default=0.0)
        except OSError:
            return False
        if time.time() - newest < self.settings.live_seconds:
            return True
        # Imported here: the first frame does not ask.
        from ctxtui.services.recordings.live_clients import clients, is_owned

        files = [path for path in (loaded.path, loaded.transcript) if path is not None]
        running = clients() if files else []
        return any(is_owned(path, running) for path in files)

    def keep(self) -> None:
        """Remember what was counted."""
        self._helpers.keep()

    def close(self) -> None:
        """End the helpers."""
        if "_helpers" in self.__dict__:
            self._helpers.close()
