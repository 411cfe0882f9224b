"""Shrinks JSON in messages and results by rule: members dropped, renamed, flattened."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import COMPACT_JSON
from ctxtui.curation.apply.rewrite import rewrite
from ctxtui.curation.context import ASSISTANT, is_call
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.situation import PolicyContext, Settings, make_edit

NAME = "compact_json"


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Compact every text that gets at least `least` per cent smaller."""
    rules = {key: settings[key] for key in ("drop", "rename", "flatten")}
    for position, item in enumerate(situation.context.items):
        own = item.place.section == "messages" and item.place.role not in ASSISTANT and not is_call(item.block.kind)
        if not own or b"{" not in item.block.body or not situation.may_change(position, NAME):
            continue
        edit_ = make_edit(situation, NAME, COMPACT_JSON, [position], rules)
        after = rewrite(item.block, edit_)
        if after is not None and situation.count(after) * 100 <= situation.size(position) * (100 - settings["least"]):
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
