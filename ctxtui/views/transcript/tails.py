"""What stands behind the context of a call: the answer, and what came since."""

from __future__ import annotations

from ctxtui.core.call import answer_path
from ctxtui.core.tree import ROOT, Tree
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers
from ctxtui.views.transcript.row_index import RuleRow


class Tails:
    """The tails of the scenes of one session. What came since may be much, and have more many times a second: where it
    begins is looked for once."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._since = ROOT, ROOT, ROOT
        """An answer, what came since it, and the first node of that."""

    def of(self, scene: Scene) -> tuple[int, list[tuple[RuleRow, int]]]:
        """The context that the rows begin with, and what stands behind it: each a rule and the node that it ends
        with."""
        tree, call, tip = self._tree, scene.call, scene.tip
        answer = call.response_head or scene.head
        if tip != answer and not tree.holds(tip, answer):
            # A held request spells the answer in its own way, or begins anew: it is shown as it would leave.
            head = tree.common(tip, scene.head)
            rest = tree.path(tip, head)
            return head, [(RuleRow("since", "not sent yet", rest[0]), tip)] if rest else []
        tails = []
        said = answer_path(tree, call)
        if said:
            told = f"{numbers.tokens(call.output)} tokens reported"
            if not call.is_reported:
                told = "not reported" if call.answered_in_part else ""
            elif call.answered_in_part:
                told = f"{numbers.least_tokens(call.output, True)} tokens"
            tails.append((RuleRow("answer", told, said[0]), answer))
        if tip != answer:
            tails.append((RuleRow("since", "not sent yet", self._first(tip, answer)), tip))
        return scene.head, tails

    def _first(self, tip: int, answer: int) -> int:
        """The first node of what leads from `answer` to `tip`."""
        of, before, first = self._since
        if of != answer or before == ROOT or not self._tree.holds(tip, before):
            first = self._tree.path(tip, answer)[0]
        self._since = answer, tip, first
        return first
