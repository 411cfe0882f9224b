"""Summaries that policies put in place of rounds and turns, made without a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.core import block
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import SUMMARIZE
from ctxtui.curation.policies.situation import PolicyContext, make_edit
from ctxtui.curation.record_summary import length_for, summarize
from ctxtui.curation.summary_request import quoted_literals

_SUMMARY_CACHE_SIZE: Final = 64
"""Maximum cached summaries of a context's stretches."""
LENGTH_NOTE: Final = "tokens of a summary at most; 0: a fifth of what it replaces, 200 to 2,000"


def free_runs(situation: PolicyContext, author: str, start: int, stop: int) -> list[list[int]]:
    """The runs of blocks between two positions that the policy may summarise.

    Split at blocks that it may not change, and at pairs whose other half is outside.
    """
    runs: list[list[int]] = [[]]
    partners_of, changes = situation.context.partners, situation.applied.changes
    for position in situation.blocks(start, stop):
        # Most of a long session was summarised before.
        free = position not in changes and situation.may_change(position, author)
        partners = partners_of.get(position, ()) if free else ()
        if free and all(
            start <= partner < stop and situation.may_change(partner, author) for partner in partners if partner >= 0
        ):
            runs[-1].append(position)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def summarize_runs(
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
    """Summarise each run between two positions that is larger than its summary.

    The summary is `text`, or has at most `length` tokens (0: by the size of the run). With `again` it includes the
    policy's earlier summaries, so that one replaces several.
    """
    for run in (
        _runs_with_summaries(situation, author, start, stop) if again else free_runs(situation, author, start, stop)
    ):
        earlier_summaries = _summaries_in(situation, author, run) if again else []
        if len(earlier_summaries) == 1 and not any(map(situation.is_unchanged, run)):
            continue
        size = sum(map(situation.size, run))
        size += sum(
            count_text(situation, str(summary_edit.params.get("text") or "")) for summary_edit in earlier_summaries
        )
        words = text or cached_summary(situation, run, what, length_for(size, length))
        if words and size > count_text(situation, words):
            yield make_edit(situation, author, SUMMARIZE, run, {"text": words})


def _runs_with_summaries(situation: PolicyContext, author: str, start: int, stop: int) -> list[list[int]]:
    """Like `free_runs`, including blocks in summaries of the policy itself."""
    own = {p for summary_ in _own_summaries(situation, author) for p in summary_.positions}
    free = {p for run in free_runs(situation, author, start, stop) for p in run}
    runs: list[list[int]] = [[]]
    for position in situation.blocks(start, stop):
        if position in free or (position in own and position not in situation.pinned):
            runs[-1].append(position)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


class _Summary(NamedTuple):
    """A summary by the policy that is in force, and the blocks that it replaces."""

    edit: Edit
    positions: frozenset[int]


def _own_summaries(situation: PolicyContext, author: str) -> list[_Summary]:
    changes, positions_of = situation.applied.changes, dict[str, set[int]]()
    edits: dict[str, Edit] = {}
    for position, change in changes.items():
        if change.edit.author == author and change.edit.kind == SUMMARIZE and change.after is None:
            edits[change.edit.id] = change.edit
            positions_of.setdefault(change.edit.id, set()).add(position)
    return [_Summary(edits[id_], frozenset(positions)) for id_, positions in positions_of.items()]


def _summaries_in(situation: PolicyContext, author: str, run: Sequence[int]) -> list[Edit]:
    """The policy's summaries that a new one for `run` would include."""
    here = frozenset(run)
    return [summary_.edit for summary_ in _own_summaries(situation, author) if summary_.positions & here]


def cached_summary(situation: PolicyContext, run: Sequence[int], what: str, limit: int) -> str:
    """Summarise a run; cached, as many policies are tried."""
    key, summaries = (what, limit, tuple(run)), situation.context.derived.summaries
    text = summaries.get(key)
    if text is None:
        if len(summaries) >= _SUMMARY_CACHE_SIZE:
            summaries.clear()
        keep = quoted_literals(situation.literals, run) if situation.literals is not None else ()
        text = summaries[key] = summarize(situation.context, run, limit, situation.count, what, keep)
    return text


def count_text(situation: PolicyContext, words: str) -> int:
    """Tokens of new text."""
    return situation.count(block.text(words))


def format_range(name: str, first: int, last: int) -> str:
    """Format a range: ``round 3``, ``rounds 3-7``."""
    return f"{name} {first}" if first == last else f"{name}s {first}-{last}"
