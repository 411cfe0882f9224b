"""What tools that the provider runs (web search, file search) brought into a context: the pages are in no record, but
the reports show them (facts §4)."""

from __future__ import annotations

from typing import Final

from ctxtui.core.call import Call
from ctxtui.core.session import Session

_KINDS: Final = frozenset({"web_search_call", "file_search_call"})
"""Calls whose results the provider keeps for itself: it puts them before the model again when the call is sent back."""
_GONE: Final = 0.5
"""Share of what was brought by which a report must fall short before it counts as gone."""


class Searches:
    """The tokens that searches brought into the calls of a session.

    A call in whose answer a search ran reads in the same report what it brought; later calls read it again until the
    provider drops it, which their reports show. A new epoch begins from its own first report.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen: dict[str, int] = {}
        self._ran: dict[str, set[str]] = {}

    def any_in(self, thread: str) -> bool:
        """Whether any answer of `thread` so far holds a search."""
        order = self._session.order.get(thread, [])
        ran = self._ran.setdefault(thread, set())
        for id_ in order[self._seen.get(thread, 0) :]:
            call = self._session.calls[id_]
            tree = self._session.tree
            if tree.holds(call.response_head, call.sent_head) and any(
                tree[node].block.kind in _KINDS for node in tree.path(call.response_head, call.sent_head)
            ):
                ran.add(id_)
        # The newest call's answer may still grow.
        self._seen[thread] = max(0, len(order) - 1)
        return bool(ran)

    def held(self, call: Call, before: int, more: int) -> int:
        """The tokens that searches brought into the context of `call`, of which `before` were in the one before it;
        `more` is what its report has beyond everything else that is known of it."""
        if call.id in self._ran[call.thread]:
            return max(before, more)
        return max(0, more) if before - more > _GONE * before else before
