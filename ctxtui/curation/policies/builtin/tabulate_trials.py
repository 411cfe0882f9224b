"""A question about an evolutionary search's trials asked as a table: rank, id, score, validity and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.curation.apply.block_text import has_words
from ctxtui.curation.context import ASSISTANT, Context, is_call
from ctxtui.curation.policies.context_spans import tokens_of
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.situation import PolicyContext, Settings, edit
from ctxtui.curation.trials import Trial, trials

NAME = "tabulate_trials"
_HEAD: Final = ("| Rank | Trial | Score | Status |", "|------|-------|-------|--------|")
_SIGNS: Final = {True: "✓", False: "✗", None: "-"}


class _List(NamedTuple):
    """Trials that the block at `position` lists."""

    position: int
    trials: list[Trial]


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Write each list of `least` trials or more as a table, best first, where it tells no program and refers to none:
    what those messages are for is a choice by score."""
    for position, listed in situation.outline("trials", partial(_lists, situation.context)):
        if len(listed) < settings["least"] or not situation.free(position, NAME):
            continue
        text = situation.context.reading(position).text
        if "{{" in text[listed[0].start : listed[-1].stop]:
            continue
        words = text[: listed[0].start] + "\n".join(_table(listed)) + _rest(text, listed)
        if tokens_of(situation, words) < situation.size(position):
            yield edit(situation, NAME, REPLACE, [position], {"text": words})


def _lists(context: Context, length: int, found: list[_List] | None) -> list[_List]:
    """The lists without a program in what is not the model's, with where they stand."""
    found = [] if found is None else found
    for position in range(length, len(context)):
        item = context.items[position]
        own = item.place.section == "messages" and item.place.role not in ASSISTANT and not is_call(item.block.kind)
        if own and has_words(item.block):
            listed = trials(context.reading(position).text)
            if listed and not any(one.code for one in listed):
                found.append(_List(position, listed))
    return found


def _table(listed: Sequence[Trial]) -> list[str]:
    ranked = sorted(listed, key=lambda one: -(one.score or 0.0) if one.valid is not False else float("inf"))
    rows = [
        f"| {rank} | {one.name} | {'-' if one.score is None else f'{one.score:.4f}'} | {_SIGNS[one.valid]} |"
        for rank, one in enumerate(ranked, 1)
    ]
    return [*_HEAD, *rows]


def _rest(text: str, listed: Sequence[Trial]) -> str:
    """What the message says behind its list, a paragraph of its own."""
    rest = text[listed[-1].stop :]
    return rest if not rest.strip() or rest.startswith("\n\n") else "\n\n" + rest.lstrip("\n")


POLICY = Policy(
    NAME,
    "list a search's trials as a table where a choice is asked for",
    propose,
    {"least": 3},
    {"least": "trials from which a list becomes a table"},
)
