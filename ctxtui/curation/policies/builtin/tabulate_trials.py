"""Rewrites an evolutionary search's lists of trials as tables: rank, id, score, validity.

Reasoning, errors and other metrics of the trials are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from ctxtui.core.block import ASSISTANT
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.curation.apply.block_text import has_editable_text
from ctxtui.curation.context import Context, is_call
from ctxtui.curation.policies.context_spans import count_text
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.trials import Trial, parse_trials

NAME = "tabulate_trials"
_HEAD: Final = ("| Rank | Trial | Score | Status |", "|------|-------|-------|--------|")
_SIGNS: Final = {True: "✓", False: "✗", None: "-"}


class _List(NamedTuple):
    """The trials listed in the block at `position`; none has a program."""

    position: int
    trials: list[Trial]


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Write each list of `least` trials or more as a table.

    The highest scores come first, then valid trials without a score, then invalid ones. Lists with a program, or a
    reference to one, are left alone; the others are taken to ask for a choice by score.
    """
    for position, listed in policy_context.outline("trials", partial(_find_lists, policy_context.context)):
        if len(listed) < settings["least"] or not policy_context.may_change(position, NAME):
            continue
        text = policy_context.context.reading(position).text
        if "{{" in text[listed[0].start : listed[-1].stop]:
            continue
        shorter = text[: listed[0].start] + "\n".join(_make_table(listed)) + _text_after(text, listed)
        if count_text(policy_context, shorter) < policy_context.size(position):
            yield make_edit(policy_context, NAME, REPLACE, [position], {"text": shorter})


def _find_lists(context: Context, length: int, lists: list[_List] | None) -> list[_List]:
    lists = [] if lists is None else lists
    for position in range(length, len(context)):
        item = context.items[position]
        is_eligible = (
            item.place.section == "messages" and item.place.role not in ASSISTANT and not is_call(item.block.kind)
        )
        if is_eligible and has_editable_text(item.block):
            listed = parse_trials(context.reading(position).text)
            if listed and not any(trial.code for trial in listed):
                lists.append(_List(position, listed))
    return lists


def _make_table(listed: Sequence[Trial]) -> list[str]:
    ranked = sorted(listed, key=_rank)
    rows = [
        f"| {rank} | {trial.name} | {'-' if trial.score is None else f'{trial.score:.4f}'} | {_SIGNS[trial.valid]} |"
        for rank, trial in enumerate(ranked, 1)
    ]
    return [*_HEAD, *rows]


def _rank(trial: Trial) -> tuple[bool, bool, float]:
    return trial.valid is False, trial.score is None, -(trial.score or 0.0)


def _text_after(text: str, listed: Sequence[Trial]) -> str:
    following_text = text[listed[-1].stop :]
    return (
        following_text
        if not following_text.strip() or following_text.startswith("\n\n")
        else "\n\n" + following_text.lstrip("\n")
    )


POLICY = Policy(
    NAME,
    "write lists of trials without programs as tables of scores; reasoning, errors and other metrics are dropped",
    propose,
    {"least": 3},
    {"least": "smallest number of trials in a list that becomes a table"},
)
