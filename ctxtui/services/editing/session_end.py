"""Where a session ends that a tool is to resume: behind an answer and its results, never with the next prompt.

A tool asks for a prompt when it resumes, and would send one that waits in the file along with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.context import ASSISTANT, is_result


class SessionEnd(NamedTuple):
    """The path `nodes` of what is on record up to the next answer, and `end`, the place on it from which on nothing is
    part of the session (None: all of it is). Places count from 0."""

    nodes: list[int]
    end: int | None

    @property
    def head(self) -> int:
        """The context that the tool resumes with, before any edit."""
        return self.nodes[: self.end][-1] if self.nodes[: self.end] else ROOT


def session_end(session: Session, chosen: ChosenCall) -> SessionEnd:
    """Where a session ends that goes on from the answer of the `chosen` call."""
    tree = session.tree
    answer = chosen.call.response_head or chosen.call.raw_head
    calls = session.thread_calls(chosen.thread)
    if chosen.number and chosen.number < len(calls):
        head = calls[chosen.number].raw_head
    else:
        head = session.threads[chosen.thread].tip if chosen.thread in session.threads else ROOT
    nodes = tree.path(head if tree.holds(head, answer) else answer)
    return SessionEnd(nodes, answered(tree, nodes))


def answered(tree: Tree, nodes: Sequence[int]) -> int | None:
    """The place on the path `nodes` behind its last answer and that answer's results, where a person spoke after it;
    None where nobody did."""
    last = next((at for at in reversed(range(len(nodes))) if is_answer(tree[nodes[at]].place.role)), None)
    if last is None or not any(tree[node].opens_turn for node in nodes[last + 1 :]):
        return None
    end = last + 1
    for at in range(last + 1, len(nodes)):
        if tree[nodes[at]].opens_turn:
            break
        if is_result(tree[nodes[at]].block.kind):
            end = at + 1
    return end


def is_answer(role: str) -> bool:
    """Whether blocks of `role` are a model's."""
    return role in ASSISTANT
