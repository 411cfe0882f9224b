"""Calls in two records without common ids: which of them are the same, and which remain in doubt."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.call import EDITS, KEEP_WARM, Call
from ctxtui.core.canonical import Json
from ctxtui.core.session import CallSeen, Session
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.transcripts.joined import SessionJoin, merge_exchange, pair_calls

Row = tuple[str, float, Usage | None, str]
"""A call: its id, when it began, its report, the text of its answer."""
ANSWER = "An answer of more than forty characters, so that it names itself."


def session_of(*rows: Row) -> Session:
    session = Session()
    for id_, began, usage, text in rows:
        said = [Item(block.text(text), Place("messages", "assistant"))] if text else []
        end = session.tree.extend(ROOT, said)
        session.fold([CallSeen(Call(id_, "main", started=began, ended=began + 5, usage=usage, response_head=end))])
    return session


PAIRS: dict[str, tuple[list[Row], list[Row], dict[str, str], int]] = {
    # Transcript, exchanges, pairs, calls in doubt.
    "other figures": ([("own", 0, Usage(9), "")], [("sent", 0, Usage(8), "")], {}, 1),
    "another time": ([("own", 0, Usage(9), "")], [("sent", 60, Usage(8), "")], {}, 0),
    "no report in the transcript": ([("own", 0, None, "")], [("sent", 0, Usage(8), "")], {}, 0),
    "the answer tells": (
        [("own", 0, Usage(9), ANSWER)],
        [("other", 1, Usage(8), ""), ("sent", 0, None, ANSWER)],
        {"own": "sent"},
        0,
    ),
    "the exchange is a later call's": (
        [("first", 0, Usage(9), ""), ("second", 1, Usage(8), "")],
        [("sent", 1, Usage(8), "")],
        {"second": "sent"},
        0,
    ),
    "the exchange is an earlier call's": (
        [("first", 0, Usage(8), ""), ("second", 1, Usage(9), "")],
        [("sent", 1, Usage(8), "")],
        {"first": "sent"},
        0,
    ),
    "one of two": (
        [("first", 0, Usage(9), ""), ("second", 1, Usage(8), "")],
        [("sent", 1, Usage(8), ""), ("more", 2, Usage(7), "")],
        {"second": "sent"},
        1,
    ),
}


def request(
    id_: str, began: float, last: Item, *, model: str = "", thread: str = "main", error: str = "", ended: float = 0.0
) -> tuple[Call, Item]:
    """A request that ends in `last`; without `ended` it has no answer."""
    usage = Usage(9) if ended and not error else None
    call = Call(id_, thread, model=model, started=began, ended=ended or None, usage=usage, error=error)
    return call, last


def session_of_requests(*requests: tuple[Call, Item]) -> Session:
    """The session of these requests, after one that both records have."""
    session = Session()
    session.fold([CallSeen(Call("msg_1", "main", started=0, ended=5, usage=Usage(9)))])
    for call, last in requests:
        head = session.tree.extend(ROOT, [last])
        session.fold([CallSeen(replace(call, raw_head=head, sent_head=head, response_head=head))])
    return session


def text_item(text: str) -> Item:
    return Item(block.text(text), Place("messages", "user"))


def result_item(call_id: str, content: Json) -> Item:
    part: dict[str, Json] = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return Item(block.from_part(part), Place("messages", "user"))


MODEL, OTHER_MODEL, FAILED = "claude-sonnet-4-5", "claude-haiku-4-5", "529 overloaded"
RUN, AGAIN = text_item("run the tests"), text_item("run them again")
UNANSWERED: dict[str, tuple[tuple[Call, Item], list[tuple[Call, Item]], str | None]] = {
    # The transcript's request without an answer, the exchanges, the one that it is.
    "answered after the client ended": (
        request("own", 10, RUN, model=MODEL),
        [request("sent", 10, RUN, model=MODEL, ended=12)],
        "sent",
    ),
    "the client's end broke it off": (
        request("own", 10, RUN),
        [request("sent", 10, RUN, error="the client disconnected", ended=11)],
        "sent",
    ),
    "sent again after an error": (
        request("own", 10, RUN),
        [request("refused", 10, RUN, error=FAILED, ended=10.2), request("sent", 10.5, RUN, ended=12)],
        "sent",
    ),
    "another spelling of a result": (
        request("own", 10, result_item("t1", "ok")),
        [request("sent", 10, result_item("t1", [{"type": "text", "text": "ok"}]), ended=12)],
        "sent",
    ),
    "both failed": (
        request("own", 10, RUN, error=FAILED),
        [request("sent", 10, RUN, error=FAILED, ended=10.2)],
        "sent",
    ),
    "the same result of another call": (
        request("own", 10, result_item("t1", "ok")),
        [request("sent", 10, result_item("t2", "ok"), ended=12)],
        None,
    ),
    "another text": (request("own", 10, RUN), [request("sent", 10, AGAIN, ended=12)], None),
    "another time": (request("own", 10, RUN), [request("sent", 60, RUN, ended=62)], None),
    "another model: a title for the same prompt": (
        request("own", 10, RUN, model=MODEL),
        [request("sent", 10, RUN, model=OTHER_MODEL, ended=12)],
        None,
    ),
    "another thread": (
        request("own", 10, RUN, thread="agent"),
        [request("sent", 10, RUN, thread="main", ended=12)],
        None,
    ),
    "two that it may be": (
        request("own", 10, RUN),
        [request("sent", 10, RUN, ended=12), request("too", 10, RUN, ended=12)],
        None,
    ),
    "a refresh of the cache": (
        request("own", 10, RUN),
        [(replace(request("sent", 10, RUN, ended=12)[0], extra={KEEP_WARM: True}), RUN)],
        None,
    ),
    "failed, but it was answered": (request("own", 10, RUN, error=FAILED), [request("sent", 10, RUN, ended=12)], None),
}


@pytest.mark.parametrize("name", UNANSWERED)
def test_a_request_without_an_answer_is_only_the_exchange_that_it_must_be(name: str) -> None:
    noted, sent, match = UNANSWERED[name]
    pairs = pair_calls(session_of_requests(*sent), session_of_requests(noted)).wire
    assert {id_: call.id for id_, call in pairs.items()} == {"msg_1": "msg_1"} | ({"own": match} if match else {})


@pytest.mark.parametrize("name", PAIRS)
def test_only_calls_that_may_still_be_exchanges_are_in_doubt(name: str) -> None:
    noted, sent, pairs, doubtful = PAIRS[name]
    wire, own = session_of(*sent), session_of(*noted)
    found = pair_calls(wire, own)
    assert {id_: call.id for id_, call in found.wire.items()} == pairs
    assert found.doubtful == doubtful
    reasons = [one.reason for one in SessionJoin(wire, own).join().skipped]
    assert len(reasons) == bool(doubtful) and all(f"{doubtful} of its calls" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("decision", "usage"), [({"applied": ["e1"]}, Usage(9)), ({"released": "answer"}, None), ({"played": "s:1"}, None)]
)
def test_the_transcripts_report_counts_unless_the_model_was_not_asked(
    decision: dict[str, Json], usage: Usage | None
) -> None:
    own, sent = Call("own", "main", usage=Usage(9)), Call("sent", "main", extra={EDITS: decision})
    assert merge_exchange(own, sent).usage == usage
