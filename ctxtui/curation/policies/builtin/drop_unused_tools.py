"""The policy ``drop_unused_tools``: drops tools without calls after a number of rounds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from itertools import islice

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import DROP
from ctxtui.core.tool_definitions import UncalledTools
from ctxtui.curation.context import Context, is_call
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
    uncalled = policy_context.outline("uncalled tools", partial(_collect_tools, context)).find()
    for position in context.tools:
        is_unused = context.items[position].block.digest in uncalled
        is_kept = context.reading(position).name in settings["keep"]
        if is_unused and not is_kept and policy_context.may_change(position, NAME):
            yield make_edit(policy_context, NAME, DROP, [position])


def _collect_tools(context: Context, length: int, tools: UncalledTools | None) -> UncalledTools:
    tools = tools or UncalledTools()
    for position in context.tools[bisect_left(context.tools, length) :]:
        tools.add_definitions(context.items[position].block)
    for item in islice(context.items, length, None):
        if is_call(item.block.kind):
            tools.add_call(item.block)
    return tools


POLICY = Policy(
    NAME,
    "drop tools that were never called",
    propose,
    {"rounds": 10, "keep": []},
    {"rounds": "rounds before it acts", "keep": "tools that stay"},
    least=Risk.PARTS,
)
