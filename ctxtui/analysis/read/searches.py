"""Input that the provider adds to a request.

It is not recorded, but reports count it. It is of three kinds: results of the provider's own tools (searches, code,
MCP; facts §4), documents that a request only links to, and the summary of the provider's own compaction (facts §3).
"""

from __future__ import annotations

from typing import Final

from ctxtui.core.call import TOOL_USE_INPUT, Call, Fidelity, answer_path
from ctxtui.core.category import INDEX
from ctxtui.core.session import Session
from ctxtui.core.tree import Tree

_SEARCH_KINDS: Final = frozenset({"web_search_call", "file_search_call"})
"""Calls whose results the provider keeps and adds again when the call is sent back."""
_PROVIDER_TOOL_KINDS: Final = _SEARCH_KINDS | {"server_tool_use", "code_interpreter_call", "mcp_call"}
"""Calls of tools that the provider runs within the answer: its report counts their results."""
_COMPACTION: Final = "compaction"
_DOCUMENT: Final = INDEX["document"]
_CONTENT_MEMBERS: Final = ("data", "file_data", "text", "content")
SEARCHED: Final = "results of the provider's own tools (web pages, files)"
LINKED: Final = "documents that the request only links to"
SUMMARY: Final = "the summary that the provider put in place of the messages before it answered"
_DROPPED_SHARE: Final = 0.5
"""If a report lacks more than this share of the results' tokens, the provider has dropped them."""


class Searches:
    """The calls of a session whose answers have searches, and the tokens that these add.

    The results count in the same call's report, and in later ones until the provider drops them.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen: dict[str, int] = {}
        self._ran: dict[str, set[str]] = {}
        self._newest: dict[str, Call] = {}

    def any_in(self, thread: str) -> bool:
        """Whether the provider ran a search in an answer of `thread` so far.

        In exactly recorded requests, whether it ran any of its tools.
        """
        order = self._session.order.get(thread, [])
        ran = self._ran.setdefault(thread, set())
        newest = self._session.calls[order[-1]] if order else None
        if newest is not None and self._newest.get(thread) is newest and self._seen[thread] == len(order) - 1:
            return bool(ran)
        for id_ in order[self._seen.get(thread, 0) :]:
            call = self._session.calls[id_]
            kinds = _PROVIDER_TOOL_KINDS if call.fidelity == Fidelity.WIRE else _SEARCH_KINDS
            if call.extra.get(TOOL_USE_INPUT) or _has_kind(self._session.tree, call, kinds):
                ran.add(id_)
        # The newest call's answer may still grow.
        self._seen[thread] = max(0, len(order) - 1)
        if newest is not None:
            self._newest[thread] = newest
        return bool(ran)

    def any_until(self, call: Call) -> bool:
        """Like `any_in`, for the answers of `call` and of the earlier calls of its thread."""
        if not self.any_in(call.thread):
            return False
        order = self._session.order[call.thread]
        until = order[: order.index(call.id) + 1] if call.id in order else order
        return not self._ran[call.thread].isdisjoint(until)

    def search_tokens(self, call: Call, before: int, more: int) -> int:
        """Tokens that searches added to the context of `call`.

        - `before`: what they added to the epoch's previous context (0 for its first call).
        - `more`: the reported tokens that nothing else explains; may be negative.

        Call `any_in` of the thread first.
        """
        if call.id in self._ran[call.thread]:
            return max(before, more)
        return max(0, more) if before - more > _DROPPED_SHARE * before else before


def _has_kind(tree: Tree, call: Call, kinds: frozenset[str]) -> bool:
    return any(tree[node].block.kind in kinds for node in answer_path(tree, call))


def is_compacted(tree: Tree, call: Call) -> bool:
    """Whether the provider compacted the context before the answer."""
    return _has_kind(tree, call, frozenset({_COMPACTION}))


def is_linked(tree: Tree, node: int) -> bool:
    """Whether only an address or a file id of a document was sent."""
    node_row = tree[node]
    if node_row.category != _DOCUMENT:
        return False
    value = node_row.block.value()
    source = value.get("source", value.get("file", value))
    return isinstance(source, dict) and not any(source.get(key) for key in _CONTENT_MEMBERS)


def describe_additions(searches: Searches, tree: Tree, call: Call) -> str:
    """Describe the provider's additions to the context of `call`.

    Results of its tools are named even if the provider has dropped them since.
    """
    texts = [SUMMARY] if is_compacted(tree, call) else []
    texts += [LINKED] if any(is_linked(tree, node) for node in tree.path(call.sent_head)) else []
    texts += [SEARCHED] if searches.any_until(call) else []
    return "; ".join(texts)
