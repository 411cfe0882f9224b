"""What a policy would have saved, had it been there from the first call of a thread on."""

from __future__ import annotations

from typing import Final

from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.edited_calls import CallCharge
from ctxtui.analysis.money.savings import Cure, from_the_start
from ctxtui.core.edit_kinds import COMPACT_JSON, EXTERNALIZE, MINIMISE, TRUNCATE
from ctxtui.curation.context import Context
from ctxtui.curation.policies.search import Remedy

POLICY: Final = "policy"
"""The kind of these cures; its `names` are the policy and its risk."""
_AT_ENTRY: Final = frozenset({COMPACT_JSON, EXTERNALIZE, MINIMISE, TRUNCATE})
"""Kinds of edits that can be made when a block enters, so that nothing is ever written again for them."""


def by_policy(thread: ThreadCosts, context: Context, found: Remedy, charge: CallCharge) -> Cure | None:
    """What `found`, a single policy, would have saved of what the blocks of `context` cost, had each been edited as it
    entered; None for two policies, and for edits of what stands there already."""
    if len(found.steps) > 1 or any(edit.kind not in _AT_ENTRY for edit in found.edits):
        return None
    freed = {}
    for position, less in found.saved.items():
        # A block may count less in the thread's weights than in the request's; more than all of it never goes.
        own = thread.running.own(context.nodes[position])
        if own:
            freed[context.nodes[position]] = min(less, own)
    names = (found.names[0], found.risk.words)
    return from_the_start(POLICY, thread, freed, charge, names=names, count=len(freed))
