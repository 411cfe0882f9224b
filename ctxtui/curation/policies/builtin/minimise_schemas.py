"""Shrinks tool definitions: descriptions are cut, those of properties removed."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import MINIMISE
from ctxtui.curation.apply.rewrite import rewrite
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.situation import PolicyContext, Settings, make_edit

NAME = "minimise_schemas"


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Minimise every tool that gets smaller."""
    payload = {"description": settings["description"], "properties": settings["properties"]}
    for position in situation.context.tools:
        if not situation.may_change(position, NAME):
            continue
        edit_ = make_edit(situation, NAME, MINIMISE, [position], payload)
        after = rewrite(situation.context.items[position].block, edit_)
        if after is not None and situation.count(after) < situation.size(position):
            yield edit_


POLICY = Policy(
    NAME,
    "cut descriptions of tools, leave those of properties out",
    propose,
    {"description": 100, "properties": False},
    {"description": "characters kept of a tool's description", "properties": "whether properties keep theirs"},
    least=Risk.PARTS,
)
