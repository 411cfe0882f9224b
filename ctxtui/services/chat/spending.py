"""What a run has used, its sub-agents included, and what its budget still pays."""

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
from ctxtui.services.chat.chat_model import ChatModel, keeps_to_itself
from ctxtui.services.chat.request_forecast import RequestForecast
from ctxtui.store.rows import Price
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import ANSWER_LIMITS, Request

LEAST_ANSWER: Final = 256
"""Tokens of an answer below which a request is not worth its input."""
UNKNOWN: Final = "no price is known for its model, so that no budget can be held"


class Leave(NamedTuple):
    """Whether a request may leave: why not ("": it may), and with an answer of at most how many tokens (0: as many as
    it asks for)."""

    refused: str = ""
    answer: int = 0


class Spending:
    """The `usage` and `usd` of a run so far, of which at most `budget` may be spent (None: no limit); `partial` where
    `usd` is the least that it can be. What a request can cost is reserved before it leaves: its input as foretold,
    and its answer up to its limit."""

    def __init__(self, budget: float | None) -> None:
        self.budget = budget
        self.usage = Usage.nothing()
        self.usd = 0.0
        self.partial = False
        self.agents: Counter[str] = Counter()
        """The answers that each sub-agent got."""
        self._reserved: dict[str, float] = {}
        """USD of requests under way, by thread: those of sub-agents leave side by side."""
        self._untold = 0.0
        """USD that answers whose cost nobody told can have cost."""
        self._freed = asyncio.Event()

    @property
    def told(self) -> str:
        """What is spent, in words."""
        return f"{'≥ ' if self.partial else ''}${self.usd:.4f} are spent"

    async def reserve(self, thread: str, partner: ChatModel, found: RequestForecast | None, draft: Draft) -> Leave:
        """Reserve what `draft` of `thread`, foretold as `found`, can cost. Where too little is left because others are
        under way, wait for them."""
        self.over(thread)
        if self.budget is None or _is_free(partner, found.usd if found is not None else None):
            return Leave()
        if found is None or found.usd is None:
            return Leave(UNKNOWN)
        while (
            leave := self._leave(thread, found.usd, found.answer_usd, Request((), draft.skeleton).answer_limit)
        ).refused:
            if not self._reserved:
                return leave
            await self._freed.wait()
        return leave

    def _leave(self, thread: str, input_usd: float, answer_usd: float, wanted: int) -> Leave:
        """Reserve the smaller of what is asked for (`wanted` tokens of an answer, 0: no limit) and what is left."""
        assert self.budget is not None
        left = self.budget - self.usd - self._untold - sum(self._reserved.values()) - input_usd
        paid = int(left / answer_usd) if answer_usd else inf
        if left < 0 or paid < min(wanted or LEAST_ANSWER, LEAST_ANSWER):
            short = f"what is left of ${self.budget:g} pays {paid} tokens of its answer, fewer than {LEAST_ANSWER}"
            why = short if left >= 0 else f"over ${self.budget:g}"
            return Leave(f"{self.told}, the next request reads for about ${input_usd:.4f}: {why}")
        most = min(wanted or inf, paid)
        self._reserved[thread] = input_usd + min(left, most * answer_usd if answer_usd else 0.0)
        return Leave(answer=int(most) if most < wanted else 0)

    def took(self, call: Call, partner: ChatModel, price: Price) -> float | None:
        """`call` ended, or broke off after its answer had begun; what it cost (None: not known)."""
        usd, sure = charged(call, partner, price)
        self.usd += usd or 0.0
        self.partial = self.partial or not sure
        if usd is None:
            self._untold += self._reserved.get(call.thread, 0.0)
        if call.usage is not None:
            self.usage += call.usage
        return usd

    def answered(self, thread: str) -> None:
        """A request of `thread` was answered."""
        self.over(thread)
        if thread != MAIN:
            self.agents[thread] += 1

    def over(self, thread: str) -> None:
        """No request of `thread` is under way any more."""
        if self._reserved.pop(thread, None) is not None:
            self._freed.set()
            self._freed = asyncio.Event()

    def again(self, thread: str) -> str:
        """Why a request that broke off may not leave a second time ("": it may); what was reserved for it still is."""
        spent = self.usd + self._untold + sum(self._reserved.values())
        return (
            ""
            if self.budget is None or spent <= self.budget
            else f"{self.told}, another try could cost more than ${self.budget:g}"
        )


def _is_free(partner: ChatModel, usd: float | None) -> bool:
    """Whether `partner` charges nothing for what has this list price (None: it has none). A program at a local address
    that does not say which server it is may be a gateway: there the list price counts."""
    return keeps_to_itself(partner) or (partner.endpoint.local and usd is None)


def charged(call: Call, partner: ChatModel, price: Price) -> tuple[float | None, bool]:
    """What `partner` charges for `call` in USD (None: not known), and whether that is all. Where the answer names a
    model without a price, as a gateway's alias, the price of the model that was asked holds: it may cost more."""
    asked = Request((), call.skeleton).model if call.skeleton is not None else ""
    known = replace(call, model=asked or call.model, usage=call.usage or Usage.nothing())
    listed = price(known)
    if _is_free(partner, listed.usd if listed is not None else None):
        return 0.0, True
    if call.usage is None:
        return None, False
    cost = price(call)
    if cost is not None:
        return cost.usd, call.usage.output_final
    return (listed.usd if listed is not None else None), False


def with_answer_limit(draft: Draft, most: int) -> Draft:
    """`draft` with an answer of at most `most` tokens; nothing else of it changes."""
    body = loads(draft.body)
    body[next((name for name in ANSWER_LIMITS if name in body), ANSWER_LIMITS[0])] = most
    data = dumps(body)
    return replace(draft, body=data, skeleton=DIALECTS[draft.skeleton.dialect].decode_request(data, None).skeleton)
