"""Prices from a process of their own: loading the price library takes longer than a frame may."""

from __future__ import annotations

from collections.abc import Sequence

from ctxtui.core.call import Call
from ctxtui.pricing.price import PriceTable, essence
from ctxtui.services.counting.pricing import Priced, Pricer, price_here
from ctxtui.services.worker import Worker


class PricingWorker:
    """A pricer whose work is done by a child process; in this one if the child dies at it."""

    def __init__(self, table: PriceTable) -> None:
        self._worker = Worker(price_here, table)

    def __call__(self, calls: Sequence[Call]) -> list[Priced]:
        """The prices of `calls`."""
        return self._worker.anyhow(_prices, [essence(call) for call in calls])

    def close(self) -> None:
        """End the child."""
        self._worker.close()


def _prices(pricer: Pricer, calls: list[Call]) -> list[Priced]:
    return pricer(calls)
