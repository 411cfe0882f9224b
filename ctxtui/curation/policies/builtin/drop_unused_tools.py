"""Drops tools without calls after a number of rounds."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import DROP
from ctxtui.curation.context import is_call
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.policies.risk import Risk

NAME = "drop_unused_tools"


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """After `rounds` rounds, drop every tool without a call, all at once.

    Tools precede everything else in the prompt. It decides once, so that the prefix changes once.
    """
    if len(policy_context.rounds) < settings["rounds"] or policy_context.touched.get(NAME):
        return
    context = policy_context.context
    called = {context.reading(p).name for p, item in enumerate(context.items) if is_call(item.block.kind)}
    for position in context.tools:
        name = context.reading(position).name
        if name not in called and name not in settings["keep"] and policy_context.may_change(position, NAME):
            yield make_edit(policy_context, NAME, DROP, [position])


POLICY = Policy(
    NAME,
    "drop tools that were never called",
    propose,
    {"rounds": 10, "keep": []},
    {"rounds": "rounds before it acts", "keep": "tools that stay"},
    least=Risk.PARTS,
)
