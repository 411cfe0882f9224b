"""Forecasts the cache use and cost of a chat's next request, and checks its hold rules."""

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

MAX_REPLAYED_CALLS: Final = 20
"""Number of last calls of a continued chat that are replayed into the cache simulator."""


class RequestForecast(Struct, frozen=True):
    """Forecast of the next request.

    - `total`: its input tokens; `read`: those from the cache; `usd`: their price (None: unknown).
    - `miss`: why it will read at most half of the thread's previous request from the cache; "": there is no miss.
    - `answer_usd`: price of each token of its answer; 0: nothing, or unknown.
    """

    total: int
    read: int
    usd: float | None
    miss: str = ""
    answer_usd: float = 0.0


class RequestForecaster:
    """Forecasts requests to `chat_model`, simulating its cache by `rules`.

    `forecast` is for a worker thread.
    """

    def __init__(self, book: Book, counter: Counter, rules: CacheRules, chat_model: ChatModel, price: Pricer) -> None:
        self._book = book
        self._counter = counter
        self._rules = rules
        self.chat_model = chat_model
        self._price = price
        self._prefixes = PrefixChains(Tree())
        self._summed = SummedTokens(self._prefixes.tree, self._count_block)
        self._simulator = Simulator()
        self._lock = threading.Lock()
        self._last: dict[str, tuple[Draft, CacheOutcome]] = {}
        """The last forecast of each thread whose answer has not begun yet."""
        self._previous_tokens: dict[str, int] = {}
        """Tokens of each thread's previous request."""
        self._begun: deque[tuple[Draft, float, str]] = deque()
        """Answers that began since the last forecast: applied with the next one, so that noting them never blocks."""
        self._reported: dict[str, int] = {}
        """Number of calls of each thread whose reports were taken into account."""
        self._beyond: dict[str, int] = {}
        """Tokens of each thread's last report beyond its blocks: the provider adds some at the beginning."""

    def _count_block(self, block: Block) -> int:
        card, weights = self._book.card(self.chat_model.model), self._book.weights(self.chat_model.model)
        return round(weigh(self._counter(card)(block), weights))

    def forecast(self, draft: Draft, at: float, thread: str = MAIN) -> RequestForecast | None:
        """Forecast `draft` of `thread`, sent at Unix time `at`.

        None if its cache markers would be refused.
        """
        chat_model = self.chat_model
        request = Request(tuple(self._book.session.tree.items(draft.sent_head)), draft.skeleton)
        self._counter.prefetch(self._book.card(chat_model.model), [item.block for item in request.items])
        with self._lock:
            while self._begun:
                self._apply_begun(*self._begun.popleft())
            self._learn_reports(thread)
            prompt = self._make_prompt(request, thread)
            if prompt is None:
                return None
            outcome = self._simulator.predict(prompt, at)
            self._last[thread] = draft, outcome
            miss = self._miss_reason(outcome, self._previous_tokens.get(thread, 0))
        # Outside of the lock: the first price waits for a process to start.
        cost = self._price_usage(replace(outcome.to_usage(), output=1), at)
        usd, answer = (cost.fresh + cost.read + cost.write, cost.output) if cost is not None else (None, 0.0)
        return RequestForecast(outcome.total, outcome.read, usd, miss, answer)

    def _make_prompt(self, request: Request, thread: str) -> CachedPrompt | None:
        beyond = self._beyond.get(thread, 0)

        def tokens(node: int) -> int:
            return self._summed(node) + beyond if node else 0

        name = self.chat_model.endpoint.name
        prompt, is_refused = prompt_from_request(
            self._prefixes, request, self._rules, tokens, provider=name, scope="chat"
        )
        return None if is_refused else prompt

    def _learn_reports(self, thread: str) -> None:
        """Learn from new reports: tokens beyond the blocks, and a continued chat's cache contents."""
        calls, is_first = self._book.session.thread_calls(thread), thread not in self._reported
        for call in calls[-MAX_REPLAYED_CALLS:] if is_first else calls[self._reported[thread] :]:
            if call.skeleton is None or call.usage is None or call.model != self.chat_model.model:
                continue
            prompt = self._make_prompt(
                Request(tuple(self._book.session.tree.items(call.sent_head)), call.skeleton), thread
            )
            if prompt is None:
                continue
            if is_first and call.started is not None:
                self._simulator.send(prompt, call.started, call.first_byte, why=False)
                self._previous_tokens[thread] = prompt.total
            # A report below the counted blocks is a counting error, which says nothing about other blocks.
            self._beyond[thread] = max(0, self._beyond.get(thread, 0) + call.usage.input - prompt.total)
        self._reported[thread] = len(calls)

    def _price_usage(self, usage: Usage, at: float) -> Cost | None:
        call = Call(
            "", "", provider=self.chat_model.endpoint.name, model=self.chat_model.model, usage=usage, started=at
        )
        return self._price([call])[0][0]

    def _miss_reason(self, outcome: CacheOutcome, before: int) -> str:
        if not before or outcome.read * 2 > before:
            return ""
        reason = next(iter(outcome.reasons), None)
        return reason.kind if reason is not None else "nothing of it is cached"

    def note_answer_begun(self, draft: Draft, at: float, thread: str = MAIN) -> None:
        """Note that the answer to `draft` began at Unix time `at`.

        From then on, the cache holds the request.
        """
        self._begun.append((draft, at, thread))

    def _apply_begun(self, draft: Draft, at: float, thread: str) -> None:
        last = self._last.get(thread)
        # The sent request may have a lower answer limit than the forecast one, so compare only contexts.
        if last is not None and last[0].sent_head == draft.sent_head:
            self._simulator.record(last[1], began=at)
            self._previous_tokens[thread] = last[1].total
            del self._last[thread]


def make_forecaster(book: Book, counter: Counter, chat_model: ChatModel, price: Pricer) -> RequestForecaster:
    kind = "" if chat_model.is_offline else chat_model.endpoint.kind or chat_model.endpoint.name
    return RequestForecaster(
        book, counter, cache_rules().for_model(book.card(chat_model.model), kind), chat_model, price
    )


def hold_reason(forecast: RequestForecast | None, settings: Settings) -> str:
    """The reason to hold the request by the rules of `settings`.

    "" if there is none, or without a `forecast`.
    """
    if forecast is None:
        return ""
    if settings.hold_over_tokens and forecast.total > settings.hold_over_tokens:
        return f"{forecast.total:,} tokens are over {settings.hold_over_tokens:,}"
    if settings.hold_over_usd and forecast.usd is not None and forecast.usd > settings.hold_over_usd:
        return f"its input costs about ${forecast.usd:.4f}, over ${settings.hold_over_usd:g}"
    if settings.hold_on_miss and forecast.miss:
        return f"the cache would miss ({forecast.miss})"
    return ""


def has_hold_rules(settings: Settings) -> bool:
    return bool(settings.hold_over_tokens or settings.hold_over_usd or settings.hold_on_miss)
