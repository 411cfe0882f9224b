"""What a chat's next request will read from the cache, write to it and cost; and whether a rule wants it held."""

from __future__ import annotations

import threading
from collections import deque
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.agent.conversation import Draft
from ctxtui.analysis.book import Book
from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.prefix_key import PrefixChains
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.cache.requests import SummedTokens, prompt_from_request
from ctxtui.cache.rules import CacheRules
from ctxtui.cache.simulate import Simulator
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.core.session import MAIN
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import Cost
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import cache_rules
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import Pricer
from ctxtui.tokens.weights import weigh
from ctxtui.wire.request import Request

_EARLIER: Final = 20
"""Calls of a chat that goes on that are looked at for what they have left in the cache."""


class RequestForecast(Struct, frozen=True):
    """The next request: its input in tokens by what the cache does with it, the USD that this input costs (None where
    no price is known), why it would miss ("" where it would not), and USD of each token of its answer."""

    total: int
    read: int
    written: int
    fresh: int
    usd: float | None
    miss: str = ""
    answer_usd: float = 0.0


class Foreteller:
    """Foretells the requests to `partner`, whose cache is simulated as `rules` say. `foretell` is for a worker thread;
    `began` tells that a request's answer began, so that the cache now holds it. It is called where frames are drawn,
    and waits for no worker: the next request is foretold with what it said."""

    def __init__(self, book: Book, counter: Counter, rules: CacheRules, partner: ChatModel, price: Pricer) -> None:
        self._book = book
        self._counter = counter
        self._rules = rules
        self.partner = partner
        self._price = price
        self._prefixes = PrefixChains(Tree())
        self._summed = SummedTokens(self._prefixes.tree, self._count)
        self._simulator = Simulator()
        self._lock = threading.Lock()
        self._last: dict[str, tuple[Draft, CacheOutcome]] = {}
        """The request of each thread that was foretold last and has no answer yet."""
        self._before: dict[str, int] = {}
        """Tokens of the request of each thread before it."""
        self._begun: deque[tuple[Draft, float, str]] = deque()
        """Answers that began since a request was foretold last."""
        self._reported: dict[str, int] = {}
        """How many calls of each thread were looked at for what was reported of them."""
        self._beyond: dict[str, int] = {}
        """Tokens that the last report of each thread has more than its blocks: the provider adds some in front."""

    def _count(self, block: Block) -> int:
        card, weights = self._book.card(self.partner.model), self._book.weights(self.partner.model)
        return round(weigh(self._counter(card)(block), weights))

    def foretell(self, draft: Draft, at: float, thread: str = MAIN) -> RequestForecast | None:
        """What `draft` of `thread` will come to if it is sent at Unix time `at`; None where the provider would refuse
        it."""
        partner = self.partner
        request = Request(tuple(self._book.session.tree.items(draft.sent_head)), draft.skeleton)
        self._counter.prefetch(self._book.card(partner.model), [item.block for item in request.items])
        with self._lock:
            while self._begun:
                self._take(*self._begun.popleft())
            self._learn(thread)
            made = self._prompt(request, thread)
            if made is None:
                return None
            outcome = self._simulator.predict(made, at)
            self._last[thread] = draft, outcome
            miss = self._miss(outcome, self._before.get(thread, 0))
        # Without the others waiting: the first price is asked of a process that has yet to start.
        cost = self._cost(replace(outcome.to_usage(), output=1), at)
        usd, answer = (cost.fresh + cost.read + cost.write, cost.output) if cost is not None else (None, 0.0)
        return RequestForecast(outcome.total, outcome.read, outcome.written, outcome.fresh, usd, miss, answer)

    def _prompt(self, request: Request, thread: str) -> CachedPrompt | None:
        more = self._beyond.get(thread, 0)

        def tokens(node: int) -> int:
            return self._summed(node) + more if node else 0

        name = self.partner.endpoint.name
        made, refused = prompt_from_request(self._prefixes, request, self._rules, tokens, provider=name, scope="chat")
        return None if refused else made

    def _learn(self, thread: str) -> None:
        """Take in what was reported since: what the last request had beyond its blocks; where the chat goes on, what
        its calls have left in the cache."""
        calls, first = self._book.session.thread_calls(thread), thread not in self._reported
        for call in calls[-_EARLIER:] if first else calls[self._reported[thread] :]:
            if call.skeleton is None or call.usage is None or call.model != self.partner.model:
                continue
            made = self._prompt(Request(tuple(self._book.session.tree.items(call.sent_head)), call.skeleton), thread)
            if made is None:
                continue
            if first and call.started is not None:
                self._simulator.send(made, call.started, call.first_byte, why=False)
                self._before[thread] = made.total
            # Less than its blocks come to: they are counted as too much, which says nothing of other blocks.
            self._beyond[thread] = max(0, self._beyond.get(thread, 0) + call.usage.input - made.total)
        self._reported[thread] = len(calls)

    def _cost(self, usage: Usage, at: float) -> Cost | None:
        asked = Call("", "", provider=self.partner.endpoint.name, model=self.partner.model, usage=usage, started=at)
        return self._price([asked])[0][0]

    def _miss(self, outcome: CacheOutcome, before: int) -> str:
        if not before or outcome.read * 2 > before:
            return ""
        reason = next(iter(outcome.reasons), None)
        return reason.kind if reason is not None else "nothing of it is cached"

    def began(self, draft: Draft, at: float, thread: str = MAIN) -> None:
        """The answer to `draft` of `thread` began at Unix time `at`."""
        self._begun.append((draft, at, thread))

    def _take(self, draft: Draft, at: float, thread: str) -> None:
        last = self._last.get(thread)
        # The one that left may ask for a shorter answer than the one that was foretold.
        if last is not None and last[0].sent_head == draft.sent_head:
            self._simulator.record(last[1], began=at)
            self._before[thread] = last[1].total
            del self._last[thread]


def foreteller_for(book: Book, counter: Counter, partner: ChatModel, price: Pricer) -> Foreteller:
    """What foretells the requests to `partner`, by the cache rules of its provider."""
    kind = "" if partner.is_offline else partner.endpoint.kind or partner.endpoint.name
    return Foreteller(book, counter, cache_rules().for_model(book.card(partner.model), kind), partner, price)


def held_because(found: RequestForecast | None, settings: Settings) -> str:
    """Why a rule of `settings` wants the request held; "" where none does."""
    if found is None:
        return ""
    if settings.hold_over_tokens and found.total > settings.hold_over_tokens:
        return f"{found.total:,} tokens are over {settings.hold_over_tokens:,}"
    if settings.hold_over_usd and found.usd is not None and found.usd > settings.hold_over_usd:
        return f"its input costs about ${found.usd:.3f}, over ${settings.hold_over_usd:g}"
    if settings.hold_on_miss and found.miss:
        return f"the cache would miss ({found.miss})"
    return ""


def has_rules(settings: Settings) -> bool:
    """Whether any rule is on."""
    return bool(settings.hold_over_tokens or settings.hold_over_usd or settings.hold_on_miss)
