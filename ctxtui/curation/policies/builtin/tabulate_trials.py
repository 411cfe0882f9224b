"""Rewrites lists of an evolutionary search's trials as a table of rank, id, score and validity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.curation.apply.block_text import has_editable_text
from ctxtui.curation.context import ASSISTANT, Context, is_call
from ctxtui.curation.policies.context_spans import count_text
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.trials import Trial, parse_trials

NAME = "tabulate_trials"
_HEAD: Final = ("| Rank | Trial | Score | Status |", "|------|-------|-------|--------|")
_SIGNS: Final = {True: "✓", False: "✗", None: "-"}


class _List(NamedTuple):
    """The trials listed in the block at `position`."""

    position: int
    trials: list[Trial]


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Write each list of `least` trials or more as a table, best first, if it contains and references no program.

    Such messages ask for a choice by score.
    """
    for position, listed in policy_context.outline("trials", partial(_lists, policy_context.context)):
        if len(listed) < settings["least"] or not policy_context.may_change(position, NAME):
            continue
        text = policy_context.context.reading(position).text
        if "{{" in text[listed[0].start : listed[-1].stop]:
            continue
        words = text[: listed[0].start] + "\n".join(_table(listed)) + _rest(text, listed)
        if count_text(policy_context, words) < policy_context.size(position):
            yield make_edit(policy_context, NAME, REPLACE, [position], {"text": words})


def _lists(context: Context, length: int, lists: list[_List] | None) -> list[_List]:
    """The lists without a program in blocks that are not the model's."""
    lists = [] if lists is None else lists
    for position in range(length, len(context)):
        item = context.items[position]
        own = item.place.section == "messages" and item.place.role not in ASSISTANT and not is_call(item.block.kind)
        if own and has_editable_text(item.block):
            listed = parse_trials(context.reading(position).text)
            if listed and not any(trial.code for trial in listed):
                lists.append(_List(position, listed))
    return lists


def _table(listed: Sequence[Trial]) -> list[str]:
    ranked = sorted(listed, key=lambda one: -(one.score or 0.0) if one.valid is not False else float("inf"))
    rows = [
        f"| {rank} | {trial.name} | {'-' if trial.score is None else f'{trial.score:.4f}'} | {_SIGNS[trial.valid]} |"
        for rank, trial in enumerate(ranked, 1)
    ]
    return [*_HEAD, *rows]


def _rest(text: str, listed: Sequence[Trial]) -> str:
    """The text after the list, as a separate paragraph."""
    rest = text[listed[-1].stop :]
    return rest if not rest.strip() or rest.startswith("\n\n") else "\n\n" + rest.lstrip("\n")


POLICY = Policy(
    NAME,
    "list a search's trials as a table where a choice is asked for",
    propose,
    {"least": 3},
    {"least": "trials from which a list becomes a table"},
)
