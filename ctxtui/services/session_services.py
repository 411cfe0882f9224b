"""What an inspection counts and prices with: two processes, and the memory of what was counted before."""

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


class Helpers:
    """The processes start when they are first asked; `close` ends them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._memory = CountCache(database(settings.data_dir), create=False)
        self.bench = CountingWorker()
        """Where blocks are counted."""
        labels = Labels(settings.labels, self.bench, self._memory.numbers)
        self.counter = Counter(self.bench, self._memory.counts, labels)
        """Counts, and remembers."""
        self.prices = PricingWorker(prices_for(settings))
        """Prices calls."""

    def ready(self) -> None:
        """Read the tables now, so that nothing waits for them later."""
        table_for(self._settings).card("")

    def study(self, session: Session) -> Study:
        """The figures of `session`; nothing is worked out yet."""
        book = book_for(session, self.counter, self._settings)
        return Study(session, book, self.counter, self.prices, self._settings.usable_share)

    def price(self, call: Call) -> Cost | None:
        """What `call` costs; None where no price is known."""
        return self.prices([call])[0][0]

    def keep(self) -> None:
        """Remember what was counted."""
        self._memory.store_counts(self.counter.unsaved())

    def close(self) -> None:
        """End the processes."""
        self.bench.close()
        self.prices.close()
        self._memory.close()
