"""What is remembered between runs, in the store: token counts by block, Home's figures by file.

Losing it costs time and nothing else: where the database cannot be opened, everything is worked out anew and `trouble`
says why.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.counting import Bench, Counter, LocalCounts
from ctxtui.services.counting.labels import Labels
from ctxtui.store.store import Store
from ctxtui.tokens.features import Features

T = TypeVar("T")


class Memory:
    """The store's memory, usable from any thread: each has its own connection, opened when it first asks.

    Without `create` a database that does not exist stays so, and nothing is remembered.
    """

    def __init__(self, path: Path, *, create: bool) -> None:
        self._path = path
        self._create = create
        self._own = threading.local()
        self.trouble: CtxtuiError | None = None

    def _store(self) -> Store | None:
        if self.trouble is not None or not (self._create or self._path.exists()):
            return None
        found: Store | None = getattr(self._own, "store", None)
        if found is None:
            found = self._own.store = Store.open(self._path)
        return found

    def _asked(self, question: Callable[[Store], T], otherwise: T) -> T:
        try:
            store = self._store()
            return otherwise if store is None else question(store)
        except CtxtuiError as error:
            self.trouble = error
            return otherwise

    def counts(self, way: str, digests: list[str]) -> dict[str, Features]:
        """The remembered features of blocks, for a way of counting."""
        return {digest: Features(*one) for digest, one in self.numbers(way, digests).items()}

    def numbers(self, way: str, digests: list[str]) -> dict[str, tuple[float, ...]]:
        """What is remembered of blocks, for a way of counting, as it was kept."""
        nothing: dict[str, tuple[float, ...]] = {}
        return self._asked(lambda store: store.load_counts(digests, way), nothing)

    def keep_counts(self, new: Mapping[str, Mapping[str, tuple[float, ...]]]) -> None:
        """Remember features and labels, by way of counting and digest."""
        for way, counts in new.items():
            self._asked(lambda store, way=way, counts=counts: store.save_counts(counts, way), None)  # type: ignore[misc]

    def summary(self, path: str, size: int, mtime: float, version: str) -> Json | None:
        """The remembered figures of a file that has not changed since."""
        return self._asked(lambda store: store.load_summary(path, size, mtime, version), None)

    def keep_summary(self, path: str, size: int, mtime: float, version: str, summary: Json) -> None:
        """Remember the figures of a file."""
        self._asked(lambda store: store.save_summary(path, size, mtime, version, summary), None)

    def close(self) -> None:
        """Close this thread's connection."""
        store: Store | None = getattr(self._own, "store", None)
        if store is not None:
            self._own.store = None
            store.close()


@contextmanager
def counter_with_memory(settings: Settings, bench: Bench | None = None) -> Iterator[Counter]:
    """A counter that remembers in the database, if there is one; what is new is kept when the block is left."""
    memory = Memory(database(settings.data_dir), create=False)
    here = LocalCounts()
    labels = Labels(settings.labels, here, memory.numbers)
    counter = Counter(bench or here, memory.counts, labels)
    try:
        yield counter
        memory.keep_counts(counter.unsaved())
    finally:
        memory.close()
