"""The policy ``summarize_every``: summarises every k rounds."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.curation.policies.context_spans import LENGTH_NOTE, format_range, summarize_runs
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings
from ctxtui.curation.policies.risk import Risk

NAME = "summarize_every"


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Summarise each `k` rounds once `keep` younger ones follow them.

    Summaries are final, unless `levels` is 2 or more: then `k` summaries of one level become one of the next (`k` 1 has
    no levels).
    """
    rounds, k = policy_context.rounds, max(1, settings["k"])
    stop = len(rounds) - settings["keep"]
    sizes = [k**level for level in range(max(1, settings["levels"]), 0, -1)] if k > 1 else [1]
    first = 0
    while first + k <= stop:
        size = next(size for size in sizes if first % size == 0 and first + size <= stop)
        replaced = rounds[first : first + size]
        what = format_range("round", first + 1, first + size)
        yield from summarize_runs(
            policy_context, NAME, replaced[0].start, replaced[-1].stop, what, again=size > k, length=settings["length"]
        )
        first += size


POLICY = Policy(
    NAME,
    "summarise every k rounds",
    propose,
    {"k": 10, "keep": 2, "levels": 1, "length": 0},
    {
        "k": "rounds in one summary",
        "keep": "younger rounds that must follow",
        "levels": "2: k summaries become one again, and so on",
        "length": LENGTH_NOTE,
    },
    least=Risk.SUMMARY,
)
