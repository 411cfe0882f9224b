"""The next request of an open session under the edits that are applied already."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from ctxtui.cache.prompt import Prompt
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.core.tree import ROOT
from ctxtui.curation.applied import Applied
from ctxtui.curation.price_tag import Asked, Charge
from ctxtui.curation.sent_path import SentPath, leaving
from ctxtui.curation.staged_context import StagedContext
from ctxtui.curation.staged_prompt import Front, staged_prompt, trail_of
from ctxtui.lab.asking import Asking


@dataclass(frozen=True)
class UnderEdits:
    """A context under `applied`, its request's blocks being the path to the node `head`."""

    applied: Applied
    head: int

    @classmethod
    def of(cls, applied: Applied) -> UnderEdits:
        """Make the nodes of the request as it would leave; those that were sent already are the same ones."""
        return cls(applied, applied.context.tree.extend(ROOT, leaving(applied)))

    @cached_property
    def path(self) -> SentPath:
        """Where its blocks stand."""
        return SentPath(self.applied.context, self.applied, self.applied.context.tree.path(self.head))

    def asked(self, raw: Asking, found: Asking, charge: Charge) -> Asked:
        """`found`, the request at `head`, with the breakpoints that are applied; `raw` is the one without edits."""
        plain = Applied(self.applied.context, length=self.applied.length)
        unmarked = Front(replace(self.applied, marks={}), trail_of(found.prompt), self.path)
        marked, _ = staged_prompt(found.prompt, unmarked, self.applied, _nothing)
        front = Front(plain, trail_of(raw.prompt), SentPath(plain.context))
        return Asked(found.simulator, marked, charge, found.at, self.path, front)

    def parts_at(self, call: Call, raw: Prompt) -> int | None:
        """The raw position from which this is another request than what `call` sent, its answer being there; None
        where it only goes on. `raw` is the request without edits."""
        context = self.applied.context
        if call.sent_head == call.raw_head:
            plain = Applied(context, length=self.applied.length)
            return StagedContext(plain, self.applied, raw, _nothing, SentPath(context)).first
        tree = context.tree
        shared = tree.common(self.head, call.sent_head)
        if shared == call.sent_head:
            return None
        behind = tree.path(self.head, shared)
        return self.path.edge(behind[0])[0] if behind else len(context)


def _nothing(block: Block) -> int:
    # Where only places are asked for, nobody reads the tokens.
    return 0
