"""Input that earlier calls had sent already: at the same position, or after a change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.content.diff import match_versions, word_overlap
from ctxtui.analysis.content.normalized import diff_text
from ctxtui.analysis.figures import unrecorded_tokens
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call

MIN_OVERLAP: Final = 0.5
"""The share of words from which on a block counts as an earlier one that was changed."""


class Resent(Struct, frozen=True):
    """Input tokens of one call that were sent before, in the provider's count.

    - `prefix_tokens`: in its common prefix with an earlier call.
    - `moved`: sent before, but after a change, or in a block that changed only in part.
    - `changed`: not all of the previous context is kept.
    - `stripped`: the provider removes thinking that the previous call still had.
    """

    prefix_tokens: int = 0
    moved: int = 0
    changed: bool = False
    stripped: bool = False

    @property
    def tokens(self) -> int:
        return self.prefix_tokens + self.moved


class ResentTracker:
    """Contexts of one thread, call by call, to find what is sent again.

    Tokens are scaled to reports.
    """

    def __init__(self, book: Book, running: Callable[[str], RunningTotals]) -> None:
        self._book = book
        self._tree = book.session.tree
        self._running = running
        self._sent = bytearray(b"\1")
        """By node, whether its context was sent."""
        self._digests: set[str] = set()
        self._last: Call | None = None

    def add_call(self, call: Call) -> Resent:
        """Add the thread's next call, which must be counted; returns its resent input."""
        resent = self._compute_resent(call) if self._last is not None and call.usage is not None else Resent()
        head = call.sent_head
        new = self._tree.path(head, self._longest_sent(head))
        if new and new[-1] >= len(self._sent):
            self._sent.extend(bytes(len(self._tree) - len(self._sent)))
        for node in new:
            self._sent[node] = True
            if self._tree[node].block.kind != HEADER:
                self._digests.add(self._tree[node].block.digest)
        if call.usage is not None:
            self._last = call
        return resent

    def _longest_sent(self, head: int) -> int:
        sent_nodes = self._sent
        while head >= len(sent_nodes) or not sent_nodes[head]:
            head = self._tree[head].parent
        return head

    def _compute_resent(self, call: Call) -> Resent:
        before, usage = self._last, call.usage
        assert before is not None and before.usage is not None and usage is not None
        running, longest_sent = self._running(call.model), self._longest_sent(call.sent_head)
        unrecorded, unrecorded_before = unrecorded_tokens(self._book, call), unrecorded_tokens(self._book, before)
        previous_tokens = unrecorded_before + running.read_tokens(before.sent_head, before.sent_head)
        if not previous_tokens:
            return Resent(min(usage.input, before.usage.input))
        same = min(unrecorded_before, unrecorded) + running.read_tokens(call.sent_head, longest_sent)
        size = round(before.usage.input * same / previous_tokens)
        changed = longest_sent != before.sent_head and not self._tree.holds(longest_sent, before.sent_head)
        counted_tokens = unrecorded + running.read_tokens(call.sent_head, call.sent_head)
        moved = self._moved_tokens(before.sent_head, call.sent_head, longest_sent, running) if changed else 0.0
        size = min(size, usage.input)
        stripped = not changed and running.read_tokens(call.sent_head, longest_sent) < running.read_tokens(
            before.sent_head, longest_sent
        )
        resent_moved = min(usage.input - size, round(moved * usage.input / counted_tokens) if counted_tokens else 0)
        return Resent(size, resent_moved, changed, stripped)

    def _moved_tokens(self, before: int, head: int, longest_sent: int, running: RunningTotals) -> float:
        """Tokens of `head` after `longest_sent` in blocks that were sent before.

        A new version of a block counts by the part that is the same as before.
        """
        tree = self._tree
        nodes = [node for node in tree.path(head, longest_sent) if tree[node].block.kind != HEADER]
        resent_nodes = {node for node in nodes if tree[node].block.digest in self._digests}
        now = {tree[node].block.digest for node in nodes}
        olds = [
            node
            for node in tree.path(before, tree.common(before, head))
            if tree[node].block.kind != HEADER and tree[node].block.digest not in now
        ]
        news = [node for node in nodes if node not in resent_nodes]
        total = float(sum(map(running.block_tokens, resent_nodes)))
        for old, new in match_versions(tree, tree, olds, news):
            share = word_overlap(diff_text(tree[olds[old]]), diff_text(tree[news[new]]))
            total += running.block_tokens(news[new]) * share if share >= MIN_OVERLAP else 0.0
        return total
