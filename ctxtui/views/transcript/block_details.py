"""What is said of an open block beside its content: how long it stayed, what it carried, how far a cache keeps it, and
where else its content stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxtui.core.tree import ROOT, Tree
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.analysis.content.block_lifetimes import Stays
    from ctxtui.analysis.content.duplicates import Repeat


def details(scene: Scene, node: int, stays: Stays | None, repeat: Repeat | None, room: int) -> list[list[Span]]:
    """The lines for the block of `node` in `room` cells; none where nothing is known of it yet."""
    # Imported here: nothing is open on the first screen.
    from ctxtui.analysis.content.block_weights import weight
    from ctxtui.views.lists.heaviest_blocks import cacheable

    if node == ROOT or stays is None or not scene.running.counted(node):
        return []
    found = weight(node, scene.running.own(node), stays, scene.number)
    texts = []
    if found.calls:
        many = f"{found.calls:,} call{'s' if found.calls != 1 else ''}"
        texts.append(
            f"since call {found.since:,}, in {many}: {numbers.tokens(found.carry)} carried; {cacheable(found)}"
        )
    if repeat is not None:
        from ctxtui.views.lists.duplicates import MARK, told

        mark = MARK[repeat.kind].text
        texts.append(f"{mark} {told(repeat, scene.session.tree[repeat.other].turn)}")
    return [[Span(line, "faint")] for text in texts for line in safe_text.wrap(text, max(16, room))]


def standing(tree: Tree, path: Sequence[int], repeat: Repeat | None) -> Repeat | None:
    """`repeat`, if what stands for its block is on the context's `path` (its nodes in prompt order), too."""
    if repeat is None or repeat.other == ROOT:
        return repeat
    depth = tree[repeat.other].depth
    return repeat if depth <= len(path) and path[depth - 1] == repeat.other else None
