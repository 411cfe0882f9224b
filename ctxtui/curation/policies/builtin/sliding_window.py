"""Keeps the first messages and the last n; the rest is dropped, whole rounds at a time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import DROP
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.situation import PolicyContext, Settings, make_edit

NAME = "sliding_window"


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Drop messages from the front once there are `slack` more than `n`, so that the prefix changes once in `slack`
    messages.

    A call is never separated from its answer, and the newest call with its answer always stays: a window too small for
    them is widened.
    """
    messages = situation.context.messages
    first = situation.lead_count + settings["keep_first"]
    left = situation.left[bisect_left(situation.left, first) :]
    if len(left) <= settings["n"] + settings["slack"]:
        return
    cut = situation.safe_cut(left[len(left) - settings["n"]]) if settings["n"] else len(messages)
    cut = min(cut, situation.newest_call)
    for index in left[: bisect_left(left, cut)]:
        message = messages[index]
        parts = [p for p in situation.blocks(message.start, message.stop) if not situation.is_removed(p)]
        if all(situation.may_remove(p, NAME) for p in parts):
            yield make_edit(situation, NAME, DROP, parts or [message.start])


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
