"""Finds the first block in which two requests differ, of the blocks that the model read."""

from __future__ import annotations

from typing import NamedTuple

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import not_recorded_tokens
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.tree import ROOT
from ctxtui.core.turns import is_read


class FirstDifference(NamedTuple):
    """Nodes of the first blocks that differ between two requests.

    `ROOT` on a side that ends there. `token` is the length of the common prefix in tokens, including unrecorded system
    prompt and tools.
    """

    before: int
    now: int
    token: int


def reads_block(book: Book, call: Call, node: int) -> bool:
    """Whether the model reads any of the block of `node`, which is on the path of `call`."""
    if not is_read(book.session.tree, call.sent_head, node, strips_thinking=book.card(call.model).strips_thinking):
        return False
    absences = book.contexts.absences_at(call.sent_head).get(node)
    return absences is None or absences.left > 0


def read_nodes(book: Book, call: Call, after: int = ROOT) -> list[int]:
    """Nodes after `after` whose blocks the model read in the context of `call`.

    They are in prompt order, without headers.
    """
    tree = book.session.tree
    nodes = tree.path(call.sent_head, after)
    return [node for node in nodes if tree[node].block.kind != HEADER and reads_block(book, call, node)]


def find_first_difference(book: Book, running: RunningTotals, before: Call, call: Call) -> FirstDifference:
    """First difference between the contexts of `before` and `call`.

    `running` must count both for the model of `call`.
    """
    tree = book.session.tree
    common = tree.common(before.sent_head, call.sent_head)
    start = common
    if running.read_tokens(before.sent_head, common) != running.read_tokens(call.sent_head, common):
        start = ROOT
    old, new = read_nodes(book, before, start), read_nodes(book, call, start)
    same = 0
    while same < min(len(old), len(new)) and (
        old[same] == new[same] or tree[old[same]].block.digest == tree[new[same]].block.digest
    ):
        same += 1
    last = new[same - 1] if same else start
    return FirstDifference(
        old[same] if same < len(old) else ROOT,
        new[same] if same < len(new) else ROOT,
        (not_recorded_tokens(book, call) or 0) + running.read_tokens(call.sent_head, last),
    )
