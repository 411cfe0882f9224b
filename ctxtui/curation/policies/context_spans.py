"""Summaries of stretches: what policies put in the place of rounds and turns, drawn from the record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.core import block
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import SUMMARIZE
from ctxtui.curation.policies.situation import PolicyContext, edit
from ctxtui.curation.record_summary import length_for, summary
from ctxtui.curation.summary_request import needed

_REMEMBERED: Final = 64
"""Stretches of a context whose summaries are remembered."""
LENGTH_NOTE: Final = "tokens of a summary at most; 0: a fifth of what it replaces, 200 to 2,000"


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
    situation: PolicyContext,
    author: str,
    start: int,
    stop: int,
    what: str,
    text: str = "",
    *,
    again: bool = False,
    length: int = 0,
) -> Iterator[Edit]:
    """One summary for each stretch between two positions that is larger than its summary: `text`, or one of `length`
    tokens at most (0: by what it replaces). With `again` it takes in what the policy has summarised before: one summary
    then stands for several."""
    for run in (
        _runs_with_summaries(situation, author, start, stop) if again else free_runs(situation, author, start, stop)
    ):
        said = _summaries_in(situation, author, run) if again else []
        if len(said) == 1 and not any(map(situation.stands, run)):
            continue
        size = sum(map(situation.size, run))
        size += sum(tokens_of(situation, str(one.params.get("text") or "")) for one in said)
        words = text or summary_of(situation, run, what, length_for(size, length))
        if words and size > tokens_of(situation, words):
            yield edit(situation, author, SUMMARIZE, run, {"text": words})


def _runs_with_summaries(situation: PolicyContext, author: str, start: int, stop: int) -> list[list[int]]:
    """As `free_runs`, with what stands in a summary of the policy itself."""
    own = {p for one in _own_summaries(situation, author) for p in one.positions}
    free = {p for run in free_runs(situation, author, start, stop) for p in run}
    runs: list[list[int]] = [[]]
    for position in situation.blocks(start, stop):
        if position in free or (position in own and position not in situation.pinned):
            runs[-1].append(position)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


class _Summary(NamedTuple):
    """A summary of the policy's that is said, and the blocks that it stands for."""

    edit: Edit
    positions: frozenset[int]


def _own_summaries(situation: PolicyContext, author: str) -> list[_Summary]:
    changes, found = situation.applied.changes, dict[str, set[int]]()
    edits: dict[str, Edit] = {}
    for position, change in changes.items():
        if change.edit.author == author and change.edit.kind == SUMMARIZE and change.after is None:
            edits[change.edit.id] = change.edit
            found.setdefault(change.edit.id, set()).add(position)
    return [_Summary(edits[id_], frozenset(positions)) for id_, positions in found.items()]


def _summaries_in(situation: PolicyContext, author: str, run: Sequence[int]) -> list[Edit]:
    """The policy's summaries that a new one in the place of `run` would take in."""
    here = frozenset(run)
    return [one.edit for one in _own_summaries(situation, author) if one.positions & here]


def summary_of(situation: PolicyContext, run: Sequence[int], what: str, limit: int) -> str:
    """The summary of a stretch; of the same one it is drawn once while many policies are tried."""
    key, known = (what, limit, tuple(run)), situation.context.said.summaries
    words = known.get(key)
    if words is None:
        if len(known) >= _REMEMBERED:
            known.clear()
        keep = needed(situation.literals, run) if situation.literals is not None else ()
        words = known[key] = summary(situation.context, run, limit, situation.count, what, keep)
    return words


def tokens_of(situation: PolicyContext, words: str) -> int:
    """Tokens of new text."""
    return situation.count(block.text(words))


def numbered(name: str, first: int, last: int) -> str:
    """``round 3``, ``rounds 3-7``."""
    return f"{name} {first}" if first == last else f"{name}s {first}-{last}"
