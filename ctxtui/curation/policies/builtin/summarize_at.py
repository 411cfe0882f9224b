"""The policy ``summarize_at``: summarises the history of a context that is too large."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.curation.policies.context_spans import LENGTH_NOTE, format_range, free_runs, summarize_runs
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings
from ctxtui.curation.policies.risk import Risk

NAME = "summarize_at"


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Above `tokens`, summarise everything before the last `keep` turns.

    `tokens` 0 means the usable window, `keep` 0 means one. If there are no more than `keep` turns, summarise everything
    before the last `keep` rounds instead. The first `keep_first` messages and memory files stay.
    """
    limit = settings["tokens"] or policy_context.usable
    if not limit or policy_context.total <= limit:
        return
    turns = policy_context.turns
    start = _first_position(policy_context, settings["keep_first"])
    keep = max(1, settings["keep"])
    name, parts = ("turn", turns) if len(turns) > keep else ("round", policy_context.rounds)
    if len(parts) <= keep:
        return
    for first, last in _stretches_between_memory(policy_context, start, parts[-keep].start):
        # Earlier parts may be in a summary already.
        free = [position for run in free_runs(policy_context, NAME, first, last) for position in run]
        numbers = [n for n, part in enumerate(parts, 1) if free and part.stop > free[0] and part.start <= free[-1]]
        what = format_range(name, numbers[0], numbers[-1]) if numbers else ""
        yield from summarize_runs(policy_context, NAME, first, last, what, length=settings["length"])


def _first_position(policy_context: PolicyContext, keep_first: int) -> int:
    messages = policy_context.context.messages
    # The system prompt and memory before the conversation do not count.
    index = min(policy_context.lead_count + keep_first, len(messages) - 1)
    return messages[index].start if messages else 0


def _stretches_between_memory(policy_context: PolicyContext, start: int, stop: int) -> Iterator[tuple[int, int]]:
    start_next = start
    for position in range(start, stop):
        if policy_context.context.items[position].place.mark == "memory":
            yield start_next, position
            start_next = position + 1
    yield start_next, stop


POLICY = Policy(
    NAME,
    "summarise the history above a size",
    propose,
    {"tokens": 0, "keep": 2, "keep_first": 1, "length": 0},
    {
        "tokens": "size from which it acts (0: the usable window)",
        "keep": "newest turns left whole",
        "keep_first": "messages kept at the front",
        "length": LENGTH_NOTE,
    },
    least=Risk.SUMMARY,
)
