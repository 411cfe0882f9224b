"""Policies that stand over a session: what they propose is applied once the price says so, and waits until then."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxtui.core.edit import Edit
from ctxtui.core.edit_log import MISS, unapplied_ids
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.policies.policy import Step, run_all
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.price.price_tag import PriceTag
from ctxtui.services.editing.overlay import ThreadEdits

Price = Callable[["Applied"], "PriceTag"]
"""The tag of the next request under other edits than those that are applied."""


def act_at_price(
    steps: Sequence[Step], situation: PolicyContext, overlay: ThreadEdits, price: Price, horizon: int
) -> str:
    """Have the policies of `steps` propose for the next request, and apply what stands of theirs where that request and
    `horizon` later ones cost no more for it; else it is staged and waits for a miss. Says what was decided, "" where
    nothing was. What a user took back stays back.

    `situation` is the context of that request, its log that of `overlay`.
    """
    names = {step.policy.name for step in steps}
    overlay.stage_all(run_all(steps, situation))
    back = unapplied_ids(overlay.log)
    mine = [edit for edit in overlay.staged if edit.author in names and edit.id not in back]
    if not mine:
        return ""
    after = apply(situation.context, _in_order(overlay, mine), situation.rules)
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
    """USD more (``+``) or less."""
    return f"{'-' if change < 0 else '+'}${abs(change):.4f}"


def _in_order(overlay: ThreadEdits, mine: list[Edit]) -> list[Edit]:
    ids = {edit.id for edit in (*overlay.applied, *mine)}
    return [edit for edit in overlay.in_force if edit.id in ids]


def _wait(overlay: ThreadEdits, mine: list[Edit], why: str) -> str:
    overlay.wait(MISS, [edit.id for edit in mine if edit.id not in overlay.waiting])
    return f"{_count(mine)} of a policy wait{'s' if len(mine) == 1 else ''}: {why}"


def _count(mine: list[Edit]) -> str:
    return "1 edit" if len(mine) == 1 else f"{len(mine):,} edits"
