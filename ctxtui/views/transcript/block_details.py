"""Details of an open block: calls, carried tokens, cacheability, duplicates, cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Tree
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.signs import REPEAT
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.analysis.content.block_weights import BlockWeight
    from ctxtui.analysis.content.duplicates import Duplicate
    from ctxtui.analysis.money.ledger import CostLedger


def details(
    scene: Scene, node: int, lifetimes: BlockLifetimes | None, repeat: Duplicate | None, room: int
) -> list[list[Span]]:
    """The detail lines for `node`'s block, wrapped to `room` cells.

    Empty if the block is not counted yet, and for rows that are no recorded block (separators, inserts, missing
    content).
    """
    # Late import: nothing is open on the first screen.
    from ctxtui.analysis.content.block_weights import block_weight

    if node <= ROOT or lifetimes is None or not scene.running.is_counted(node):
        return []
    weights = block_weight(node, scene.running.block_tokens(node), lifetimes, scene.number)
    texts = []
    removal = scene.running.absence(scene.head, node) if scene.session.tree.holds(scene.head, node) else None
    if removal is not None:
        texts.append(f"gone since call {removal.since:,}, as inferred from its report: {removal.reason_text}")
    # A block that entered with the newest call has nothing to report yet.
    if weights.calls > 1 or weights.stability:
        call_count = numbers.many(weights.calls, "call")
        texts.append(
            f"since call {weights.first_call:,}, in {call_count}: {numbers.tokens(weights.carry)} carried; "
            f"{_describe_stability(weights)}"
        )
    if repeat is not None:
        texts.append(
            f"{REPEAT[repeat.kind].glyph} {_describe_duplicate(repeat, scene.turns.number_of(repeat.counterpart))}"
        )
    return [[Span(line, "faint")] for text in texts for line in safe_text.wrap(text, max(16, room))]


def _describe_stability(weight: BlockWeight) -> str:
    if not weight.stability:
        return "cacheable: not known yet"
    return (
        f"cacheable: {weight.stability}, unchanged with everything before it in {weight.stable_calls:,} of "
        f"{weight.later_calls:,} further calls"
    )


def _describe_duplicate(repeat: Duplicate, turn: int) -> str:
    from ctxtui.analysis.content.duplicates import EDITED, IDENTICAL, NEAR, REREAD, WORKSPACE

    at = f" (turn {turn})" if turn else ""
    path = safe_text.one_line(repeat.path, 200)
    return {
        IDENTICAL: f"occurs before it, letter for letter{at}: this copy could go",
        NEAR: f"{100 * repeat.share:.0f} % of it occurs elsewhere too{at}",
        REREAD: f"{path} was read again later{at}: this copy could go",
        EDITED: f"{path} was changed after this read{at}: it is outdated",
        WORKSPACE: f"{path} still holds this: it can be read again",
    }[repeat.kind]


def if_on_path(tree: Tree, path: Sequence[int], repeat: Duplicate | None) -> Duplicate | None:
    """`repeat` if its other block is on the context's `path` (nodes in prompt order), else None."""
    if repeat is None or repeat.counterpart == ROOT:
        return repeat
    depth = tree[repeat.counterpart].depth
    return repeat if depth <= len(path) and path[depth - 1] == repeat.counterpart else None


_THINKING = INDEX["thinking"]
_RESULT = INDEX["tool_result"]


def _cost_in_call(scene: Scene, ledger: CostLedger, node: int) -> float | None:
    """Cost of the block in the call shown; None if unknown, or if the context does not hold it."""
    tree = scene.session.tree
    if ledger.done <= scene.index or not scene.running.is_counted(node) or not tree.holds(scene.head, node):
        return None
    node_row = tree[node]
    if node_row.category == _THINKING and scene.running.strips_thinking:
        start = tree[scene.head].turn_start
        if start != ROOT and node_row.depth < tree[start].depth:
            return 0.0
    return scene.running.block_tokens(node) * ledger.rates_of(scene.index).rate(node_row.depth)


def call_and_cost(scene: Scene, ledger: CostLedger | None, node: int) -> tuple[str, Span]:
    """The call to which `node`'s block belongs, and the block's cost so far.

    The call is its number from 1, "" if unknown.
    """
    unknown = Span(numbers.NONE, "faint")
    if ledger is None:
        return "", unknown
    answered_call, entered = ledger.lifetimes.answering_call(node), ledger.lifetimes.first_call(node)
    if answered_call is None and entered is None:
        return "", unknown
    # An answer's block belongs to the call that made it, a tool result to the call before the first that read it (whose
    # tool call it answers), other input to the call that first read it.
    number = answered_call + 1 if answered_call is not None else entered or 0
    if answered_call is None and scene.session.tree[node].category != _RESULT:
        number += 1
    usd = (
        ledger.block_usd(node, scene.running.block_tokens(node), scene.number)
        if scene.running.is_counted(node)
        else None
    )
    if usd is None:
        return str(number or 1), unknown
    return str(number or 1), Span(numbers.money(usd), "dim" if usd >= 0.0005 else "faint")


def describe_cost(scene: Scene, ledger: CostLedger | None, node: int) -> str:
    if ledger is None or node <= ROOT or not scene.running.is_counted(node):
        return ""
    call_usd = _cost_in_call(scene, ledger, node)
    total_usd = ledger.block_usd(node, scene.running.block_tokens(node), scene.number)
    if not total_usd:
        return ""
    this_call = f"{numbers.money(call_usd)} this call · " if call_usd is not None else ""
    return f"{this_call}{numbers.money(total_usd)} so far"
