"""What a run has used, its sub-agents included, held against its budget."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ctxtui.core.session import MAIN
from ctxtui.core.usage import Usage

if TYPE_CHECKING:
    from ctxtui.core.call import Call


class Spending:
    """The `usage` and `usd` of a run so far (USD; None where a call has no known price), of which at most `budget` may
    be spent (None: no limit)."""

    def __init__(self, budget: float | None) -> None:
        self._budget = budget
        self.usage = Usage.nothing()
        self.usd: float | None = 0.0
        self.agents: Counter[str] = Counter()
        """The answers that each sub-agent got."""
        self._coming: dict[str, float] = {}
        """USD of the input of requests under way, by thread: those of sub-agents leave side by side."""

    def refuses(self, thread: str, usd: float | None) -> str:
        """Why the next request of `thread`, whose input costs about `usd` (None: not known), may not leave; "" where it
        may, and is then under way."""
        if self._budget is None:
            return ""
        if thread != MAIN and usd is None:
            return "no price is known for its model, so that no budget can be held"
        self._coming.pop(thread, None)
        spent, coming = (self.usd or 0.0) + sum(self._coming.values()), usd or 0.0
        if self.usd is not None and spent + coming > self._budget:
            return f"${spent:.4f} are spent, the next request reads for about ${coming:.4f}: over ${self._budget:g}"
        self._coming[thread] = coming
        return ""

    def took(self, call: Call, usd: float | None) -> None:
        """`call` ended and cost `usd` (None: not known)."""
        self._coming.pop(call.thread, None)
        self.usd = None if self.usd is None or usd is None else self.usd + usd
        if call.usage is not None:
            self.usage += call.usage
        if call.thread != MAIN:
            self.agents[call.thread] += 1

    def over(self, thread: str) -> None:
        """The request of `thread` that was under way came to nothing."""
        self._coming.pop(thread, None)
