"""Dead weight: tool results, images and documents that the model never quoted.

A result is quoted if later text of the model contains one of its literals (a path, an id, a number, an error line). A
literal counts if it was in a result before it was in any other block. A result without such a literal is not judged. A
result that is never quoted may still have been useful.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.core.block import HEADER, Block
from ctxtui.core.call import Call, answer_path
from ctxtui.core.category import INDEX
from ctxtui.core.tree import Tree
from ctxtui.curation.price.dependence import literals_of

MIN_TOKENS: Final = 200
"""Smaller results are not considered."""
MIN_CALLS: Final = 3
"""Calls from a result's first one on before it is judged, whether or not they still had it."""
_RESULTS: Final = frozenset({INDEX["tool_result"], INDEX["image"], INDEX["document"]})
_BY_MODEL: Final = frozenset({INDEX["assistant"], INDEX["thinking"], INDEX["tool_call"], INDEX["summary"]})


class DeadResult(NamedTuple):
    """A result, image or document that was never quoted.

    `node` is its first node, `entered` the call (from 1) that added it, `calls` the number of calls that carried it.
    """

    node: int
    tokens: int
    entered: int
    calls: int

    @property
    def carry(self) -> int:
        return self.tokens * self.calls


class DeadWeight(Struct, frozen=True):
    """Dead results of a thread, the largest carry first.

    - `judged`: number of results that could have been quoted.
    - `unjudged`: results that have nothing quotable, or came too late to be quoted.
    """

    dead: tuple[DeadResult, ...] = ()
    judged: int = 0
    unjudged: int = 0

    @property
    def carry(self) -> int:
        return sum(result.carry for result in self.dead)


def find_dead_results(
    tree: Tree, calls: Sequence[Call], lifetimes: BlockLifetimes, tokens_of: Callable[[int], int]
) -> DeadWeight:
    """Find the dead results of a thread's `calls`, which `lifetimes` has processed."""
    quotes = _find_quotes(tree, calls, lifetimes)
    dead, judged, unjudged = [], 0, 0
    for node in lifetimes.all_nodes():
        tokens = tokens_of(node) if tree[node].category in _RESULTS and tree[node].block.kind != HEADER else 0
        if tokens < MIN_TOKENS:
            continue
        entered, stayed = lifetimes.first_call(node) or 0, lifetimes.count_calls(node, len(calls))
        if not quotes.is_quotable.get(node) or len(calls) - entered < MIN_CALLS:
            unjudged += 1
            continue
        judged += 1
        if node not in quotes.quoted:
            dead.append(DeadResult(node, tokens, entered + 1, stayed))
    return DeadWeight(tuple(sorted(dead, key=lambda result: -result.carry)), judged, unjudged)


class _Quotes:
    """Processes a thread's contexts and answers in order, and finds the results `quoted` later."""

    def __init__(self, tree: Tree) -> None:
        self.quoted: set[int] = set()
        self.is_quotable: dict[int, bool] = {}
        self._tree = tree
        self._owners: dict[str, list[int]] = {}
        self._literals_first_elsewhere: set[str] = set()
        self._literals: dict[str, frozenset[str]] = {}

    def add_blocks(self, nodes: Iterable[int]) -> None:
        for node in nodes:
            node_row = self._tree[node]
            if node_row.block.kind == HEADER:
                continue
            if node_row.category in _RESULTS:
                self._add_result(node)
            else:
                self._add_other(node_row.block, by_model=node_row.category in _BY_MODEL)

    def _add_result(self, node: int) -> None:
        new_literals = self._literals_of(self._tree[node].block) - self._literals_first_elsewhere
        self.is_quotable[node] = bool(new_literals)
        for literal in new_literals:
            self._owners.setdefault(literal, []).append(node)

    def _add_other(self, block: Block, *, by_model: bool) -> None:
        for literal in self._literals_of(block):
            owners = self._owners.get(literal)
            if owners is None:
                self._literals_first_elsewhere.add(literal)
            elif by_model:
                self.quoted.update(owners)

    def _literals_of(self, block: Block) -> frozenset[str]:
        literals = self._literals.get(block.digest)
        if literals is None:
            literals = self._literals[block.digest] = literals_of(block)
        return literals


def _find_quotes(tree: Tree, calls: Sequence[Call], lifetimes: BlockLifetimes) -> _Quotes:
    entering: dict[int, list[int]] = {}
    for node in lifetimes.all_nodes():
        entering.setdefault(lifetimes.first_call(node) or 0, []).append(node)
    quotes = _Quotes(tree)
    for index, call in enumerate(calls):
        quotes.add_blocks(entering.get(index, ()))
        quotes.add_blocks(answer_path(tree, call))
    return quotes
