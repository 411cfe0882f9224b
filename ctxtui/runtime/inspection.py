"""An inspection: what was named, opened slice by slice, studied, followed; what it counted is remembered."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from ctxtui.core.session import Session
from ctxtui.runtime.books import book_for
from ctxtui.runtime.counting import Counter
from ctxtui.runtime.counting_apart import Apart
from ctxtui.runtime.ending import ending
from ctxtui.runtime.loaded import Loaded, News
from ctxtui.runtime.memory import Memory
from ctxtui.runtime.places import database
from ctxtui.runtime.pricing import prices_for
from ctxtui.runtime.pricing_apart import PricesApart
from ctxtui.runtime.settings import Settings
from ctxtui.runtime.sources import locate, opening_named, stored_ids
from ctxtui.runtime.study import Study


class Inspection:
    """Everything behind one open session. `open` and `study` are for a worker thread, `close` when the screen goes."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        self._memory = Memory(database(settings.data_dir), create=False)
        self._bench = Apart()
        self._counter = Counter(self._bench, self._memory.counts)
        self._prices = PricesApart(prices_for(settings))

    def open(self) -> tuple[Loaded, Iterator[News]]:
        """The recording with nothing read yet, and its first reading. Raises what `locate` and `opening` raise."""
        found = locate(self.name, Path.cwd(), lambda prefix: stored_ids(prefix, self.settings))
        loaded, news = opening_named(found, self.settings)
        return loaded, iter(news)

    def glimpse(self) -> Session | None:
        """The end of the recording, where the whole of it takes long to read; None where it does not."""
        path = Path(self.name)
        return ending(path) if self.name != "-" and path.is_file() else None

    def study(self, session: Session) -> Study:
        """The figures of `session`; nothing is worked out yet."""
        book = book_for(session, self._counter, self.settings)
        return Study(session, book, self._counter, self._prices, self.settings.usable_share)

    def is_live(self, loaded: Loaded) -> bool:
        """Whether the recording was written to lately."""
        try:
            newest = max((os.stat(path).st_mtime for path in loaded.paths), default=0.0)
        except OSError:
            return False
        return time.time() - newest < self.settings.live_seconds

    def keep(self) -> None:
        """Remember what was counted."""
        self._memory.keep_counts(self._counter.unsaved())

    def close(self) -> None:
        """End the helpers."""
        self._bench.close()
        self._prices.close()
        self._memory.close()
