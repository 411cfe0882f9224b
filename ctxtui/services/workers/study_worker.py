"""A long session worked out in a process of its own: the interpreter of the screen's process is left to keys.

The child reads the recording itself, while the parent reads it for the screen, and works out what a study works out.
What it found it hands over in parts.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.count_cache import Memory
from ctxtui.services.counting.counting import Counter, LocalCounts
from ctxtui.services.counting.labels import Labels
from ctxtui.services.counting.pricing import price_here, prices_for
from ctxtui.services.recordings.open_by_name import Named, opening_named
from ctxtui.services.recordings.read_elsewhere import SentReading, sent, sent_readers
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.study.deputy import Progress
from ctxtui.services.study.handed_over import Part, parts, totals
from ctxtui.services.study.study import Study

if TYPE_CHECKING:
    from ctxtui.analysis.cache.next_call import AfterCall, Foretold
    from ctxtui.store.rows import KeptRow

_MOMENT: Final = 0.05
"""Seconds that the child works between two answers: what else the asking thread has to do waits for as long."""

_BYTES, _READING, _READERS = "bytes_read", "reading", "readers"
_ADVANCE, _COUNTS, _TOTALS, _PART, _KEEP = "advance", "counts", "totals", "part", "keep"
_GROUPS, _FORETOLD = "groups", "foretold"


class StudyAsked(NamedTuple):
    """Which recording."""

    path: Path
    settings: Settings


class StudyWorker:
    """Works out the recording `path` in a child process, which starts when it is first asked."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self._asked = StudyAsked(path, settings)
        self._child = ChildProcess("ctxtui.services.workers.study_worker:make")
        self._readers: list[bytes | None] = []
        """Where its readers stand, once it has told."""
        self._telling = threading.Lock()
        self._lent = False
        """Whether what it read is the screen's session, which its readers may have to go on with."""

    @property
    def runs(self) -> int:
        """The child's process id; 0 where there is none."""
        return self._child.pid

    def bytes_read(self) -> int | None:
        """Let it read for a moment: how many bytes it has read; None once that is all there is. Raises `ChildGone`, as
        all below."""
        found: int | None = self._ask(_BYTES)
        return found

    def reading(self) -> SentReading | None:
        """What it read; None where that cannot be sent."""
        found: SentReading | None = self._ask(_READING)
        self._lent = found is not None
        return found

    def readers(self) -> bytes | None:
        """Where its readers stand, also when it has ended; None where that cannot be sent."""
        with self._telling:
            if not self._readers:
                self._readers.append(self._ask(_READERS))
            return self._readers[0]

    def advance(self) -> Progress:
        """Let it work for a moment."""
        found: Progress = self._ask(_ADVANCE)
        return found

    def counts(self) -> KeptRow | None:
        """What it has counted and learnt; None where that cannot be handed over."""
        found: KeptRow | None = self._ask(_COUNTS)
        return found

    def totals(self) -> bytes:
        """The running totals of it."""
        found: bytes = self._ask(_TOTALS)
        return found

    def groups(self) -> bytes:
        """What the large parts of its contexts are made of."""
        found: bytes = self._ask(_GROUPS)
        return found

    def parts(self) -> Iterator[Part]:
        """All else that it has worked out; one part at a time, so that never two of them are in memory."""
        while (part := self._ask(_PART)) is not None:
            yield part

    def foretold(self, asked: AfterCall) -> Foretold:
        """The request that follows a call, as it foretells it."""
        found: Foretold = self._ask(_FORETOLD, asked)
        return found

    def keep(self) -> None:
        """Let it tell where its readers stand, remember what it counted, and end."""
        try:
            if self._lent:
                self.readers()
            self._ask(_KEEP)
        except ChildGone:
            return  # the screen was closed meanwhile: the next run counts again
        self._child.close()

    def close(self) -> None:
        """End it."""
        self._child.close()

    def _ask(self, what: str, *about: object) -> Any:
        # One that was closed is not started again, whoever still asks.
        return self._child.ask((self._asked, what, about), closed=0)


class _Worked:
    """The child's study of the recording."""

    def __init__(self, asked: StudyAsked) -> None:
        self._asked = asked
        self._study: Study | None = None
        self._loaded: Loaded | None = None
        self._memory = Memory(database(asked.settings.data_dir), create=False)
        here = LocalCounts()
        labels = Labels(asked.settings.labels, here, self._memory.numbers)
        self._kept = self._memory.figures(labels)
        self._counter = Counter(here, self._memory.counts, labels, self._kept)
        self._whole = False
        self._steps = self._work()
        self._parts: Iterator[Part] | None = None
        self._blocks = 0
        """How many blocks the tree had when it was sent."""

    def bytes_read(self) -> int | None:
        """Read for a moment: how many bytes are read; None once that is all there is."""
        until = time.monotonic() + _MOMENT
        while self._study is None and time.monotonic() < until and not next(self._steps, True):
            pass
        loaded = self._loaded
        return None if self._study is not None else loaded.bytes_read if loaded is not None else 0

    def reading(self) -> SentReading | None:
        """What was read."""
        if self._loaded is None:
            return None
        self._blocks = len(self._loaded.session.tree.blocks)
        return sent(self._loaded)

    def readers(self) -> bytes | None:
        """Where the readers stand."""
        return sent_readers(self._loaded, self._blocks) if self._loaded is not None else None

    def advance(self) -> Progress:
        """Work for a moment."""
        until, done = time.monotonic() + _MOMENT, False
        while not done and time.monotonic() < until:
            done = next(self._steps, True)
        return Progress(self._study.progress[0] if self._study is not None else 0, self._whole, done)

    def _work(self) -> Iterator[bool]:
        """Everything, step by step; each tells whether all is done."""
        path, settings = self._asked
        loaded, pieces = opening_named(Named(path), settings)
        self._loaded = loaded
        for news in pieces:
            loaded.take(news)
            yield False
        # What there is by now lives as long as this process: the collector need not look through it.
        gc.freeze()
        book, pricer = book_for(loaded.session, self._counter, settings), price_here(prices_for(settings))
        study = self._study = Study(loaded.session, book, self._counter, pricer, settings.usable_share)
        for id_ in list(loaded.session.threads):
            study.thread(id_)
        study.read_so_far(whole=True)
        while study.count():
            yield False
        self._whole = True
        while study.work() or study.rest():
            yield False

    def counts(self) -> KeptRow | None:
        """What is counted and learnt."""
        assert self._study is not None
        return self._kept.row(self._study.book)

    def totals(self) -> bytes:
        """The running totals."""
        assert self._study is not None
        return totals(self._study)

    def groups(self) -> bytes:
        """What the large parts of contexts are made of."""
        assert self._study is not None
        return self._study.groups.sent()

    def part(self) -> Part | None:
        """The next part of what else there is; None behind the last."""
        assert self._study is not None
        if self._parts is None:
            self._parts = parts(self._study)
        return next(self._parts, None)

    def foretold(self, asked: AfterCall) -> Foretold:
        """The request that follows a call."""
        # Imported here: most recordings are at rest, and nobody asks.
        from ctxtui.services.editing.foretold_beside import foretell

        assert self._study is not None
        return foretell(self._study, asked, time.time)

    def keep(self) -> None:
        """Remember what was counted."""
        assert self._study is not None
        self._memory.keep_counts(self._counter.unsaved())
        self._study.keep(at_once=True)
        self._memory.close()


def make() -> Callable[[tuple[StudyAsked, str, tuple[Any, ...]]], object]:
    """What the child answers with. Whatever it cannot read it ends at: the screen's own reading tells what is wrong."""
    made: list[_Worked] = []

    def answer(request: tuple[StudyAsked, str, tuple[Any, ...]]) -> object:
        asked, what, about = request
        if not made:
            made.append(_Worked(asked))
        return getattr(made[0], what)(*about)

    return answer
