"""The next request of an open session: simulated once, then priced as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.cached_input import cache_lifetime, entry_lifetime
from ctxtui.analysis.cache.next_call import NextCallForecast, forecast_next_call
from ctxtui.analysis.cache.what_if import NextRequest, Replay, Weigh
from ctxtui.analysis.money.edited_calls import CallCharge
from ctxtui.analysis.request_counts import weigh_as_reported
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.price.price_tag import Charge, PriceQuestion
from ctxtui.curation.provider_rules import rules_for
from ctxtui.pricing.price import with_usage
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cache_rules_by_call
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.counting.pricing import Pricer, local_pricer, prices_for
from ctxtui.services.editing.edited_request import SentPath

RATE_STEP_TOKENS: Final = 1_000
"""Steps of input tokens in which rates are looked up: long prompts have other rates, from round numbers on."""

Rates = tuple[float, ...] | None
"""USD per token: fresh, read, written for 5 minutes, 1 hour, 30 minutes, 12 hours, output. None: no known price."""


class Charges:
    """Prices usage at the terms of `call`, whose whole input is `length` tokens."""

    def __init__(self, pricer: Pricer, call: Call, length: int) -> None:
        self._pricer = pricer
        self.call = call
        self.length = length
        self._by_length: dict[int, Rates] = {}

    def __call__(self, usage: Usage, at: float) -> float | None:
        """The price of `usage` in USD, whatever the time `at`; None without known rates.

        If its input is less than half of `length`, the rates of the whole call apply.
        """
        length = max(usage.input, self.length if usage.input < self.length // 2 else 0, 1)
        rates = self._rates((length - 1) // RATE_STEP_TOKENS, length)
        if rates is None:
            return None
        units = (usage.fresh, usage.cache_read, usage.write_5m, usage.write_1h, usage.write_30m, usage.write_12h)
        return sum(n * rate for n, rate in zip((*units, usage.output), rates, strict=True))

    def _rates(self, key: int, length: int) -> Rates:
        if key not in self._by_length:
            usages = (
                Usage(fresh=length),
                Usage(cache_read=length),
                Usage(write_5m=length),
                Usage(write_1h=length),
                Usage(write_30m=length),
                Usage(write_12h=length),
                Usage(fresh=length, output=length),
            )
            costs = self._pricer([with_usage(self.call, usage) for usage in usages])
            # Without web searches and compaction of `call`, which the usage does not have.
            sums = [(cost.usd - cost.other) / length for cost, _ in costs if cost is not None]
            self._by_length[key] = (*sums[:-1], sums[-1] - sums[0]) if len(sums) == len(usages) else None
        return self._by_length[key]


class LaterCharges:
    """Prices usage at the terms of recorded calls: the first one of a model and provider."""

    def __init__(self, pricer: Pricer) -> None:
        self._pricer = pricer
        self._by: dict[tuple[str, str], Charges] = {}

    def __call__(self, usage: Usage, call: Call) -> float | None:
        key = call.model, call.provider
        if key not in self._by:
            self._by[key] = Charges(self._pricer, call, 0)
        return self._by[key](usage, call.started or 0.0)


class PricedRequest(Struct, frozen=True):
    """The next request of a session: its `forecast`, and the `question` to price edits with.

    `weigh` converts features of blocks to tokens of this request, `charge` prices later calls.
    """

    question: PriceQuestion
    forecast: NextCallForecast
    weigh: Weigh
    charge: CallCharge


def following_request(
    replay: Replay,
    book: Book,
    call: Call,
    head: int,
    calls: Sequence[Call],
    pricer: Pricer,
    at: float | None = None,
    under: SentPath | None = None,
) -> PricedRequest:
    """The request after `call` with the context `head`, or `under` edits.

    `calls` are the thread's up to `call`. `at` is when it is sent, as for `Replay.request_after`. Everything in `book`
    must be counted.
    """
    rules = cache_rules_by_call(book)
    price_question, request, weigh = price_question_under(
        replay, book, call, head, lambda total: Charges(pricer, call, total), at, under
    )
    charge, head = price_question.charge, head if under is None else under.head
    expected = book.forecast(replace(call, id="", raw_head=head, sent_head=head, response_head=head, usage=None))
    half = (expected.hi - expected.lo) / 2 if expected is not None else 0.0
    life = cache_lifetime(rules(call), replay.longest_life(calls))
    inferred = rules(call).mechanism.writes_at_markers and call.skeleton is None
    return PricedRequest(
        price_question,
        forecast_next_call(request, price_question.expiry, calls, half, charge, life=life, inferred=inferred),
        weigh,
        LaterCharges(pricer),
    )


ChargeTerms = Callable[[int], Charge]
"""Returns the pricing of usage for a next request of so many tokens."""


def price_question_under(
    replay: Replay,
    book: Book,
    call: Call,
    head: int,
    terms: ChargeTerms,
    at: float | None = None,
    under: SentPath | None = None,
) -> tuple[PriceQuestion, NextRequest, Weigh]:
    """The price question, request and `weigh` of `following_request`."""
    tree, model = book.session.tree, call.model or book.session.model
    request = replay.request_after(call, head, at)
    weigh = weigh_as_reported(book, model, head, request)
    if under is None:
        return make_price_question(replay, tree, call, head, request, terms(request.prompt.total)), request, weigh
    raw, request = request, replay.request_after(call, under.head, at)
    if call.is_edited:
        # Reports describe the edited requests.
        weigh = weigh_as_reported(book, model, under.head, request)
    measure = book.measure(model)

    def count(block: Block) -> int:
        return round(weigh(measure(block)))

    charge = terms((request if call.is_edited else raw).prompt.total)
    sent = make_price_question(replay, tree, call, head, raw, charge).sent_blocks
    price_question = replace(under.make_price_question(call, raw, request, charge, count), sent_blocks=sent)
    if price_question.parts_at is not None:
        price_question = replace(
            price_question, continued_read=_tokens_read_on_resend(replay, call, price_question.now)
        )
    if not call.is_edited:
        # No edited call precedes this request, so its forecast is the count of its own blocks.
        request = request._replace(prompt=price_question.prompt, forecast=None)
    return price_question, request, weigh


def make_price_question(
    replay: Replay, tree: Tree, call: Call, head: int, request: NextRequest, charge: Charge
) -> PriceQuestion:
    """The price question for `request`, which follows `call` with the unedited context `head`."""
    parts = _parting_position(tree, call, head)
    return PriceQuestion(
        request.simulator,
        request.prompt,
        charge,
        request.at,
        request_ends=request.ends,
        sent_blocks=max(tree[tree.common(head, end)].depth for end in (call.raw_head, call.sent_head)),
        parts_at=parts,
        continued_read=None if parts is None else _tokens_read_on_resend(replay, call, request.at),
        floors=request.floors,
    )


def _tokens_read_on_resend(replay: Replay, call: Call, at: float) -> int:
    """Tokens that the request of `call` would read from the cache if sent again `at`."""
    request = replay.request_after(call, call.sent_head, at)
    outcome = request.simulator.predict(request.prompt, request.at)
    return outcome.with_min_read(request.floors[0 if outcome.read else 1]).read


def _parting_position(tree: Tree, call: Call, head: int) -> int | None:
    """The raw position from which the context `head` differs from what `call` sent. None: it continues that."""
    shared = tree.common(head, call.sent_head)
    return None if shared == call.sent_head else tree[shared].depth


def next_call_of(
    session: Session,
    counter: Counter,
    settings: Settings,
    thread: str = MAIN,
    edits: Sequence[Edit] = (),
    at: float | None = None,
) -> PricedRequest | None:
    """The next request of a thread under the applied `edits`. `at` as for `Replay.request_after`.

    None if the thread has no calls, or its last one has no report.
    """
    book = book_for(session, counter, settings)
    return next_call_in(Replay(book, cache_rules_by_call(book)), book, counter, settings, thread, edits, at)


def next_call_in(
    replay: Replay,
    book: Book,
    counter: Counter,
    settings: Settings,
    thread: str,
    edits: Sequence[Edit] = (),
    at: float | None = None,
    *,
    head: int | None = None,
    model: str = "",
) -> PricedRequest | None:
    """Like `next_call_of`, with an existing `book` and `replay`.

    - `head`: the context of the request (None: the thread's next).
    - `model`: its model ("": the last call's).
    """
    session = book.session
    calls = session.thread_calls(thread)
    if not calls or calls[-1].usage is None:
        return None
    last = replace(calls[-1], model=model) if model else calls[-1]
    if head is None:
        tip = session.threads[thread].tip if thread in session.threads else last.response_head
        head = tip if session.tree.holds(tip, last.response_head) else last.response_head or last.sent_head
    count_for_model(book, counter, last.model)
    sent_path = None
    if edits:
        context = Context.of_call(session.tree, last, head)
        sent_path = SentPath.from_applied(apply(context, edits, rules_for(context.dialect, book.card(last.model))))
        count_for_model(book, counter, last.model)
    return following_request(replay, book, last, head, calls, local_pricer(prices_for(settings)), at, sent_path)


def forecast_first(replay: Replay, book: Book, counter: Counter, settings: Settings, call: Call) -> NextCallForecast:
    """The forecast of `call`, the first of its thread, from its request and other threads."""
    count_for_model(book, counter, call.model)
    request = replay.request_of(call)
    charge = Charges(local_pricer(prices_for(settings)), call, request.prompt.total)
    return forecast_next_call(request, None, [call], 0.0, charge, life=entry_lifetime(call))


def count_for_model(book: Book, counter: Counter, model: str) -> None:
    """Count all blocks for the models of the session, and for `model` if it is another one."""
    count_all(book, counter)
    if model in book.models:
        return
    done, total = book.cumulated(model).done, len(book.session.tree)
    counter.prefetch(book.card(model), [book.session.tree[node].block for node in range(done, total)])
    book.cumulated(model).advance(None)
