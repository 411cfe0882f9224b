"""Who works out a long session in another process, while this one reads it and answers keys."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ctxtui.core.errors import CtxtuiError
from ctxtui.services import free_memory
from ctxtui.services.child_process import ChildGone
from ctxtui.services.study import handed_over

if TYPE_CHECKING:
    from ctxtui.analysis.cache.next_call import AfterCall, Foretold
    from ctxtui.core.call import Call
    from ctxtui.services.counting.counting import BookStore
    from ctxtui.store.rows import KeptRow

_LOOK: Final = 0.05
"""Seconds between two looks at whether what the other process has read is read here, too."""
_PATIENCE: Final = 10.0
"""Seconds after which it is taken for another recording."""


class Progress(NamedTuple):
    """How far it is: nodes counted by now, whether all are, and whether everything else is worked out, too."""

    counted: int
    whole: bool
    done: bool


class Elsewhere(Protocol):
    """A process that works out the same recording (`services.workers.study_worker`). Each raises `ChildGone`."""

    def advance(self) -> Progress:
        """Let it work for a moment."""

    def counts(self) -> KeptRow | None:
        """What it has counted and learnt; None where that cannot be handed over."""

    def totals(self) -> bytes:
        """The running totals of it (`handed_over.totals`)."""

    def groups(self) -> bytes:
        """What the large parts of its contexts are made of (`session_groups`)."""

    def parts(self) -> Iterator[handed_over.Part]:
        """All else that it has worked out."""

    def foretold(self, asked: AfterCall) -> Foretold:
        """The request that follows a call, as it foretells it."""

    def keep(self) -> None:
        """Let it remember what it counted for later runs, and end."""

    def close(self) -> None:
        """End it."""


class Deputy:
    """Waits for the figures of a session that `elsewhere` works out, and lets its study take them over: first what is
    counted and learnt, later all else.

    Where the other process ends before its time, `trouble` says so; where what it read is not what is read here,
    nothing is taken. In both cases `over` tells that the study has to work everything out itself. `same` tells whether
    the session here is the very one that was read there, which else is to be proved.
    """

    def __init__(self, elsewhere: Elsewhere, same: Callable[[], bool] = bool) -> None:
        self._elsewhere = elsewhere
        self._same = same
        self._at = Progress(0, whole=False, done=False)
        self._row: KeptRow | None = None
        self._waits_until: float | None = None
        self._taken: tuple[int, list[Call]] | None = None
        """The version of the book that the counts were taken over as, and the calls that the other process knows."""
        self._groups_taken = self._rest_taken = False
        self._asked: dict[AfterCall, None] = {}
        """Requests that it is to foretell when all is worked out."""
        self.over = False
        """Whether there is no more to wait for."""
        self.trouble: CtxtuiError | None = None

    @property
    def counted(self) -> int | None:
        """Nodes that it has counted by now; None once the counts were taken over."""
        return self._at.counted if self._taken is None else None

    def advance(self, study: handed_over.SessionFigures, kept: BookStore, *, read: bool) -> bool:
        """Wait for it for a moment, and take over what there is once all is `read` here; whether it goes on."""
        try:
            if self._at.whole and self._taken is None and read:
                self._take_counts(study, kept)
            elif self._taken is not None and not self._groups_taken:
                self._take_groups(study)
            elif not self._at.done:
                self._at = self._elsewhere.advance()
            elif self._taken is None:
                return False
            elif not self._rest_taken:
                self._take_rest(study, *self._taken)
            else:
                self._take_foretold(study)
        except ChildGone:
            self.trouble = CtxtuiError(
                "the process that works out the figures ended",
                way_out="they are worked out here; is there memory enough for it?",
            )
            self._give_up()
        return True

    def _take_counts(self, study: handed_over.SessionFigures, kept: BookStore) -> None:
        row = self._row = self._row or self._elsewhere.counts()
        if row is None:
            self._give_up()
        elif row.nodes > len(study.session.tree) and not self._late():
            # The recording grew between the two readings: here the rest is still to come.
            time.sleep(_LOOK)
        elif not kept.take_over(study.book, row, same=self._same() and row.nodes == len(study.session.tree)):
            self._give_up()
        else:
            self._row = None
            study.counted_elsewhere()
            calls = list(study.session.calls.values())
            if row.nodes < len(study.session.tree) or row.calls < len(calls):
                # What else it works out goes by other weights than those that are learnt here.
                self._give_up()
                return
            handed_over.take_totals(study, self._elsewhere.totals())
            self._taken = study.book.version, calls
            free_memory.give_back()

    def _take_groups(self, study: handed_over.SessionFigures) -> None:
        # Right behind the counts: the line above the panes names them, and nothing else there waits for this process.
        study.groups.take_over(self._elsewhere.groups())
        self._groups_taken = True

    def _take_rest(self, study: handed_over.SessionFigures, version: int, calls: list[Call]) -> None:
        now = list(islice(study.session.calls.values(), len(calls)))
        if version != study.book.version or any(one is not other for one, other in zip(now, calls, strict=True)):
            # The recording said more of what was read.
            self._give_up()
            return
        handed_over.take_over(study, calls, self._elsewhere.parts())
        self._rest_taken = True
        free_memory.give_back()

    def foretell(self, asked: AfterCall) -> None:
        """Let it foretell a request once all is worked out."""
        self._asked[asked] = None

    def _take_foretold(self, study: handed_over.SessionFigures) -> None:
        for asked in list(self._asked):
            try:
                found = self._elsewhere.foretold(asked)
            except ChildGone:
                # All else is there: whoever asked asks here.
                break
            if found:
                study.take_foretold(asked, found)
        self.over = True
        # It writes for a second or two; the figures are there.
        threading.Thread(target=self._elsewhere.keep, name="keep figures", daemon=True).start()

    def _give_up(self) -> None:
        self.over = True
        self._elsewhere.close()

    def _late(self) -> bool:
        now = time.monotonic()
        if self._waits_until is None:
            self._waits_until = now + _PATIENCE
        return now > self._waits_until

    def close(self) -> None:
        """End the process: nobody waits any more."""
        self._elsewhere.close()
