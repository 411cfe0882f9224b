"""What a provider takes out of a whole request before its model reads it: it compacts, clears results, cuts."""

from __future__ import annotations

from typing import Final

from ctxtui.analysis.block_counts import BlockCounts
from ctxtui.analysis.cache.truncated_prompt import is_cut, unseen
from ctxtui.analysis.read.absence import COMPACTED, CUT, EDITED, NONE_GONE, Absences, GoneBlocks
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call, Fidelity, answer_path
from ctxtui.core.category import INDEX

_COMPACTION: Final = "compaction"
_RESULT: Final = INDEX["tool_result"]
_CLOSED: Final = frozenset({"anthropic", "google", "xai"})
"""Makers whose models nobody cuts requests for."""
_LEAST_SLACK: Final = 0.1
_SMALLEST_WINDOW: Final = 256
"""Tokens below which no server's window is: such a request was not cut, its texts are counted wrongly."""


def by_provider(book: BlockCounts, call: Call, notice: int, number: int) -> Absences:
    """What was taken out of the request of `call`, the one with `number` in its thread, as answer and report show; a
    `notice` of so many tokens stands in the place of a cleared result. Each request is edited and cut anew."""
    if call.fidelity != Fidelity.WIRE or call.usage is None:
        return NONE_GONE
    tree, read = book.session.tree, call.usage.input
    sums = book.read_sums(call.model, call.sent_head, NONE_GONE)
    if sum(sums) <= read:
        return NONE_GONE
    said = [
        n for n in tree.path(call.sent_head) if tree[n].place.section == "messages" and tree[n].block.kind != HEADER
    ]
    if any(tree[n].block.kind == _COMPACTION for n in answer_path(tree, call)):
        return NONE_GONE.and_(GoneBlocks(tuple(said), COMPACTED), 0, number)
    if many := _cleared(call):
        results = [n for n in said if tree[n].category == _RESULT]
        return NONE_GONE.and_(GoneBlocks(tuple(results[:many]), EDITED), notice, number)
    return _cut(book, call, sums, read, number)


def _cleared(call: Call) -> int:
    """How many results the provider cleared, by its answer (facts §3)."""
    said = call.extra.get("context_management")
    listed = said.get("applied_edits") if isinstance(said, dict) else None
    edits = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return max((n for one in edits if isinstance(n := one.get("cleared_tool_uses"), int)), default=0)


def _cut(book: BlockCounts, call: Call, sums: tuple[int, ...], read: int, number: int) -> Absences:
    card = book.card(call.model)
    # Some makers' models run with their maker only; where others serve an open one, they may cut it.
    maker = card.provider in _CLOSED or (card.provider and call.provider in ("", card.provider))
    if maker or read < _SMALLEST_WINDOW:
        return NONE_GONE
    # How a model counts a picture is often not known: a cut shows in the texts alone.
    texts = sum(sums) - sums[INDEX["image"]] - sums[INDEX["document"]]
    slack = max(_LEAST_SLACK, book.whole_slack(call.model, call.sent_head) or 0.0)
    if not is_cut(texts, slack, read, book.session.about.window or card.window or 0):
        return NONE_GONE
    tree = book.session.tree

    def own(node: int) -> int:
        return 0 if tree[node].block.kind == HEADER else book.own(call.model, node)

    nodes = unseen(tree, call.sent_head, own, sum(sums), read)
    return NONE_GONE.and_(GoneBlocks(nodes, CUT), 0, number)
