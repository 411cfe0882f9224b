"""The weights of the context shown: for a worker, since a long context takes longer than a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.analysis.content.block_lifetimes import Stays
from ctxtui.analysis.content.block_weights import weights
from ctxtui.views.scene import Scene
from ctxtui.views.weights import Weighed

if TYPE_CHECKING:
    from ctxtui.analysis.money.ledger import Ledger


def weighed(scene: Scene, stays: Stays, ledger: Ledger | None) -> list[Weighed]:
    """Every block of the scene's context with what it carried and, as far as `ledger` knows, cost."""
    tree, running, number = scene.session.tree, scene.running, scene.number
    if stays.done < number:
        # The study's own is still on its way.
        stays = Stays(tree)
        stays.advance(scene.calls)
    found = weights(tree, scene.head, running.own, stays, number, strips_thinking=running.strips_thinking)
    return [
        Weighed(one, tree[one.node].category, ledger.block(one.node, one.tokens, number) if ledger else None)
        for one in found
    ]
