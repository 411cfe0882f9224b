"""What a model read that no request holds, because the provider put it there: what tools that it runs brought (web
search, file search; facts §4), documents that a request only links to, the summary of its own compaction (facts §3).
The texts are in no record, but the reports show them."""

from __future__ import annotations

from typing import Final

from ctxtui.core.call import TOOL_USE_INPUT, Call, Fidelity, answer_path
from ctxtui.core.category import INDEX
from ctxtui.core.session import Session
from ctxtui.core.tree import Tree

_KINDS: Final = frozenset({"web_search_call", "file_search_call"})
"""Calls whose results the provider keeps for itself: it puts them before the model again when the call is sent back."""
_RUN: Final = _KINDS | {"server_tool_use", "code_interpreter_call", "mcp_call"}
"""Calls of tools that the provider runs before the same answer goes on: its report counts what they brought."""
_COMPACTION: Final = "compaction"
_DOCUMENT: Final = INDEX["document"]
_HELD: Final = ("data", "file_data", "text", "content")
"""Members in which a document itself stands."""
SEARCHED: Final = "what the provider's own tools brought while it answered (web pages, files)"
LINKED: Final = "documents that the request only links to"
SUMMARY: Final = "the summary that the provider put in place of the messages before it answered"
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
        self._newest: dict[str, Call] = {}
        """The newest call of each thread, as it was when it was looked at."""

    def any_in(self, thread: str) -> bool:
        """Whether any answer of `thread` so far holds a search."""
        order = self._session.order.get(thread, [])
        ran = self._ran.setdefault(thread, set())
        newest = self._session.calls[order[-1]] if order else None
        if newest is not None and self._newest.get(thread) is newest and self._seen[thread] == len(order) - 1:
            return bool(ran)
        for id_ in order[self._seen.get(thread, 0) :]:
            call = self._session.calls[id_]
            kinds = _RUN if call.fidelity == Fidelity.WIRE else _KINDS
            if call.extra.get(TOOL_USE_INPUT) or _answered(self._session.tree, call, kinds):
                ran.add(id_)
        # The newest call's answer may still grow.
        self._seen[thread] = max(0, len(order) - 1)
        if newest is not None:
            self._newest[thread] = newest
        return bool(ran)

    def held(self, call: Call, before: int, more: int) -> int:
        """The tokens that searches brought into the context of `call`, of which `before` were in the one before it;
        `more` is what its report has beyond everything else that is known of it."""
        if call.id in self._ran[call.thread]:
            return max(before, more)
        return max(0, more) if before - more > _GONE * before else before

    def ran(self, call: Call) -> bool:
        """Whether a tool of the provider ran while `call` was answered."""
        return self.any_in(call.thread) and call.id in self._ran[call.thread]


def _answered(tree: Tree, call: Call, kinds: frozenset[str]) -> bool:
    """Whether the answer of `call` holds a block of one of `kinds`."""
    return any(tree[node].block.kind in kinds for node in answer_path(tree, call))


def compacted(tree: Tree, call: Call) -> bool:
    """Whether the provider compacted the context before it answered."""
    return _answered(tree, call, frozenset({_COMPACTION}))


def links(tree: Tree, node: int) -> bool:
    """Whether a block is a document that stands elsewhere: an address or a file's id is all that was sent."""
    here = tree[node]
    if here.category != _DOCUMENT:
        return False
    value = here.block.value()
    source = value.get("source", value.get("file", value))
    return isinstance(source, dict) and not any(source.get(key) for key in _HELD)


def unseen(searches: Searches, tree: Tree, call: Call) -> str:
    """What the provider put into the context of `call`, in words; "" where nothing shows that it put anything."""
    found = [SUMMARY] if compacted(tree, call) else []
    found += [LINKED] if any(links(tree, node) for node in tree.path(call.sent_head)) else []
    found += [SEARCHED] if searches.any_in(call.thread) else []
    return "; ".join(found)
