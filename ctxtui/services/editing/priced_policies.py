"""Apply policies' proposals once the price allows it, and let them wait until then."""

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

Price = Callable[["Applied"], "PriceTag"]
"""Returns the price tag of the next request under other edits than the applied ones."""


def act_at_price(
    steps: Sequence[Step], policy_context: PolicyContext, overlay: ThreadEdits, price: Price, horizon: int
) -> str:
    """Run the policies of `steps` for the next request and apply their edits if the price allows it. They are applied
    if that request and `horizon` later ones cost no more than without them; otherwise they are staged and wait for a
    miss. Returns a message, "" without edits. Edits that the user reverted stay reverted.

    `policy_context` is the context of that request, with the log of `overlay`.
    """
    names = {step.policy.name for step in steps}
    overlay.stage_all(run_all(steps, policy_context))
    back = unapplied_ids(overlay.log)
    mine = [edit for edit in overlay.staged if edit.author in names and edit.id not in back]
    if not mine:
        return ""
    after = apply(policy_context.context, _in_order(overlay, mine), policy_context.rules)
    if after.refused:
        return _wait(overlay, mine, f"the provider would refuse them: {after.refused}")
    tag = price(after)
    now = tag.moments[0]
    if now.once is None or now.per_call is None:
        if tag.broken:
            return _wait(overlay, mine, "no price is known, and the cache holds what they change")
        worth = "nothing that is cached changes"
    else:
        over = now.once + horizon * now.per_call
        worth = f"{_usd(now.once)} now, {_usd(now.per_call)} for each later call"
        if over > 0:
            return _wait(overlay, mine, f"{worth}, not paid back within {horizon:,} calls")
    overlay.apply(edit.id for edit in mine)
    return f"{_count(mine)} of a policy applied: {worth}"


def _usd(change: float) -> str:
    """Format a difference in USD, with its sign."""
    return f"{'-' if change < 0 else '+'}${abs(change):.4f}"


def _in_order(overlay: ThreadEdits, mine: list[Edit]) -> list[Edit]:
    ids = {edit.id for edit in (*overlay.applied, *mine)}
    return [edit for edit in overlay.in_force if edit.id in ids]


def _wait(overlay: ThreadEdits, mine: list[Edit], why: str) -> str:
    overlay.postpone(MISS, [edit.id for edit in mine if edit.id not in overlay.waiting])
    return f"{_count(mine)} of a policy wait{'s' if len(mine) == 1 else ''}: {why}"


def _count(mine: list[Edit]) -> str:
    return "1 edit" if len(mine) == 1 else f"{len(mine):,} edits"
