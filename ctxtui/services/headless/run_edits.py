"""What the policies of a run did to the contexts of its threads: kept on record, and told line by line."""

from __future__ import annotations

from collections import Counter

from ctxtui.core.session import Session
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.overlay import SessionEdits, ThreadEdits
from ctxtui.services.headless.run_progress import edits_by_policy, trims
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store.writer import Writer


class RunEdits:
    """The edits of every thread of `session`."""

    def __init__(self, session: Session, settings: Settings) -> None:
        self._edits = SessionEdits(Loaded(session, session.about.id), settings)
        self._threads: dict[str, ThreadEdits] = {}
        self._told: Counter[str] = Counter()
        """Entries of each thread that were told of."""

    def of(self, thread: str) -> ThreadEdits:
        """Those of `thread`. Raises `CtxtuiError` where the database cannot be read."""
        found = self._threads.get(thread)
        if found is None:
            found = self._threads[thread] = self._edits.of(thread)
        return found

    def news(self, thread: str) -> list[str]:
        """What policies did in `thread` since this was asked last, a line each."""
        log = self.of(thread).log
        new, self._told[thread] = log[self._told[thread] :], len(log)
        return trims(new)

    def by_policy(self) -> dict[str, int]:
        """How many edits each policy made in all threads."""
        return edits_by_policy(edit for thread in self._threads.values() for edit in thread.log)

    def save(self, writer: Writer | None) -> None:
        """Put the edits on record, behind what they are about; for a worker thread. Raises `CtxtuiError`."""
        if not self._edits.unsaved:
            return
        if writer is not None:
            writer.wait(2.0, writer.last_ticket)
        self._edits.save()
