"""How long the prefixes of a session's contexts are: as reported where a call ended there, else by its blocks."""

from __future__ import annotations

from collections.abc import Callable

from ctxtui.core.tree import ROOT, Tree
from ctxtui.tokens.features import NOTHING, Features, plus


class Lengths:
    """Tokens of contexts by node. What is known by report is pinned; between two pins blocks are counted.

    `measure` gives one node's own features, always the same for one node; `tokens` what features come to.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._pins: dict[int, int] = {}
        self._version = 0
        # The pin below a node and the features between the two: a prompt asks for every place of a long context.
        self._since: dict[int, tuple[int, Features]] = {}

    def pin(self, node: int, tokens: int) -> None:
        """A report says that the context `node` has `tokens` tokens."""
        self._pins[node] = tokens
        self._version += 1
        self._since.clear()

    def start(self, tokens: int) -> None:
        """What stands before everything that is recorded, as far as it is not known yet: system prompt and tools."""
        self._version += ROOT not in self._pins
        self._pins.setdefault(ROOT, max(0, tokens))

    @property
    def front(self) -> int:
        """Tokens before everything that is recorded; 0 while nothing is known."""
        return self._pins.get(ROOT, 0)

    def reported(self, node: int) -> tuple[int, int]:
        """The last node at or above `node` whose length a report told, with that length."""
        while node not in self._pins and node != ROOT:
            node = self._tree[node].parent
        return node, self._pins.get(node, 0)

    def reader(self, measure: Callable[[int], Features], tokens: Callable[[Features], float]) -> Callable[[int], int]:
        """A function from node to tokens, for one model at one moment."""

        known: tuple[int, dict[int, int]] = -1, {}

        def length(node: int) -> int:
            nonlocal known
            if known[0] != self._version:
                known = self._version, {}
            found = known[1].get(node)
            if found is None:
                pinned, features = self._from_pin(node, measure)
                found = self._pins.get(pinned, 0) + (round(tokens(features)) if features is not NOTHING else 0)
                known[1][node] = found
            return found

        return length

    def _from_pin(self, node: int, measure: Callable[[int], Features]) -> tuple[int, Features]:
        """The last node at or above `node` whose length is known, and the features of what stands between them."""
        above = []
        while node not in self._pins and node != ROOT and node not in self._since:
            above.append(node)
            node = self._tree[node].parent
        pinned, features = self._since.get(node, (node, NOTHING))
        for node in reversed(above):
            features = plus(features, measure(node))
            self._since[node] = pinned, features
        return pinned, features
