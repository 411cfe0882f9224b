"""Summaries that policies put in place of rounds and turns, made without a model.

Policies call `summarize_runs` with a stretch of positions. A *run* is a part of the stretch that one summary can
replace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.core import block
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import SUMMARIZE
from ctxtui.curation.policies.policy_context import PolicyContext, make_edit
from ctxtui.curation.record_summary import length_for, summarize
from ctxtui.curation.summary_request import quoted_literals

_SUMMARY_CACHE_SIZE: Final = 64
LENGTH_NOTE: Final = "tokens of a summary at most; 0: a fifth of what it replaces, 200 to 2,000"


def free_runs(policy_context: PolicyContext, author: str, start: int, stop: int) -> list[list[int]]:
    """The runs of blocks from `start` to `stop` (exclusive) that the policy may summarise.

    The stretch is split at blocks that the policy may not change, and at calls or results whose other half is outside.
    """
    runs: list[list[int]] = [[]]
    partners_of, changes = policy_context.context.partners, policy_context.applied.changes
    for position in policy_context.blocks(start, stop):
        # Most of a long session was summarised before.
        free = position not in changes and policy_context.may_change(position, author)
        partners = partners_of.get(position, ()) if free else ()
        if free and all(start <= partner < stop and policy_context.may_change(partner, author) for partner in partners):
            runs[-1].append(position)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def summarize_runs(
    policy_context: PolicyContext,
    author: str,
    start: int,
    stop: int,
    stretch_name: str,
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
        _runs_with_summaries(policy_context, author, start, stop)
        if again
        else free_runs(policy_context, author, start, stop)
    ):
        earlier_summaries = _summaries_in(policy_context, author, run) if again else []
        if len(earlier_summaries) == 1 and not any(map(policy_context.is_unchanged, run)):
            continue
        size = sum(map(policy_context.size, run))
        size += sum(
            count_text(policy_context, str(summary_edit.params.get("text") or "")) for summary_edit in earlier_summaries
        )
        summary = text or cached_summary(policy_context, run, stretch_name, length_for(size, length))
        if summary and size > count_text(policy_context, summary):
            yield make_edit(policy_context, author, SUMMARIZE, run, {"text": summary})


def _runs_with_summaries(policy_context: PolicyContext, author: str, start: int, stop: int) -> list[list[int]]:
    """Like `free_runs`, with the blocks in the policy's own summaries."""
    own_positions = {p for summary_ in _own_summaries(policy_context, author) for p in summary_.positions}
    free = {p for run in free_runs(policy_context, author, start, stop) for p in run}
    runs: list[list[int]] = [[]]
    for position in policy_context.blocks(start, stop):
        if position in free or (position in own_positions and position not in policy_context.pinned):
            runs[-1].append(position)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


class _Summary(NamedTuple):
    """A summary by the policy that is in force, and the blocks that it replaces."""

    edit: Edit
    positions: frozenset[int]


def _own_summaries(policy_context: PolicyContext, author: str) -> list[_Summary]:
    changes, positions_of = policy_context.applied.changes, dict[str, set[int]]()
    edits: dict[str, Edit] = {}
    for position, change in changes.items():
        if change.edit.author == author and change.edit.kind == SUMMARIZE and change.after is None:
            edits[change.edit.id] = change.edit
            positions_of.setdefault(change.edit.id, set()).add(position)
    return [_Summary(edits[id_], frozenset(positions)) for id_, positions in positions_of.items()]


def _summaries_in(policy_context: PolicyContext, author: str, run: Sequence[int]) -> list[Edit]:
    run_positions = frozenset(run)
    return [summary_.edit for summary_ in _own_summaries(policy_context, author) if summary_.positions & run_positions]


def cached_summary(policy_context: PolicyContext, run: Sequence[int], what: str, limit: int) -> str:
    """Summarise a run; cached, as many policies ask for the same."""
    key, summaries = (what, limit, tuple(run)), policy_context.context.derived.summaries
    text = summaries.get(key)
    if text is None:
        if len(summaries) >= _SUMMARY_CACHE_SIZE:
            summaries.clear()
        keep = quoted_literals(policy_context.literals, run) if policy_context.literals is not None else ()
        text = summaries[key] = summarize(policy_context.context, run, limit, policy_context.count, what, keep)
    return text


def count_text(policy_context: PolicyContext, text: str) -> int:
    return policy_context.count(block.text(text))


def format_range(name: str, first: int, last: int) -> str:
    """Format a range: ``round 3``, ``rounds 3-7``."""
    return f"{name} {first}" if first == last else f"{name}s {first}-{last}"
