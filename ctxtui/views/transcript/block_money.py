"""What one block costs: at the call shown, and since it entered the context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers

if TYPE_CHECKING:
    from ctxtui.analysis.money.ledger import CostLedger

_THINKING = INDEX["thinking"]


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


def words(scene: Scene, ledger: CostLedger | None, node: int) -> str:
    """``$0.007 this call · $1.61 so far``; "" while nothing is known of the money."""
    if ledger is None or node <= ROOT or not scene.running.counted(node):
        return ""
    now, whole = this_call(scene, ledger, node), ledger.block(node, scene.running.own(node), scene.number)
    if not whole:
        return ""
    first = f"{numbers.money(now)} this call · " if now is not None else ""
    return f"{first}{numbers.money(whole)} so far"
