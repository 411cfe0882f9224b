"""Sessions whose reports follow from their contexts, billed by a slow cache model that is plain to see through."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path

from msgspec.structs import fields

import ctxtui
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.miss import CacheMiss
from ctxtui.analysis.cache.miss_finder import session_misses
from ctxtui.analysis.money.bill import Bill, make_bill
from ctxtui.analysis.money.block_costs import ThreadCosts, thread_costs
from ctxtui.core import block
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Session
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import price_call, rates_for_call
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.tokens.block_features import count_features
from ctxtui.tokens.estimators import estimator_rule
from ctxtui.tokens.models import ModelCard, parse_models
from tests.analysis.sessions import said

MODEL = "claude-opus-4-5-20251101"
TABLE = parse_models((Path(ctxtui.__file__).parent / "data/models.toml").read_text()).with_rules(
    (estimator_rule("chars/4"),)
)
Context = Sequence[tuple[Hashable, int]]
"""What a call sent: each block's name and tokens."""


def counted(session: Session) -> Book:
    """The session's book, a quarter of the characters for a token."""

    def measure(card: ModelCard):  # type: ignore[no-untyped-def]
        return lambda one: count_features(one, lambda text: -(-len(text) // 4), card)

    made = Book(session, TABLE, measure)
    made.advance()
    return made


def missed(session: Session) -> tuple[CacheMiss, ...]:
    """The session's misses, priced."""
    book, costs = counted(session), {id_: price_call(call) for id_, call in session.calls.items()}
    return session_misses(book, cache_rules_by_call(book), costs, rates_for_call).misses


def billed_session(session: Session) -> Bill:
    """The session's bill by list prices."""
    costs = {id_: price_call(call) for id_, call in session.calls.items()}
    return make_bill(counted(session), costs, missed(session))


def agent(sizes: Sequence[int], pauses: Sequence[float], ttl: str | None = "5m", fixed: int = 5000) -> Session:
    """An agent that calls a tool at every step: results of `sizes` tokens, `pauses` seconds between calls, entries of
    `ttl` for all that is sent (None: no cache at all)."""
    session, times = Session(), [1.7e9]
    for pause in pauses:
        times.append(times[-1] + pause)
    tree = session.tree
    head = tree.extend(ROOT, said("user", block.text("task" * fixed)))
    calls: list[Call] = []
    for number, size in enumerate([*sizes, 0]):
        use = block.from_part({"type": "tool_use", "id": f"t{number}", "name": "read", "input": {"n": number}})
        answer = tree.extend(head, said("assistant", use))
        calls.append(
            Call(
                f"m{number}",
                MAIN,
                head,
                head,
                answer,
                provider="anthropic",
                model=MODEL,
                started=times[number],
                fidelity=Fidelity.WIRE,
            )
        )
        result = block.from_part({"type": "tool_result", "tool_use_id": f"t{number}", "content": "word" * size})
        head = tree.extend(answer, said("user", result))
    for call in calls:
        session.apply(CallSeen(call))
    for call, usage in zip(calls, usages(contexts(session), times, ttl), strict=True):
        session.apply(CallSeen(Call(**{**{f.name: getattr(call, f.name) for f in fields(call)}, "usage": usage})))
    return session


def contexts(session: Session) -> list[list[tuple[Hashable, int]]]:
    """What every call of the main thread sent, in our tokens."""
    running = costs_of(session)[0].running
    return [
        [(node, running.block_tokens(node)) for node in session.tree.path(call.sent_head)]
        for call in session.thread_calls(MAIN)
    ]


def usages(sent: Sequence[Context], times: Sequence[float], ttl: str | None, minimum: int = 0) -> list[Usage]:
    """Reports of a provider that keeps the whole of each call's context for `ttl`, from its start."""
    lives = {"5m": 300.0, "1h": 3600.0, None: -1.0}[ttl]
    found, before, at = [], list[tuple[Hashable, int]](), float("-inf")
    for context, now in zip(sent, times, strict=False):
        same = 0
        while now - at <= lives and same < min(len(before), len(context)) and before[same] == context[same]:
            same += 1
        read = sum(tokens for _, tokens in context[:same])
        rest = sum(tokens for _, tokens in context[same:])
        if ttl is None or read + rest < minimum:
            found.append(Usage(fresh=read + rest, output=100))
        else:
            found.append(Usage(cache_read=read, output=100, **{f"write_{ttl}": rest}))
        before, at = list(context), now
    return found


def billed(reports: Sequence[Usage], calls: Sequence[Call]) -> float:
    """USD of these reports at the calls' rates."""
    total = 0.0
    for usage, call in zip(reports, calls, strict=True):
        rates = rates_for_call(call)
        assert rates is not None
        total += usage.fresh * rates.fresh + usage.cache_read * rates.read + rates.write_cost(usage)
        total += usage.output * rates.output
    return total


def costs_of(session: Session) -> list[ThreadCosts]:
    """The session's threads with their ledgers."""
    return thread_costs(counted(session), {id_: price_call(call) for id_, call in session.calls.items()})
