"""What an inspection counts and prices with: two processes, and the memory of what was counted before."""

from __future__ import annotations

from ctxtui.core.session import Session
from ctxtui.runtime.books import book_for, table_for
from ctxtui.runtime.counting import Counter
from ctxtui.runtime.counting_apart import Apart
from ctxtui.runtime.labels import Labels
from ctxtui.runtime.memory import Memory
from ctxtui.runtime.places import database
from ctxtui.runtime.pricing import prices_for
from ctxtui.runtime.pricing_apart import PricesApart
from ctxtui.runtime.settings import Settings
from ctxtui.runtime.study import Study


class Helpers:
    """The processes start when they are first asked; `close` ends them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._memory = Memory(database(settings.data_dir), create=False)
        self._bench = Apart()
        labels = Labels(settings.labels, self._bench, self._memory.numbers)
        self._counter = Counter(self._bench, self._memory.counts, labels)
        self._prices = PricesApart(prices_for(settings))

    def ready(self) -> None:
        """Read the tables now, so that nothing waits for them later."""
        table_for(self._settings).card("")

    def study(self, session: Session) -> Study:
        """The figures of `session`; nothing is worked out yet."""
        book = book_for(session, self._counter, self._settings)
        return Study(session, book, self._counter, self._prices, self._settings.usable_share)

    def keep(self) -> None:
        """Remember what was counted."""
        self._memory.keep_counts(self._counter.unsaved())

    def close(self) -> None:
        """End the processes."""
        self._bench.close()
        self._prices.close()
        self._memory.close()
