"""Every k rounds become one summary."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.curation.policies.context_spans import numbered, summarised
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.situation import PolicyContext, Settings

NAME = "summarize_every"


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Summarise each `k` rounds as soon as `keep` younger ones follow them; what was summarised once stays so."""
    rounds, k = situation.rounds, max(1, settings["k"])
    for first in range(0, len(rounds) - settings["keep"] - k + 1, k):
        some = rounds[first : first + k]
        yield from summarised(situation, NAME, some[0].start, some[-1].stop, numbered("round", first + 1, first + k))


POLICY = Policy(
    NAME,
    "summarise every k rounds",
    propose,
    {"k": 10, "keep": 2},
    {"k": "rounds in one summary", "keep": "younger rounds that must follow"},
    least=Risk.SUMMARY,
)
