"""Sends what is recorded on to a collector while it goes on: a child process reads the files, no request waits."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.attach.otlp import Exporter, address, headers_of
from ctxtui.services.child_process import ChildGone
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.worker import Worker

EVERY: Final = 1.0
"""Seconds between looks at the recordings."""
LAST: Final = 10.0
"""Seconds that the rest may take when a run has ended."""
_SLOWEST: Final = 30.0


class Fed(NamedTuple):
    """How far it is: spans that were `sent`, that still wait, that were `lost`; `why` says what was wrong last."""

    sent: int = 0
    waiting: int = 0
    lost: int = 0
    why: str = ""


@dataclass(slots=True, kw_only=True)
class OtlpFeed:
    """Sends the calls of the recordings `files` that begin from now on to the collector at `url`."""

    url: str
    settings: Settings
    content: bool
    files: Callable[[], Sequence[Path]]
    said: Fed = field(default_factory=Fed)
    _worker: Worker[FeedSender] = field(init=False)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread = field(init=False)
    _begun: float = field(init=False, default_factory=time.time)

    def __post_init__(self) -> None:
        self._worker = Worker(FeedSender, self.url, self.settings, self.content, self._begun)
        headers_of(address(self.url), self.settings, os.environ)
        self._thread = threading.Thread(target=self._work, name="ctxtui otlp", daemon=True)
        self._thread.start()

    def close(self, seconds: float = LAST) -> list[str]:
        """Send the rest, for at most so many seconds; what could not be sent, in words."""
        self._stop.set()
        self._thread.join(seconds)
        late = self._thread.is_alive()
        self._worker.close()
        self._thread.join(seconds)
        missing = self.said.waiting + self.said.lost
        why = self.said.why or ("the collector took longer than ctxtui waits" if late else "")
        return [f"{missing or 'some'} spans were not sent: {why}"] if missing or why else []

    def _work(self) -> None:
        pause = EVERY
        while not self._stop.wait(pause):
            self._look()
            pause = min(_SLOWEST, pause * 2) if self.said.waiting else EVERY
        self._look()

    def _look(self) -> None:
        files = list(self.files())
        if not files:
            return
        try:
            self.said = self._worker.call(FeedSender.send, files)
        except (ChildGone, CtxtuiError) as error:
            self.said = self.said._replace(why=str(error))


class FeedSender:
    """Reads recordings on, and sends their calls that began at `begun` or later; for a `Worker`."""

    def __init__(self, url: str, settings: Settings, content: bool, begun: float) -> None:
        self._exporter = Exporter(url, settings, content=content)
        self._begun = begun
        self._open: dict[Path, Loaded] = {}
        self._told: set[tuple[Path, str]] = set()

    def send(self, files: Sequence[Path]) -> Fed:
        """Send what is new in `files`."""
        trouble = ""
        for file in files:
            try:
                self._add(file)
            except CtxtuiError as error:
                # A recording has no context before its first answer; its calls come with the next look.
                trouble = str(error)
        exporter = self._exporter
        exporter.send()
        return Fed(exporter.sent, exporter.waiting, exporter.lost, exporter.why or ("" if self._told else trouble))

    def _add(self, file: Path) -> None:
        loaded = self._open.get(file)
        if loaded is None:
            loaded = self._open[file] = load(file, own="")
        else:
            loaded.take(loaded.fetch())
        session = loaded.session
        new = [
            call
            for call in session.calls.values()
            if (file, call.id) not in self._told and call.started is not None and call.started >= self._begun
        ]
        self._told.update((file, call.id) for call in new)
        self._exporter.add(session, new, session.about.id or file.stem)
