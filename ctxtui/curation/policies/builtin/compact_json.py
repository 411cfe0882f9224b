"""The policy ``compact_json``: drops, renames or flattens members of JSON in messages."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.block import ASSISTANT
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import COMPACT_JSON
from ctxtui.curation.apply.rewrite import rewrite
from ctxtui.curation.context import is_call
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit

NAME = "compact_json"


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Compact JSON where that saves `least` per cent, except in the assistant's messages."""
    rules = {key: settings[key] for key in ("drop", "rename", "flatten")}
    for position, item in enumerate(policy_context.context.items):
        is_eligible = (
            item.place.section == "messages" and item.place.role not in ASSISTANT and not is_call(item.block.kind)
        )
        if not is_eligible or b"{" not in item.block.body or not policy_context.may_change(position, NAME):
            continue
        edit_ = make_edit(policy_context, NAME, COMPACT_JSON, [position], rules)
        after = rewrite(item.block, edit_)
        if after is not None and policy_context.count(after) * 100 <= policy_context.size(position) * (
            100 - settings["least"]
        ):
            yield edit_


POLICY = Policy(
    NAME,
    "make JSON in messages and results smaller",
    propose,
    {"drop": [], "rename": {}, "flatten": [], "least": 10},
    {
        "drop": "members left out",
        "rename": "members given another name",
        "flatten": "objects written as key=value",
        "least": "per cent that it must save",
    },
)
