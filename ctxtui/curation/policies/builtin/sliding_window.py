"""The policy ``sliding_window``: drops all but the first messages and the last n."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import DROP
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.policies.risk import Risk

NAME = "sliding_window"


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Drop all messages (Responses: items) but the first `keep_first` and the last `n`.

    It acts once more than `n` + `slack` follow the first ones, so that the prefix changes once in `slack` messages. A
    window too small for the newest call with its answer is widened.
    """
    messages = policy_context.context.messages
    first = policy_context.lead_count + settings["keep_first"]
    remaining = policy_context.left[bisect_left(policy_context.left, first) :]
    if len(remaining) <= settings["n"] + settings["slack"]:
        return
    cut = policy_context.safe_cut(remaining[len(remaining) - settings["n"]]) if settings["n"] else len(messages)
    cut = min(cut, policy_context.newest_call)
    for index in remaining[: bisect_left(remaining, cut)]:
        message = messages[index]
        parts = [
            p for p in policy_context.blocks(message.start, message.stop) if not policy_context.applied.is_removed(p)
        ]
        if all(policy_context.may_remove(p, NAME) for p in parts):
            yield make_edit(policy_context, NAME, DROP, parts or [message.start])


POLICY = Policy(
    NAME,
    "keep the first messages and the last n",
    propose,
    {"n": 9, "keep_first": 1, "slack": 4},
    {
        "n": "messages kept at the end",
        "keep_first": "messages kept at the front",
        "slack": "messages more before it acts",
    },
    least=Risk.GONE,
)
