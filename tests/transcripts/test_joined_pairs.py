"""Calls in two records without common ids: which of them are the same, and which remain in doubt."""

from __future__ import annotations

import pytest

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call
from ctxtui.core.session import CallSeen, Session
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.transcripts.joined import SessionJoin, pair_calls

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


@pytest.mark.parametrize("name", PAIRS)
def test_only_calls_that_may_still_be_exchanges_are_in_doubt(name: str) -> None:
    noted, sent, pairs, doubtful = PAIRS[name]
    wire, own = session_of(*sent), session_of(*noted)
    found = pair_calls(wire, own)
    assert {id_: call.id for id_, call in found.wire.items()} == pairs
    assert found.doubtful == doubtful
    reasons = [one.reason for one in SessionJoin(wire, own).join().skipped]
    assert len(reasons) == bool(doubtful) and all(f"{doubtful} of its calls" in reason for reason in reasons)
