"""Forks: sessions that continued from a call of another one, and threads that went back to an earlier answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from msgspec import Struct, to_builtins

from ctxtui.analysis.short_names import first_words
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, EpochStart
from ctxtui.core.category import INDEX
from ctxtui.core.session import MAIN, Happened, Session
from ctxtui.core.tree import ROOT

CONTINUED: Final = "continued from"
"""Kind of the event that records a session's origin."""
_FOLDS: Final = frozenset({EpochStart.COMPACTION, EpochStart.MICROCOMPACTION})


class ForkOrigin(Struct, frozen=True):
    """Origin of a session: another session's database id, and call `call` (from 1) of its `thread`.

    `name` is what it can be opened by (a path or that id).
    """

    session: str
    name: str
    thread: str
    call: int

    @property
    def text(self) -> str:
        """Text of the event."""
        return json.dumps(to_builtins(self), ensure_ascii=False)


def origin_from(text: str) -> ForkOrigin | None:
    """Parse `ForkOrigin.text`; None for anything else."""
    try:
        found = json.loads(text)
        return ForkOrigin(str(found["session"]), str(found["name"]), str(found["thread"]), int(found["call"]))
    except (ValueError, KeyError, TypeError):
        return None


def origin_of(session: Session) -> ForkOrigin | None:
    """Origin of `session`; None if it has none, or if it is not recorded."""
    told: list[Happened] = [one for one in session.happenings if one.kind == CONTINUED]
    return origin_from(told[-1].text) if told else None


class CallRange(Struct, frozen=True):
    """Consecutive calls `first` to `last` (from 1) of a thread.

    `after` is the call whose answer they continue, if not the previous one (0: they begin the thread), `words`
    are the first words of the user.
    """

    first: int
    last: int
    after: int = 0
    words: str = ""


def lines(session: Session, thread: str = MAIN) -> list[CallRange]:
    """Lines of a thread in order: the first one, and one for each return to an earlier answer.

    A rewrite of the context (a compaction, another system prompt) returns to no answer and begins no line.
    """
    calls = session.thread_calls(thread)
    ends: dict[int, int] = {}
    found: list[CallRange] = []
    for number, call in enumerate(calls, 1):
        after = _after(session, call, ends) if number > 1 and call.epoch.start not in _FOLDS else number - 1
        if number == 1:
            found.append(CallRange(1, 1, 0, _words(session, call, ROOT)))
        elif after is None or after == number - 1:
            found[-1] = CallRange(found[-1].first, number, found[-1].after, found[-1].words)
        else:
            found.append(CallRange(number, number, after, _words(session, call, calls[after - 1].response_head)))
        ends[call.response_head or call.raw_head] = number
    return found


def _after(session: Session, call: Call, ends: dict[int, int]) -> int | None:
    """Nearest call whose end is above the context of `call`; None if it continues none."""
    tree, node = session.tree, call.raw_head
    while node != ROOT:
        if node in ends:
            return ends[node]
        node = tree[node].parent
    return None


def _words(session: Session, call: Call, since: int) -> str:
    tree = session.tree
    nodes: Sequence[int] = tree.path(call.raw_head, since) if tree.holds(call.raw_head, since) else ()
    user = next((node for node in nodes if tree[node].category == INDEX["user"] and tree[node].block.kind != HEADER), 0)
    return first_words(read(tree[user].block).text) if user else ""
