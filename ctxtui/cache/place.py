"""Where to put cache markers: strategies, each a rule from a context to marked places (facts §2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ctxtui.cache.rules import Rules
from ctxtui.core.block import HEADER
from ctxtui.core.category import INDEX
from ctxtui.core.reading import read
from ctxtui.core.tree import ROOT, Node, Tree

Marks = list[tuple[int, float]]
"""Nodes with the lifetimes of their markers in seconds, in prompt order."""

Place = Callable[[Tree, int, Rules], Marks]
"""Marks for the context that ends at a node."""

_SHORT: Final = "5m"
_LONG: Final = "1h"
_UNMARKED: Final = frozenset({"thinking", "redacted_thinking", HEADER})
_MEMORY: Final = (INDEX["memory"], INDEX["summary"])


class Strategy(NamedTuple):
    """A named way of placing markers; `told` says what it does in a few words."""

    name: str
    told: str
    place: Place


def none(tree: Tree, head: int, rules: Rules) -> Marks:
    """No marker at all."""
    return []


def tail(tree: Tree, head: int, rules: Rules) -> Marks:
    """One marker on the last block that may carry one, as automatic caching does."""
    return _marks(rules, [(markable_at(tree, head), _SHORT)])


def moving_tail(tree: Tree, head: int, rules: Rules) -> Marks:
    """A marker at the end of each of the last two messages: the second one finds what the call before wrote."""
    return _marks(rules, [(messages_back(tree, head, 1), _SHORT), (markable_at(tree, head), _SHORT)])


def static_prefix(tree: Tree, head: int, rules: Rules) -> Marks:
    """One marker behind tools and system prompt."""
    return _marks(rules, [(static_end(tree, head), _SHORT)])


def static_and_tail(tree: Tree, head: int, rules: Rules) -> Marks:
    """Behind the system prompt and on the last block."""
    return _marks(rules, [(static_end(tree, head), _SHORT), (markable_at(tree, head), _SHORT)])


def memory_aware(tree: Tree, head: int, rules: Rules) -> Marks:
    """Behind the system prompt, behind the last memory or summary, and on the last block."""
    return _marks(
        rules,
        [(static_end(tree, head), _SHORT), (memory_end(tree, head), _SHORT), (markable_at(tree, head), _SHORT)],
    )


def anchored(tree: Tree, head: int, rules: Rules) -> Marks:
    """A long-lived marker at the end of the message before the last, a short one on the last block.

    What is written for an hour is only the message in between, but its entry holds all that is in front of it: after
    a pause of up to an hour only the last message is written again.
    """
    return _marks(
        rules,
        [
            (static_end(tree, head), _LONG),
            (messages_back(tree, head, 1), _LONG),
            (markable_at(tree, head), _SHORT),
        ],
    )


def back(messages: int) -> Place:
    """The strategy that marks the end of the context `messages` before its last, and nothing behind it."""

    def place(tree: Tree, head: int, rules: Rules) -> Marks:
        return _marks(rules, [(messages_back(tree, head, messages), _SHORT)])

    return place


STRATEGIES: Final = (
    Strategy("none", "no markers", none),
    Strategy("automatic", "the last block", tail),
    Strategy("static prefix", "behind the system prompt", static_prefix),
    Strategy("moving tail", "the ends of the last two messages", moving_tail),
    Strategy("static + tail", "behind the system prompt and the last block", static_and_tail),
    Strategy("2 messages back", "two messages before the end", back(2)),
    Strategy("memory-aware", "behind system prompt and memory, and the last block", memory_aware),
    Strategy("anchored", "an hour for all but the last message, five minutes for that", anchored),
)
"""Every strategy, the default last."""
DEFAULT: Final = STRATEGIES[-1]


def markable_at(tree: Tree, node: int) -> int:
    """`node`, or the nearest before it that may carry a marker (`ROOT`: none does)."""
    while node != ROOT and not _markable(tree[node]):
        node = tree[node].parent
    return node


def _markable(node: Node) -> bool:
    if node.block.kind in _UNMARKED:
        return False
    return node.block.kind != "text" or bool(read(node.block).text)


def static_end(tree: Tree, head: int) -> int:
    """The last block in front of the messages (`ROOT`: there is none)."""
    while head != ROOT and tree[head].place.section == "messages":
        head = tree[head].parent
    return head


def memory_end(tree: Tree, head: int) -> int:
    """The last block of memory or summary in the context (`ROOT`: there is none)."""
    while head != ROOT and tree[head].category not in _MEMORY:
        head = tree[head].parent
    return markable_at(tree, head)


def messages_back(tree: Tree, head: int, messages: int) -> int:
    """The end of the context `messages` messages before its last one (`ROOT`: there are not so many)."""
    last = tree[head].message - messages
    while head != ROOT and tree[head].message > last:
        head = tree[head].parent
    return markable_at(tree, head) if last > 0 else ROOT


def _marks(rules: Rules, wanted: Sequence[tuple[int, str]]) -> Marks:
    """The marks at `wanted`, less what there is not and what stands at one place with a later one."""
    found: dict[int, float] = {}
    for node, life in wanted:
        if node != ROOT:
            found.pop(node, None)
            found[node] = rules.lives.get(life) or rules.seconds(life)
    # Longer lifetimes first, else the provider refuses.
    return sorted(found.items(), key=lambda mark: mark[0])
