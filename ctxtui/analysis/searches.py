"""What tools that the provider runs (web search, file search) brought into a context: the pages are in no record, but
the reports show them (facts §4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ctxtui.core.call import Call
from ctxtui.core.session import Session

_KINDS: Final = frozenset({"web_search_call", "file_search_call"})
"""Calls whose results the provider keeps for itself: it puts them before the model again when the call is sent back."""
_GONE: Final = 0.5
"""Share of what was brought by which a report must fall short before it counts as gone."""

Beyond = Callable[[Call], int | None]
"""Gives a call's reported input beyond everything else that is known of it; None where it cannot be told."""


class Searches:
    """The tokens that searches brought into the calls of a session.

    A call in whose answer a search ran reads in the same report what it brought; later calls read it again until the
    provider drops it, which their reports show. A new epoch begins from its own first report.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen: dict[str, int] = {}
        self._ran: dict[str, set[str]] = {}
        self._brought: dict[str, tuple[tuple[int, int, bool], dict[str, int]]] = {}

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

    def brought(self, call: Call, version: int, beyond: Beyond) -> int:
        """The tokens that searches brought into the context of `call`, under the weights of `version`."""
        order = self._session.order[call.thread]
        last = self._session.calls[order[-1]]
        key = (version, len(order), last.usage is None)
        known = self._brought.get(call.thread)
        if known is None or known[0] != key:
            known = self._brought[call.thread] = (key, self._along(call.thread, beyond))
        return known[1].get(call.id, 0)

    def _along(self, thread: str, beyond: Beyond) -> dict[str, int]:
        found: dict[str, int] = {}
        held, epoch = 0, 0
        for call in self._session.thread_calls(thread):
            if call.epoch.number != epoch:
                held, epoch = 0, call.epoch.number
            more = beyond(call)
            if more is not None and call.id in self._ran[thread]:
                held = max(held, more)
            elif more is not None and held - more > _GONE * held:
                held = max(0, more)
            found[call.id] = held
        return found
