"""The policy ``minimise_schemas``: cuts the descriptions in tool definitions."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import MINIMISE
from ctxtui.curation.apply.rewrite import rewrite
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.policies.risk import Risk

NAME = "minimise_schemas"


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Cut each tool's description to `description` characters.

    The descriptions of its properties are removed, unless `properties` is True.
    """
    payload = {"description": settings["description"], "properties": settings["properties"]}
    for position in policy_context.context.tools:
        if not policy_context.may_change(position, NAME):
            continue
        edit_ = make_edit(policy_context, NAME, MINIMISE, [position], payload)
        after = rewrite(policy_context.context.items[position].block, edit_)
        if after is not None and policy_context.count(after) < policy_context.size(position):
            yield edit_


POLICY = Policy(
    NAME,
    "cut descriptions of tools, remove those of properties",
    propose,
    {"description": 100, "properties": False},
    {"description": "characters kept of a tool's description", "properties": "whether properties keep theirs"},
    least=Risk.PARTS,
)
