"""How long the prefixes of a request under a variant are: as reports before it told, where they told of them."""

from __future__ import annotations

from collections.abc import Callable

from ctxtui.analysis.lab.edited_path import EditedPath
from ctxtui.analysis.lab.recorded import RecordedStep
from ctxtui.core.tree import ROOT

Counted = Callable[[int, int], int]
"""Tokens of the blocks up to a node in the request that ends at another one."""


class SentLengths:
    """Tokens up to a node of the request with the context `head` and `total` tokens, which leaves for a recorded one of
    `own` tokens.

    A prefix that both have is as long as reports before told, and what edits changed is counted. That is how the price
    tag has it (`curation.price.edited_prompt`): what is lacking of a recording, or counted wrong, stands where a
    report first told of it, not all of it in front. Where no report came before, or it was another model's (`told` is
    False), what is `hidden` does stand in front. `shared` is what other variants found of the recorded request, by
    node, as the same model counts it.
    """

    def __init__(
        self,
        step: RecordedStep,
        path: EditedPath,
        counted: Counted,
        *,
        head: int,
        total: int,
        own: int,
        hidden: int,
        told: bool,
        shared: dict[int, int] | None = None,
    ) -> None:
        self._step, self._path, self._counted = step, path, counted
        self._head, self._total, self._hidden = head, total, hidden
        self._known: dict[int, int] = {head: total}
        self._shared = shared if shared is not None else {}
        self._recorded = step.call.sent_head
        whole = self._reported(self._recorded) if told and step.reported(self._recorded) != (ROOT, 0) else 0
        # The request as a whole is as long as it is counted: of its parts each is so much more or less.
        self._share = own / whole if whole > 0 else 0.0

    def __call__(self, node: int) -> int:
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = max(0, min(self._total, self._length(node)))
        return found

    def _length(self, node: int) -> int:
        if not self._share:
            return self._hidden + (self._counted(node, self._head) if node != ROOT else 0)
        raw = self._path.raw(node)
        more = self._counted(node, self._head) - self._counted(raw, self._recorded) if node != raw else 0
        return round(self._share * self._reported(raw)) + more

    def _reported(self, node: int) -> int:
        """Tokens up to a node of the recorded request."""
        found = self._shared.get(node)
        if found is None:
            known, tokens = self._step.reported(node)
            # When that was reported, thinking of what is an earlier turn now was still read.
            found = tokens + self._counted(node, self._recorded) - self._counted(known, known)
            self._shared[node] = found
        return found
