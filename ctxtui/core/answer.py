"""The answer of a call as a stretch of the tree.

An answer goes on from the context that left. Where that left under edits it goes on from the agent's own context, since
edits change no history: then what lies between the context that left and the end of the answer is no stretch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxtui.core.block import Item
    from ctxtui.core.call import Call
    from ctxtui.core.tree import Tree


def answered_from(tree: Tree, call: Call) -> int:
    """The node behind which the answer of `call` begins: the end of the context that left, or of the agent's own; where
    it goes on from neither, or there is none, its own end."""
    answer = call.response_head
    # What left may be the beginning of the agent's own: the longer one counts, and a parent has the smaller id. A root
    # says that the agent's own is not known.
    ends = {call.sent_head, call.raw_head or call.sent_head}
    return max((end for end in ends if tree.holds(answer, end)), default=answer)


def answer_path(tree: Tree, call: Call) -> list[int]:
    """The nodes of the answer of `call`, in prompt order."""
    return tree.path(call.response_head, answered_from(tree, call))


def answer_items(tree: Tree, call: Call) -> list[Item]:
    """The blocks of the answer of `call` at their places, in prompt order."""
    return tree.items(call.response_head, answered_from(tree, call))
