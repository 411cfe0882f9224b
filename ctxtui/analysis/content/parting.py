"""Where what the model read of one request parts from what it read of another.

Read is not the same as sent: a provider takes out thinking of earlier turns, a report may show that blocks are gone.
"""

from __future__ import annotations

from typing import NamedTuple

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import not_recorded_tokens
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.tree import ROOT
from ctxtui.core.turns import is_read


class Parting(NamedTuple):
    """The tree nodes of the first blocks that differ (`ROOT` on a side that ends there), and the token of the second
    request at which they do: what both begin with, system prompt and tools that are not recorded included."""

    before: int
    now: int
    token: int


def reads(book: Book, call: Call, node: int) -> bool:
    """Whether the model reads the block of `node`, which is on the path of `call`, and any of it."""
    if not is_read(book.session.tree, call.sent_head, node, strips_thinking=book.card(call.model).strips_thinking):
        return False
    gone = book.contexts.at(call.sent_head).get(node)
    return gone is None or gone.left > 0


def read_nodes(book: Book, call: Call, after: int = ROOT) -> list[int]:
    """The nodes of the context of `call` whose blocks the model read, in prompt order, headers left out; only those
    behind the node `after`."""
    tree = book.session.tree
    nodes = tree.path(call.sent_head, after)
    return [node for node in nodes if tree[node].block.kind != HEADER and reads(book, call, node)]


def parting(book: Book, running: RunningTotals, before: Call, call: Call) -> Parting:
    """Where `call` parts from `before`; both must be counted in `running`, the running totals of the model of `call`.

    What both sent is looked through only where one of them did not read all of it.
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
    return Parting(
        old[same] if same < len(old) else ROOT,
        new[same] if same < len(new) else ROOT,
        (not_recorded_tokens(book, call) or 0) + running.read_tokens(call.sent_head, last),
    )
