"""What of a call's context the calls before it had sent already: in the same place, or behind a change."""

from __future__ import annotations

from dataclasses import dataclass

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import lacking
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.tree import ROOT


@dataclass(frozen=True, slots=True)
class Resent:
    """Input tokens of one call, in the provider's count: `kept` begin its context as they began an earlier one,
    `moved` were sent before but stand behind a change. `changed`: not all of the context before is kept."""

    kept: int = 0
    moved: int = 0
    changed: bool = False


class Sending:
    """The contexts of one thread, call by call.

    Sizes are shares of what the provider reported: where a context extends the one before, what was sent before is that
    call's own report, and no estimate is in it.
    """

    def __init__(self, book: Book, running: dict[str, RunningTotals]) -> None:
        self._book = book
        self._tree = book.session.tree
        self._running = running
        self._nodes: set[int] = {ROOT}
        self._digests: set[str] = set()
        self._last: Call | None = None

    def enter(self, call: Call) -> Resent:
        """Take in the thread's next call, which must be counted; what of it was sent before."""
        found = self._resent(call) if self._last is not None and call.usage is not None else Resent()
        head = call.sent_head
        for node in self._tree.path(head, self._kept(head)):
            self._nodes.add(node)
            if self._tree[node].block.kind != HEADER:
                self._digests.add(self._tree[node].block.digest)
        if call.usage is not None:
            self._last = call
        return found

    def _kept(self, head: int) -> int:
        """The longest context that begins `head` and that was sent before."""
        while head not in self._nodes:
            head = self._tree[head].parent
        return head

    def _resent(self, call: Call) -> Resent:
        before, usage = self._last, call.usage
        assert before is not None and before.usage is not None and usage is not None
        running, kept = self._running[call.model], self._kept(call.sent_head)
        lacking, lacked = self._missing(call), self._missing(before)
        whole = lacked + running.read(before.sent_head, before.sent_head)
        if not whole:
            return Resent(min(usage.input, before.usage.input))
        same = min(lacked, lacking) + running.read(call.sent_head, kept)
        size = round(before.usage.input * same / whole)
        changed = kept != before.sent_head and not self._tree.holds(kept, before.sent_head)
        ours = lacking + running.read(call.sent_head, call.sent_head)
        moved = sum(map(running.own, self._behind(call.sent_head, kept))) if changed else 0
        size = min(size, usage.input)
        return Resent(size, min(usage.input - size, round(moved * usage.input / ours) if ours else 0), changed)

    def _behind(self, head: int, kept: int) -> list[int]:
        """The nodes of `head` after `kept` whose blocks were sent before."""
        return [node for node in self._tree.path(head, kept) if self._tree[node].block.digest in self._digests]

    def _missing(self, call: Call) -> int:
        return lacking(self._book, call)
