"""What one block costs: at the call shown, and since it entered the context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.analysis.money.ledger import CostLedger

_THINKING = INDEX["thinking"]
_RESULT = INDEX["tool_result"]


def this_call(scene: Scene, ledger: CostLedger, node: int) -> float | None:
    """USD that the call shown took for the block of `node` on its context; None while that is not worked out, or for
    an answer that no call has read yet."""
    tree = scene.session.tree
    if ledger.done <= scene.index or not scene.running.counted(node) or not tree.holds(scene.head, node):
        return None
    here = tree[node]
    if here.category == _THINKING and scene.running.strips_thinking:
        start = tree[scene.head].turn_start
        if start != ROOT and here.depth < tree[start].depth:
            return 0.0
    return scene.running.own(node) * ledger.charged(scene.index).rate(here.depth)


def history(scene: Scene, ledger: CostLedger | None, node: int) -> tuple[str, Span]:
    """The round to which the block of `node` belongs, and what it has cost so far."""
    unknown = Span(numbers.NONE, "faint")
    if ledger is None:
        return "", unknown
    made, entered = ledger.stays.answered(node), ledger.stays.first(node)
    if made is None and entered is None:
        return "", unknown
    # A result belongs to the call that it answers, a user's text to the call that first read it.
    number = made + 1 if made is not None else entered or 0
    if made is None and scene.session.tree[node].category != _RESULT:
        number += 1
    usd = ledger.block(node, scene.running.own(node), scene.number) if scene.running.counted(node) else None
    if usd is None:
        return str(number or 1), unknown
    return str(number or 1), Span(numbers.money(usd), "dim" if usd >= 0.0005 else "faint")


def words(scene: Scene, ledger: CostLedger | None, node: int) -> str:
    """``$0.007 this call · $1.61 so far``; "" while nothing is known of the money."""
    if ledger is None or node <= ROOT or not scene.running.counted(node):
        return ""
    now, whole = this_call(scene, ledger, node), ledger.block(node, scene.running.own(node), scene.number)
    if not whole:
        return ""
    first = f"{numbers.money(now)} this call · " if now is not None else ""
    return f"{first}{numbers.money(whole)} so far"
