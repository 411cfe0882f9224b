"""Spending of a run, including its sub-agents, compared with its budget before each request."""

from __future__ import annotations

import asyncio
from collections import Counter
from math import inf
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.agent.conversation import Draft
from ctxtui.core.call import Call
from ctxtui.core.canonical import dumps, loads
from ctxtui.core.session import MAIN
from ctxtui.core.usage import Usage
from ctxtui.services.chat.chat_model import ChatModel, charges_nothing
from ctxtui.services.chat.request_forecast import RequestForecast
from ctxtui.store.rows import Price
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Request, with_answer_limit

MIN_ANSWER_LIMIT: Final = 256
"""Minimum answer limit in tokens: below that, a request is not worth its input."""
NO_PRICE: Final = "no price is known for its model, so no budget can be enforced"


class SendPermit(NamedTuple):
    """Whether a request may be sent, and a limit of its answer.

    `refused` is the reason against it ("": it may be sent), `answer` the limit in tokens (0: the request's own stays).
    """

    refused: str = ""
    answer: int = 0


class Spending:
    """The `usage` and `usd` of a run so far, held against its budget in USD (None: no limit).

    `partial`: `usd` is a lower bound. Before a request is sent, the price of its input is reserved as forecast, and
    that of its answer up to its limit; the input may cost more than the forecast.
    """

    def __init__(self, budget: float | None) -> None:
        self.budget = budget
        self.usage = Usage.nothing()
        self.usd = 0.0
        self.partial = False
        self.agents: Counter[str] = Counter()
        """Number of answers that each sub-agent received."""
        self._reserved: dict[str, float] = {}
        """USD reserved for requests in progress, by thread: sub-agents send theirs concurrently."""
        self._unreported = 0.0
        """USD that was reserved for calls whose cost is not known."""
        self._freed = asyncio.Event()

    @property
    def summary(self) -> str:
        return f"{'≥ ' if self.partial else ''}${self.usd:.4f} spent"

    async def reserve(
        self, thread: str, chat_model: ChatModel, forecast: RequestForecast | None, draft: Draft
    ) -> SendPermit:
        """Reserve the cost of `draft` of `thread`, by its `forecast`.

        Without a known price it is refused, unless nothing is charged or there is no budget. If too little is left
        while other requests are in progress, wait for them.
        """
        self.release(thread)
        if self.budget is None or charges_nothing(chat_model, forecast.usd if forecast is not None else None):
            return SendPermit()
        if forecast is None or forecast.usd is None:
            return SendPermit(NO_PRICE)
        requested = Request((), draft.skeleton).answer_limit
        while (permit := self._try_reserve(thread, forecast.usd, forecast.answer_usd, requested)).refused:
            if not self._reserved:
                return permit
            await self._freed.wait()
        return permit

    def _try_reserve(self, thread: str, input_usd: float, answer_usd: float, requested: int) -> SendPermit:
        """Reserve a request's cost, with an answer limit that the rest of the budget pays for.

        `requested` is its own limit in tokens; without one (0) it gets none, and at most the rest is reserved.
        """
        assert self.budget is not None
        remaining_usd = self.budget - self.usd - self._unreported - sum(self._reserved.values()) - input_usd
        affordable = int(remaining_usd / answer_usd) if answer_usd else inf
        least = min(requested or MIN_ANSWER_LIMIT, MIN_ANSWER_LIMIT)
        if remaining_usd < 0 or affordable < least:
            shortage = f"the rest of ${self.budget:g} pays for {affordable} tokens of the answer, fewer than {least}"
            why = shortage if remaining_usd >= 0 else f"over ${self.budget:g}"
            return SendPermit(f"{self.summary}, the next request's input costs about ${input_usd:.4f}: {why}")
        granted = min(requested or inf, affordable)
        self._reserved[thread] = input_usd + min(remaining_usd, granted * answer_usd if answer_usd else 0.0)
        return SendPermit(answer=int(granted) if granted < requested else 0)

    def add_call(self, call: Call, chat_model: ChatModel, price: Price) -> float | None:
        """Add a `call` that ended or broke off, and return its cost in USD (None: unknown)."""
        usd, is_complete = charge_of(call, chat_model, price)
        self.usd += usd or 0.0
        self.partial = self.partial or not is_complete
        if usd is None:
            self._unreported += self._reserved.get(call.thread, 0.0)
        if call.usage is not None:
            self.usage += call.usage
        return usd

    def note_answer(self, thread: str) -> None:
        """Count an answered request of a subagent's `thread`, and release the cost reserved for it."""
        self.release(thread)
        if thread != MAIN:
            self.agents[thread] += 1

    def release(self, thread: str) -> None:
        if self._reserved.pop(thread, None) is not None:
            self._freed.set()
            self._freed = asyncio.Event()

    def retry_refusal(self) -> str:
        """Reason not to send an interrupted request again; "": none. Its reservation counts."""
        spent = self.usd + self._unreported + sum(self._reserved.values())
        if self.budget is None or spent <= self.budget:
            return ""
        return f"{self.summary}, another try could cost more than ${self.budget:g}"


def charge_of(call: Call, chat_model: ChatModel, price: Price) -> tuple[float | None, bool]:
    """The cost of `call` in USD (None: unknown), and whether it is complete.

    If the answer names a model without a price, such as a gateway's alias, the requested one's is a lower bound.
    """
    requested_model = Request((), call.skeleton).model if call.skeleton is not None else ""
    priced_call = replace(call, model=requested_model or call.model, usage=call.usage or Usage.nothing())
    listed = price(priced_call)
    if charges_nothing(chat_model, listed.usd if listed is not None else None):
        return 0.0, True
    if call.usage is None:
        return None, False
    cost = price(call)
    if cost is not None:
        return cost.usd, call.usage.output_final
    return (listed.usd if listed is not None else None), False


def limit_answer(draft: Draft, limit: int) -> Draft:
    """`draft` with an answer limit of `limit` tokens and no other change."""
    dialect = draft.skeleton.dialect
    data = dumps(with_answer_limit(loads(draft.body), dialect, limit))
    return replace(draft, body=data, skeleton=DIALECTS[dialect].decode_request(data, None).skeleton)
