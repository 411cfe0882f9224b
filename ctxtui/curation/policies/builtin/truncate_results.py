"""The policy ``truncate_results``: cuts long tool results.

Half of a limit stays at the beginning, half at the end, with a line about the cut between them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import TRUNCATE
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.tool_results import longer_than, tool_of

NAME = "truncate_results"


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Cut each result that is longer than `limit` and a tenth.

    The newest `keep_last` results stay whole for now.
    """
    limit = settings["limit"]
    positions = policy_context.results
    last = (
        positions[-settings["keep_last"]]
        if 0 < settings["keep_last"] <= len(positions)
        else len(policy_context.context)
    )
    for position in longer_than(policy_context, limit * 1.1) if settings["keep_last"] <= len(positions) else ():
        if position < last and policy_context.may_change(position, NAME):
            if settings["exclude"] and tool_of(policy_context, position) in settings["exclude"]:
                continue
            yield make_edit(policy_context, NAME, TRUNCATE, [position], {"head": limit // 2, "tail": limit // 2})


POLICY = Policy(
    NAME,
    "cut long tool results, head and tail kept",
    propose,
    {"limit": 2000, "keep_last": 0, "exclude": []},
    {"limit": "characters kept of a result", "keep_last": "newest results left whole", "exclude": "tools left alone"},
    least=Risk.PARTS,
)
