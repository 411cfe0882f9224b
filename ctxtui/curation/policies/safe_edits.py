"""Edits that may be offered unasked: nothing goes that later blocks quote, and most of the conversation stays."""

from __future__ import annotations

from collections.abc import Sequence

from ctxtui.core.block import HEADER
from ctxtui.core.edit import Edit
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.price.dependence import quotes
from ctxtui.curation.price.request_count import is_out


def unquoted(situation: PolicyContext, edits: Sequence[Edit]) -> list[Edit]:
    """Those of `edits` that take nothing away that a later block quotes; all where the literals are not known."""
    known, left = situation.literals, list(edits)
    if known is None or not left:
        return left
    had = {(quote.literal, quote.position) for quote in quotes(known, situation.applied, len(situation.context))}
    while left:
        after = situation.under(left).applied
        lost = (quote for quote in quotes(known, after) if (quote.literal, quote.position) not in had)
        changes = (after.changes[quote.position] for quote in lost)
        # A repair names the edit that it goes with.
        culprits = {str(one.edit.params["for"]) if one.repaired else one.edit.id for one in changes}
        kept = [edit for edit in left if edit.id not in culprits]
        if len(kept) == len(left):
            break
        left = kept
    return left


def empties(before: Applied, after: Applied) -> bool:
    """Whether most of the conversation that stands `before` is gone `after`."""
    items = after.context.items
    stood = [
        position
        for position, item in enumerate(items)
        if item.place.section == "messages" and item.block.kind != HEADER and not is_out(before, position)
    ]
    return 2 * sum(is_out(after, position) for position in stood) > len(stood)
