"""Filters edits before they are suggested to the user.

Removed text must not be quoted later, and most of the conversation must stay.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxtui.core.block import HEADER
from ctxtui.core.edit import Edit
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.price.dependence import find_quotes


def without_quoted(policy_context: PolicyContext, edits: Sequence[Edit]) -> list[Edit]:
    """Leave out edits that remove text which a later block quotes.

    Keep all if the literals are unknown.
    """
    literals, remaining_edits = policy_context.literals, list(edits)
    if literals is None or not remaining_edits:
        return remaining_edits
    quoted_before = {
        (quote.literal, quote.position)
        for quote in find_quotes(literals, policy_context.applied, len(policy_context.context))
    }
    while remaining_edits:
        after = policy_context.under(remaining_edits).applied
        lost = (quote for quote in find_quotes(literals, after) if (quote.literal, quote.position) not in quoted_before)
        changes = (after.changes[quote.position] for quote in lost)
        # A repair names the edit that it belongs to.
        culprits = {str(change.edit.params["for"]) if change.is_repair else change.edit.id for change in changes}
        safe_edits = [edit for edit in remaining_edits if edit.id not in culprits]
        if len(safe_edits) == len(remaining_edits):
            break
        remaining_edits = safe_edits
    return remaining_edits


def removes_most(before: Applied, after: Applied) -> bool:
    """Whether most of the conversation that was present `before` is gone `after`."""
    items = after.context.items
    positions = [
        position
        for position, item in enumerate(items)
        if item.place.section == "messages" and item.block.kind != HEADER and not before.is_removed(position)
    ]
    return 2 * sum(after.is_removed(position) for position in positions) > len(positions)
