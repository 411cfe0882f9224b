"""Short names for blocks, as used in rows, JSON and charts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from sys import intern
from typing import Final

from ctxtui.core.block import UNREADABLE
from ctxtui.core.block_content import BlockContent, read
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tree import Node, Tree

PREVIEW: Final = 80
"""Characters of text shown for a block without a name."""

_NAMED: Final = frozenset({"tool_call", "tools"})


class Names:
    """Maps call ids to tools, so that a result can be named after its tool."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._seen = 0
        self._calls: dict[str, int] = {}
        """The last node of each call id ..."""
        self._before: dict[str, list[int]] = {}
        """... and the earlier ones of ids with several."""
        self._tools: dict[int, str] = {}

    def call(self, call_id: str, node: int | None = None) -> BlockContent | None:
        """Content of call `call_id`; None if it is not in the tree.

        If several calls have the id, it is the last before `node` in its context; the last of all if there is none.
        Results without ids answer the calls of one message in their order.
        """
        id_ = self.call_node(call_id, node)
        return None if id_ is None else read(self._tree[id_].block)

    def tool(self, call_id: str, node: int | None = None) -> str:
        """Name of the tool of call `call_id`, chosen as in `call`; "" if it is not in the tree."""
        id_ = self.call_node(call_id, node)
        return "" if id_ is None else self._tools[id_]

    def call_node(self, call_id: str, node: int | None = None) -> int | None:
        """Node of call `call_id`, chosen as in `call`; None if it is not in the tree."""
        for node_ in self._tree.nodes(self._seen):
            if CATEGORIES[node_.category] == "tool_call":
                content = read(node_.block)
                self._tools[node_.id] = intern(content.name)
                before = self._calls.get(content.pairing_id)
                if before is not None:
                    self._before.setdefault(content.pairing_id, []).append(before)
                self._calls[content.pairing_id] = node_.id
        self._seen = len(self._tree)
        last = self._calls.get(call_id) if call_id else None
        if node is None or last is None or call_id not in self._before:
            return last
        # Some agents restart their call ids in every conversation.
        candidates = (*self._before[call_id], last)
        held = (node_ for node_ in reversed(candidates) if node_ < node and self._tree.holds(node, node_))
        newest = next(held, None)
        if newest is None or read(self._tree[newest].block).call_id:
            return last if newest is None else newest
        message = self._tree[newest].message
        calls = [newest, *takewhile(lambda node_: self._tree[node_].message == message, held)]
        between = map(self._tree.__getitem__, self._tree.path(self._tree[node].parent, newest))
        answered = sum(self.answered_id(row) == call_id for row in between if CATEGORIES[row.category] == "tool_result")
        return calls[max(0, len(calls) - 1 - answered)]

    def call_of_result(self, node: Node) -> int | None:
        """Node of the call that the result at `node` answers; None if it is not in the tree."""
        return self.call_node(self.answered_id(node), node.id)

    def label(self, node: Node, reading: BlockContent | None = None) -> str:
        """Label of a block: its tool's name, else the first words of its text.

        `reading`: its content, if read.
        """
        content = reading or read(node.block)
        return label_of(node, content, lambda: self.answered_tool(node, content))

    def answered_tool(self, node: Node, content: BlockContent) -> str:
        return self.tool(content.call_id or self.answered_call_id(node), node.id)

    def answered_id(self, node: Node) -> str:
        """`BlockContent.pairing_id` of the call that the result at `node` answers; "": none."""
        return "" if node.block.kind == "header" else read(node.block).call_id or self.answered_call_id(node)

    def answered_call_id(self, node: Node) -> str:
        """Call id, else tool, on the message header of a result (Chat and Ollama)."""
        ancestor = self._tree[node.parent]
        while ancestor.parent > 0 and ancestor.message == node.message and ancestor.block.kind != "header":
            ancestor = self._tree[ancestor.parent]
        head = ancestor.block.value() if ancestor.block.kind == "header" else None
        keys = ("tool_call_id", "name", "tool_name")
        return next((str(head[key]) for key in keys if head.get(key)), "") if isinstance(head, dict) else ""


def label_of(node: Node, content: BlockContent, tool: Callable[[], str]) -> str:
    """Label of a block with content `content`; `tool` gives the tool of a result."""
    category = CATEGORIES[node.category]
    if category in _NAMED and content.name:
        return content.name
    if category == "tool_result" and (name := content.name or tool()):
        return name
    if content.media and not content.text:
        return content.media[0].media_type or node.block.kind
    return first_words(content.text) or (node.block.kind if node.block.kind != UNREADABLE else "unreadable")


def first_words(text: str) -> str:
    """First line with text, cut to `PREVIEW` characters."""
    head = text[: PREVIEW * 8].strip()
    return head.split("\n", 1)[0].strip()[:PREVIEW]
