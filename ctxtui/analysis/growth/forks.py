"""Forks: sessions that continue another session's call, and returns to an earlier answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from msgspec import Struct, to_builtins

from ctxtui.analysis.short_names import first_words
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.call import COMPACTIONS, Call
from ctxtui.core.category import INDEX
from ctxtui.core.session import MAIN, Happened, Session
from ctxtui.core.tree import ROOT

CONTINUED: Final = "continued from"
"""Kind of the event that records a session's origin."""


class ForkOrigin(Struct, frozen=True):
    """The call that a session continues from.

    `session` is the database id of the other session, `name` what it can be opened by (a path or that id). `call` (from
    1) is a call of its `thread`.
    """

    session: str
    name: str
    thread: str
    call: int

    @property
    def text(self) -> str:
        return json.dumps(to_builtins(self), ensure_ascii=False)


def parse_origin(text: str) -> ForkOrigin | None:
    """Parse `ForkOrigin.text`; None for anything else."""
    try:
        fields = json.loads(text)
        return ForkOrigin(str(fields["session"]), str(fields["name"]), str(fields["thread"]), int(fields["call"]))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def session_origin(session: Session) -> ForkOrigin | None:
    origins: list[Happened] = [event for event in session.happenings if event.kind == CONTINUED]
    return parse_origin(origins[-1].text) if origins else None


class CallRange(Struct, frozen=True):
    """Consecutive calls `first` to `last` (from 1) of a thread, and the first words of the user.

    `after` is the call whose answer they continue (0: they begin the thread).
    """

    first: int
    last: int
    after: int = 0
    words: str = ""


def list_lines(session: Session, thread: str = MAIN) -> list[CallRange]:
    """Lines of a thread in order: the first one, and one for each return to an earlier answer.

    A rewrite of the context (a compaction, another system prompt) returns to no answer and begins no line.
    """
    calls = session.thread_calls(thread)
    ends: dict[int, int] = {}
    ranges: list[CallRange] = []
    for number, call in enumerate(calls, 1):
        after = (
            _continued_call(session, call, ends) if number > 1 and call.epoch.start not in COMPACTIONS else number - 1
        )
        if number == 1:
            ranges.append(CallRange(1, 1, 0, _first_user_words(session, call, ROOT)))
        elif after is None or after == number - 1:
            ranges[-1] = CallRange(ranges[-1].first, number, ranges[-1].after, ranges[-1].words)
        else:
            ranges.append(
                CallRange(number, number, after, _first_user_words(session, call, calls[after - 1].response_head))
            )
        ends[call.response_head or call.raw_head] = number
    return ranges


def _continued_call(session: Session, call: Call, ends: dict[int, int]) -> int | None:
    tree, node = session.tree, call.raw_head
    while node != ROOT:
        if node in ends:
            return ends[node]
        node = tree[node].parent
    return None


def _first_user_words(session: Session, call: Call, start: int) -> str:
    tree = session.tree
    nodes: Sequence[int] = tree.path(call.raw_head, start) if tree.holds(call.raw_head, start) else ()
    user = next((node for node in nodes if tree[node].category == INDEX["user"] and tree[node].block.kind != HEADER), 0)
    return first_words(read(tree[user].block).text) if user else ""
