"""Cache of token counts by block and of Home's figures by file, in the store.

Losing it only costs time: if the database cannot be opened, everything is computed again.
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
from ctxtui.services.counting.counting import Counter, LocalCounts
from ctxtui.services.counting.labels import Labels
from ctxtui.store.store import Store
from ctxtui.tokens.features import Features

T = TypeVar("T")


class CountCache:
    """The store's cache, usable from any thread; each thread opens its own connection.

    Without `create`, a missing database is not created, and nothing is stored then. `trouble` is an error of the
    database, which is not used any more after it; None: none so far.
    """

    def __init__(self, path: Path, *, create: bool) -> None:
        self._path = path
        self._create = create
        self._own = threading.local()
        self.trouble: CtxtuiError | None = None

    def _open_store(self) -> Store | None:
        if self.trouble is not None or not (self._create or self._path.exists()):
            return None
        store: Store | None = getattr(self._own, "store", None)
        if store is None:
            store = self._own.store = Store.open(self._path)
        return store

    def _query_store(self, query: Callable[[Store], T], otherwise: T) -> T:
        try:
            store = self._open_store()
            return otherwise if store is None else query(store)
        except CtxtuiError as error:
            self.trouble = error
            return otherwise

    def counts(self, way: str, digests: list[str]) -> dict[str, Features]:
        """The cached features of blocks by digest.

        `way` is the way of counting (`counting.counting_key`).
        """
        return {digest: Features(*values) for digest, values in self.numbers(way, digests).items()}

    def numbers(self, way: str, digests: list[str]) -> dict[str, tuple[float, ...]]:
        """The cached features, or labelled pieces, of blocks by digest, as plain numbers."""
        nothing: dict[str, tuple[float, ...]] = {}
        return self._query_store(lambda store: store.load_counts(digests, way), nothing)

    def store_counts(self, new: Mapping[str, Mapping[str, tuple[float, ...]]]) -> None:
        """Store features and labels, by way of counting and digest."""
        for way, counts in new.items():
            self._query_store(lambda store, way=way, counts=counts: store.save_counts(counts, way), None)  # type: ignore[misc]

    def summary(self, path: str, size: int, mtime: float, version: str) -> Json | None:
        """The cached figures of a file or stored session; None if there are none.

        `size` and `mtime` identify its state, `version` the way in which the figures are computed.
        """
        return self._query_store(lambda store: store.load_summary(path, size, mtime, version), None)

    def store_summary(self, path: str, size: int, mtime: float, version: str, summary: Json) -> None:
        self._query_store(lambda store: store.save_summary(path, size, mtime, version, summary), None)

    def close(self) -> None:
        """Close this thread's connection."""
        store: Store | None = getattr(self._own, "store", None)
        if store is not None:
            self._own.store = None
            store.close()


@contextmanager
def cached_counter(settings: Settings) -> Iterator[Counter]:
    """A counter that uses the cache if the database exists.

    New counts are stored at the end of the block, unless it raises.
    """
    cache = CountCache(database(settings.data_dir), create=False)
    local = LocalCounts()
    labels = Labels(settings.labels, local, cache.numbers)
    counter = Counter(local, cache.counts, labels)
    try:
        yield counter
        cache.store_counts(counter.unsaved())
    finally:
        cache.close()
