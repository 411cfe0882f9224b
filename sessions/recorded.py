"""A sample as a session: its bodies read by the codecs that read everybody's."""

from __future__ import annotations

import json

from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Session, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.wire.codec.memo import Memo
from ctxtui.wire.registry import DIALECTS
from sessions.recording import Exchange, Json, Recording


def body(value: Json) -> bytes:
    """A request as it was sent: minified JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def session(recording: Recording) -> Session:
    """All calls of `recording` on one tree."""
    tree = Tree()
    return Session(tree).fold(_events(recording, tree))


def _events(recording: Recording, tree: Tree) -> list[Event]:
    memo = Memo()
    events: list[Event] = [
        Described(id=recording.name, title=recording.title, source="ctxtui"),
        ThreadSeen(MAIN),
        *(ThreadSeen(name, label, parent) for name, (label, parent) in recording.threads.items()),
    ]
    for exchange in recording.exchanges:
        call = _call(recording, exchange, tree, memo)
        events += [CallSeen(call), TipMoved(call.thread, call.response_head)]
    return events


def _call(recording: Recording, exchange: Exchange, tree: Tree, memo: Memo) -> Call:
    dialect = DIALECTS[recording.dialect]
    request = dialect.decode_request(body(exchange.request), memo)
    response = dialect.decode_response(exchange.response)
    head = tree.extend(ROOT, request.items)
    return Call(
        id=response.id,
        thread=exchange.thread,
        raw_head=head,
        sent_head=head,
        response_head=tree.extend(head, response.items if exchange.answer_kept else ()),
        provider=recording.provider,
        model=response.model or request.model,
        started=exchange.started,
        first_byte=exchange.first_byte,
        ended=exchange.ended,
        fidelity=Fidelity.WIRE,
        usage=response.usage,
        stop_reason=response.stop_reason,
        skeleton=request.skeleton,
        extra=response.extra,
    )
