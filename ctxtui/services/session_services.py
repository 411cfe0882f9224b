"""Counting and pricing for an open session: two child processes and the count cache."""

from __future__ import annotations

from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.pricing.price import Cost
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, table_for
from ctxtui.services.counting.count_cache import CountCache
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.labels import Labels
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.study.study import Study
from ctxtui.services.workers.counting_worker import CountingWorker, PricingWorker


class SessionServices:
    """Counting and pricing for one session.

    Child processes start when first used, and `close` ends them.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._cache = CountCache(database(settings.data_dir), create=False)
        self.counting = CountingWorker()
        labels = Labels(settings.labels, self.counting, self._cache.numbers)
        self.counter = Counter(self.counting, self._cache.counts, labels)
        self.prices = PricingWorker(prices_for(settings))

    def preload(self) -> None:
        """Read the model tables now, so that later callers need not wait."""
        table_for(self._settings).card("")

    def study(self, session: Session) -> Study:
        """The figures of `session` (a study), of which nothing is computed yet."""
        book = book_for(session, self.counter, self._settings)
        return Study(session, book, self.counter, self.prices, self._settings.usable_share)

    def price(self, call: Call) -> Cost | None:
        """The cost of `call`; None if its price is not known."""
        return self.prices([call])[0][0]

    def save_counts(self) -> None:
        """Save new counts to the database if it exists."""
        self._cache.store_counts(self.counter.unsaved())

    def close(self) -> None:
        self.counting.close()
        self.prices.close()
        self._cache.close()
