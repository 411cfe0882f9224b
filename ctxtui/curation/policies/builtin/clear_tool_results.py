"""The policy ``clear_tool_results``: clears old tool results once the context is large.

Anthropic's context editing does the same at the provider; these edits can be reverted.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.curation.policies.context_spans import count_text
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.tool_results import CLEARED, tool_of

NAME = "clear_tool_results"


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Above `trigger` tokens, replace all remaining results but the last `keep` by a line.

    It does so only if that frees `at_least` tokens; results of the tools in `exclude` stay.
    """
    if policy_context.total <= settings["trigger"]:
        return
    positions = [position for position in policy_context.results if not policy_context.applied.is_removed(position)]
    line = count_text(policy_context, CLEARED)
    chosen = []
    for position in positions[: max(0, len(positions) - settings["keep"])]:
        is_eligible = (
            policy_context.may_change(position, NAME) and tool_of(policy_context, position) not in settings["exclude"]
        )
        if is_eligible and policy_context.size(position) > line:
            chosen.append(position)
    if sum(policy_context.size(p) - line for p in chosen) >= settings["at_least"]:
        for position in chosen:
            yield make_edit(policy_context, NAME, REPLACE, [position], {"text": CLEARED})


POLICY = Policy(
    NAME,
    "clear old tool results above a size of the context",
    propose,
    {"trigger": 100_000, "keep": 3, "exclude": [], "at_least": 5_000},
    {
        "trigger": "tokens from which it acts",
        "keep": "newest results kept",
        "exclude": "tools left alone",
        "at_least": "tokens that it must free",
    },
    least=Risk.GONE,
)
