"""The policy ``strip_images``: removes images of earlier messages, which the model has seen."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import STRIP
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.policies.risk import Risk

NAME = "strip_images"


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Strip images from all but the last `keep` messages with any, once `slack` images can go."""
    context = policy_context.context
    holders = list(dict.fromkeys(context.message_of[p] for p in context.images))
    recent_messages = set(holders[max(0, len(holders) - settings["keep"]) :])
    positions = [
        p for p in context.images if context.message_of[p] not in recent_messages and policy_context.may_change(p, NAME)
    ]
    if len(positions) >= settings["slack"]:
        for position in positions:
            yield make_edit(policy_context, NAME, STRIP, [position], {"what": "images"})


POLICY = Policy(
    NAME,
    "remove images of earlier messages",
    propose,
    {"keep": 1, "slack": 1},
    {"keep": "newest messages whose images stay", "slack": "images before it acts"},
    least=Risk.PARTS,
)
