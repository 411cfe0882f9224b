"""Apply policies' edits if their price allows it, or postpone them to the next cache miss."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxtui.core.edit import Edit
from ctxtui.core.edit_log import MISS, unapplied_ids
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.policies.policy import Step, run_all
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.price.price_tag import PriceTag
from ctxtui.services.editing.overlay import ThreadEdits

Price = Callable[[Applied], PriceTag]
"""Returns the price tag of the next request with the given edits."""


def act_at_price(
    steps: Sequence[Step], policy_context: PolicyContext, overlay: ThreadEdits, price: Price, horizon: int
) -> str:
    """Apply the edits of the policies of `steps` to the next request, if the price allows it.

    - They are applied if that request and `horizon` later ones cost no more than without them, or, without a known
      price, if they change no cached block.
    - Otherwise, or if the provider would refuse them, they are staged, and postponed until the next cache miss.
    - Edits that the user reverted stay reverted.

    `policy_context` is the context of that request, with the log of `overlay`. Returns a message; "" without edits.
    """
    names = {step.policy.name for step in steps}
    overlay.stage_all(run_all(steps, policy_context))
    reverted_ids = unapplied_ids(overlay.log)
    policy_edits = [edit for edit in overlay.staged if edit.author in names and edit.id not in reverted_ids]
    if not policy_edits:
        return ""
    after = apply(policy_context.context, _edits_to_apply(overlay, policy_edits), policy_context.rules)
    if after.refused:
        return _postpone(overlay, policy_edits, f"the provider would refuse them: {after.refused}")
    tag = price(after)
    apply_now = tag.moments[0]
    if apply_now.once is None or apply_now.per_call is None:
        if tag.broken:
            return _postpone(overlay, policy_edits, "no price is known, and they change cached blocks")
        price_text = "no cached block changes"
    else:
        net_usd = apply_now.once + horizon * apply_now.per_call
        price_text = f"{_format_change(apply_now.once)} now, {_format_change(apply_now.per_call)} for each later call"
        if net_usd > 0:
            return _postpone(overlay, policy_edits, f"{price_text}, not paid back within {horizon:,} calls")
    overlay.apply(edit.id for edit in policy_edits)
    return f"{_count_edits(policy_edits)} applied: {price_text}"


def _format_change(change: float) -> str:
    return f"{'-' if change < 0 else '+'}${abs(change):.4f}"


def _edits_to_apply(overlay: ThreadEdits, policy_edits: list[Edit]) -> list[Edit]:
    ids = {edit.id for edit in (*overlay.applied, *policy_edits)}
    return [edit for edit in overlay.in_force if edit.id in ids]


def _postpone(overlay: ThreadEdits, policy_edits: list[Edit], reason: str) -> str:
    overlay.postpone(MISS, [edit.id for edit in policy_edits if edit.id not in overlay.waiting])
    return f"{_count_edits(policy_edits)} postponed until the next cache miss: {reason}"


def _count_edits(policy_edits: list[Edit]) -> str:
    return "1 policy edit" if len(policy_edits) == 1 else f"{len(policy_edits):,} policy edits"
