"""Strips thinking of earlier turns, from the front: signatures of later thinking stay valid."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import STRIP
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.policies.risk import Risk

NAME = "strip_thinking"


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Strip the thinking of all turns but the last `keep`, once that frees `at_least` tokens."""
    turns = policy_context.turns
    keep = max(1, settings["keep"])
    if len(turns) <= keep:
        return
    limit = turns[-keep].start
    positions = []
    for position in policy_context.context.thinking:
        if not policy_context.is_unchanged(position):
            continue
        if position >= limit or not policy_context.may_change(position, NAME):
            # A signature is bound to all thinking before it: thinking after a block that stays has to stay, too.
            break
        positions.append(position)
    if sum(map(policy_context.size, positions)) >= settings["at_least"]:
        for position in positions:
            yield make_edit(policy_context, NAME, STRIP, [position], {"what": "thinking"})


POLICY = Policy(
    NAME,
    "remove thinking of earlier turns",
    propose,
    {"keep": 1, "at_least": 1_000},
    {"keep": "newest turns whose thinking stays (at least 1)", "at_least": "tokens that it must free"},
    least=Risk.PARTS,
)
