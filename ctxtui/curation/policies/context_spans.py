"""Summaries of stretches: what policies put in the place of rounds and turns, drawn from the record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.core import block
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import SUMMARIZE
from ctxtui.curation.context import Context
from ctxtui.curation.extractive_summary import facts, told
from ctxtui.curation.policies.situation import PolicyContext, edit

_REMEMBERED: Final = 64
"""Stretches of a context whose facts are remembered."""


def free_runs(situation: PolicyContext, author: str, start: int, stop: int) -> list[list[int]]:
    """The stretches of blocks between two positions that the policy may summarise, cut where one may not be: there, and
    in a pair whose other half lies outside."""
    runs: list[list[int]] = [[]]
    partners_of, changes = situation.context.partners, situation.applied.changes
    for position in situation.blocks(start, stop):
        # Most of a long session was summarised before.
        free = position not in changes and situation.free(position, author)
        partners = partners_of.get(position, ()) if free else ()
        if free and all(start <= other < stop and situation.free(other, author) for other in partners if other >= 0):
            runs[-1].append(position)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def summarised(
    situation: PolicyContext, author: str, start: int, stop: int, what: str, text: str = ""
) -> Iterator[Edit]:
    """One summary for each stretch between two positions that is larger than its summary."""
    for run in free_runs(situation, author, start, stop):
        words = text or _facts_of(situation.context, run, what)
        if sum(map(situation.size, run)) > tokens_of(situation, words):
            yield edit(situation, author, SUMMARIZE, run, {"text": words})


def _facts_of(context: Context, run: Sequence[int], what: str) -> str:
    """The facts of a stretch as text; of the same one they are drawn once while many policies are tried."""
    key, known = (what, tuple(run)), context.said.summaries
    words = known.get(key)
    if words is None:
        if len(known) >= _REMEMBERED:
            known.clear()
        words = known[key] = told(facts(context, run), what)
    return words


def tokens_of(situation: PolicyContext, words: str) -> int:
    """Tokens of new text."""
    return situation.count(block.text(words))


def numbered(name: str, first: int, last: int) -> str:
    """``round 3``, ``rounds 3-7``."""
    return f"{name} {first}" if first == last else f"{name}s {first}-{last}"
