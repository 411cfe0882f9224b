"""Who works out a long session in another process, while this one reads it and answers keys."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone
from ctxtui.services.study import handed_over

if TYPE_CHECKING:
    from ctxtui.services.counting.counting import BookStore
    from ctxtui.services.study.study import Study
    from ctxtui.store.rows import KeptRow

_LOOK: Final = 0.05
"""Seconds between two looks at whether what the other process has read is read here, too."""
_PATIENCE: Final = 10.0
"""Seconds after which it is taken for another recording."""


class Progress(NamedTuple):
    """How far it is: nodes counted by now, and whether everything is worked out."""

    counted: int
    done: bool


class Elsewhere(Protocol):
    """A process that works out the same recording (`services.workers.study_worker`). Each raises `ChildGone`."""

    def advance(self) -> Progress:
        """Let it work for a moment."""

    def counts(self) -> KeptRow | None:
        """What it has counted and learnt; None where that cannot be handed over."""

    def parts(self) -> Iterator[handed_over.Part]:
        """All else that it has worked out."""

    def keep(self) -> None:
        """Let it remember what it counted for later runs, and end."""

    def close(self) -> None:
        """End it."""


class Deputy:
    """Waits for the figures of a session that `elsewhere` works out, and lets its study take them over.

    Where the other process ends before its time, `trouble` says so; where what it read is not what is read here,
    nothing is taken. In both cases `over` tells that the study has to work everything out itself.
    """

    def __init__(self, elsewhere: Elsewhere) -> None:
        self._elsewhere = elsewhere
        self._done = False
        self._row: KeptRow | None = None
        self._waits_until: float | None = None
        self.counted = 0
        """Nodes that it has counted by now."""
        self.over = False
        """Whether there is no more to wait for."""
        self.trouble: CtxtuiError | None = None

    def advance(self, study: Study, kept: BookStore, *, read: bool) -> bool:
        """Wait for it for a moment, and take over what there is once all is `read` here; whether it goes on."""
        try:
            if not self._done:
                self.counted, self._done = self._elsewhere.advance()
                return True
            return read and self._take(study, kept)
        except ChildGone:
            self.over = True
            self.trouble = CtxtuiError(
                "the process that works out the figures ended",
                way_out="they are worked out here; is there memory enough for it?",
            )
            self._elsewhere.close()
            return True

    def _take(self, study: Study, kept: BookStore) -> bool:
        row = self._row = self._row or self._elsewhere.counts()
        if row is not None and row.nodes > len(study.session.tree) and not self._late():
            # The recording grew between the two readings: here the rest is still to come.
            time.sleep(_LOOK)
            return True
        self.over = True
        if row is None or not kept.take_over(study.book, row):
            self._elsewhere.close()
            return True
        study.counted_elsewhere()
        if row.nodes == len(study.session.tree) and row.calls == len(study.session.calls):
            handed_over.take_over(study, self._elsewhere.parts())
        # It writes for a second or two; the figures are there.
        threading.Thread(target=self._elsewhere.keep, name="keep figures", daemon=True).start()
        return True

    def _late(self) -> bool:
        now = time.monotonic()
        if self._waits_until is None:
            self._waits_until = now + _PATIENCE
        return now > self._waits_until

    def close(self) -> None:
        """End the process: nobody waits any more."""
        self._elsewhere.close()
