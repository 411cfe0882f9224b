"""Recordings for the lab: one body as the requests by which it grew, with reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from ctxtui.analysis.lab.variant import Variant
from ctxtui.analysis.read.absence import NO_ABSENCES
from ctxtui.core import canonical
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.edit import Edit
from ctxtui.core.session import MAIN, CallSeen, Described, Session, TipMoved
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.curation.policies.policy import Policy, Step
from ctxtui.curation.policies.policy_context import PolicyContext, Settings
from ctxtui.services.config import settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.wire.registry import DIALECTS

COUNTER = Counter()
FRONT = 3_000
"""Tokens of system prompt and tools that a transcript lacks."""
START = 1_750_000_000.0
PROVIDERS = {"anthropic": "anthropic", "openai_chat": "openai", "openai_responses": "openai", "google": "google"}
KEYS = {"openai_responses": "input", "google": "contents"}


def grown(body: dict[str, Any], dialect: str, rng: Random, *, wire: bool = True) -> Session:
    """`body` as a session: a call before every answer, and one at its end. With `wire` every request is on record as it
    was sent, else only the conversation is."""
    key = KEYS.get(dialect, "messages")
    every = body[key]
    session, at = Session(), START
    session.apply(Described(id="grown", title="grown"))
    ends = [n for n, one in enumerate(every) if n and _answers(one) and not _answers(every[n - 1])]
    head = ROOT
    for number, end in enumerate([*ends, len(every)], 1):
        request = DIALECTS[dialect].decode_request(canonical.dumps({**body, key: every[:end]}), None)
        head = session.tree.extend(ROOT, request.items)
        stop = next((n for n in range(end, len(every)) if not _answers(every[n])), len(every))
        after = DIALECTS[dialect].decode_request(canonical.dumps({**body, key: every[:stop]}), None)
        reply = session.tree.extend(ROOT, after.items)
        call = Call(
            f"call_{number}",
            MAIN,
            raw_head=head,
            sent_head=head,
            response_head=reply if session.tree.holds(reply, head) else head,
            provider=PROVIDERS[dialect],
            model=body["model"],
            started=at,
            ended=at + 2,
            fidelity=Fidelity.WIRE if wire else Fidelity.TRANSCRIPT,
            skeleton=request.skeleton if wire else None,
        )
        session.apply(CallSeen(call))
        at += rng.choice([5.0, 40.0, 200.0, 400.0])
    session.apply(TipMoved(MAIN, head))
    return reported(session, 0 if wire else FRONT)


def reported(session: Session, front: int) -> Session:
    """`session` with reports that say what its blocks come to, and `front` tokens more."""
    book = book_for(session, COUNTER, settings.Settings())
    count_all(book, COUNTER)
    for call in list(session.calls.values()):
        tokens = front + sum(book.read_sums(call.model, call.sent_head, NO_ABSENCES))
        session.apply(CallSeen(replace(call, usage=Usage(fresh=tokens, output=20))))
    return session


def staged(calls: Sequence[Call], edits: Sequence[Edit]) -> Variant:
    """A variant in which `edits` are made at the first of `calls`."""
    heads = {call.sent_head for call in calls}

    def propose(policy_context: PolicyContext, _: Settings) -> Iterable[Edit]:
        return edits if policy_context.context.head in heads and not policy_context.log else ()

    return Variant(policy="staged", steps=(Step(Policy("staged", "makes these edits", propose)),))


def _answers(one: dict[str, Any]) -> bool:
    return one.get("role") in ("assistant", "model") or one.get("type") in (
        "function_call",
        "reasoning",
        "custom_tool_call",
    )
