"""The policy ``stateless``: summarizes each turn but the newest; the first messages stay."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.curation.policies.context_spans import LENGTH_NOTE, format_range, summarize_runs
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings
from ctxtui.curation.policies.risk import Risk

NAME = "stateless"


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Summarize everything between the first messages and the newest turn, turn by turn."""
    turns, messages = policy_context.turns, policy_context.context.messages
    index = policy_context.lead_count + settings["keep_first"]
    if len(turns) < 2 or index >= len(messages):
        return
    start = messages[index].start
    for number, turn in enumerate(turns[:-1], 1):
        if turn.stop > start:
            first, what = max(start, turn.start), format_range("turn", number, number)
            yield from summarize_runs(policy_context, NAME, first, turn.stop, what, length=settings["length"])


POLICY = Policy(
    NAME,
    "keep the task, a summary of each earlier turn, and the newest turn",
    propose,
    {"keep_first": 1, "length": 0},
    {"keep_first": "messages kept at the front", "length": LENGTH_NOTE},
    least=Risk.SUMMARY,
)
