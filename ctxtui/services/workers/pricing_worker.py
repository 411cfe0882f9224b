"""Prices from a process of their own: loading the price library takes longer than a frame may."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxtui.core.call import Call
from ctxtui.pricing.price import PriceTable, essence
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.counting.pricing import Priced, price_here, priced_call


class PricingWorker:
    """A pricer whose work is done by a child process; in this one if the child dies at it."""

    def __init__(self, table: PriceTable) -> None:
        self._table = table
        self._child = ChildProcess("ctxtui.services.workers.pricing_worker:make")
        self._gone = False

    def __call__(self, calls: Sequence[Call]) -> list[Priced]:
        """The prices of `calls`."""
        if not self._gone:
            try:
                found: list[Priced] = self._child.ask((self._table, [essence(call) for call in calls]))
            except ChildGone:
                self._gone = True
            else:
                return found
        return price_here(self._table)(calls)

    def close(self) -> None:
        """End the child."""
        self._child.close()


def make() -> Callable[[tuple[PriceTable, list[Call]]], list[Priced]]:
    """What the child answers with."""

    def answers(asked: tuple[PriceTable, list[Call]]) -> list[Priced]:
        table, questions = asked
        return [priced_call(one, table) for one in questions]

    return answers
