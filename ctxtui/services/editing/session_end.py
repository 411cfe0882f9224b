"""The end of a session's next request, and of a session that a tool is to resume.

A session to resume ends after an answer and its tool results. A user message after them is left out: the tool asks for
a new one, and would send both.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.core.block import ASSISTANT, HEADER, Item
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.context import is_result


class SessionEnd(NamedTuple):
    """The end of a session for a tool that resumes it.

    - `nodes`: the path of the next call's request, or, after the last call, of all that is recorded.
    - `end`: the position in `nodes` (from 0) from which on nothing belongs to the session; None if all of it does.
    """

    nodes: list[int]
    end: int | None

    @property
    def head(self) -> int:
        """The context that the tool resumes with, before any edit."""
        return self.nodes[: self.end][-1] if self.nodes[: self.end] else ROOT


def session_end(session: Session, chosen: ChosenCall) -> SessionEnd:
    """The end of a session that continues from the answer of the `chosen` call."""
    tree = session.tree
    answer = chosen.call.response_head or chosen.call.raw_head
    calls = session.thread_calls(chosen.thread)
    if chosen.number and chosen.number < len(calls):
        head = calls[chosen.number].raw_head
    else:
        head = session.threads[chosen.thread].tip if chosen.thread in session.threads else ROOT
    nodes = tree.path(head if tree.holds(head, answer) else _add_results(tree, answer, tree.path(head)))
    return SessionEnd(nodes, answer_end(tree, nodes))


def _add_results(tree: Tree, answer: int, request: Sequence[int]) -> int:
    """Extend the context of `answer` by its results in `request`, which does not continue it.

    `answer` itself if the request does not have it.
    """
    last = tree[answer].block
    position = next((n for n in reversed(range(len(request))) if tree[request[n]].block == last), len(request))
    parts = takewhile(lambda node: is_result(tree[node].kind) or tree[node].kind == HEADER, request[position + 1 :])
    results = [Item(tree[node].block, tree[node].place) for node in parts]
    while results and results[-1].block.kind == HEADER:
        results.pop()
    return tree.extend(answer, results)


def answer_end(tree: Tree, nodes: Sequence[int]) -> int | None:
    """The position after the last answer on the path `nodes` and its results.

    None if no user message follows, or without an answer.
    """
    last = next(
        (position for position in reversed(range(len(nodes))) if tree[nodes[position]].place.role in ASSISTANT), None
    )
    if last is None or not any(tree[node].opens_turn for node in nodes[last + 1 :]):
        return None
    end = last + 1
    for position in range(last + 1, len(nodes)):
        if tree[nodes[position]].opens_turn:
            break
        if is_result(tree[nodes[position]].block.kind):
            end = position + 1
    return end


def next_head(session: Session, chosen: ChosenCall) -> int:
    """The context after the call's answer: up to the thread's tip if it is the last call."""
    calls = session.thread_calls(chosen.thread)
    tip = session.threads[chosen.thread].tip if chosen.thread in session.threads else ROOT
    if (not calls or chosen.number == len(calls)) and session.tree.holds(tip, chosen.call.response_head):
        return tip
    return chosen.call.response_head or chosen.call.raw_head
