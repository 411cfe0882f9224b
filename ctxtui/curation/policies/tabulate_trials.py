"""A question about an evolutionary search's trials asked as a table: rank, id, score, validity and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.curation.apply.block_text import has_words
from ctxtui.curation.context import ASSISTANT, is_call
from ctxtui.curation.policies.context_spans import tokens_of
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.situation import PolicyContext, Settings, edit
from ctxtui.curation.trials import Trial, trials

NAME = "tabulate_trials"
_HEAD: Final = ("| Rank | Trial | Score | Status |", "|------|-------|-------|--------|")
_SIGNS: Final = {True: "✓", False: "✗", None: "-"}


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Write each list of `least` trials or more as a table, best first, where it tells no program and refers to none:
    what those messages are for is a choice by score."""
    for position, item in enumerate(situation.context.items):
        own = item.place.section == "messages" and item.place.role not in ASSISTANT and not is_call(item.block.kind)
        if not own or not has_words(item.block) or not situation.free(position, NAME):
            continue
        text = situation.context.reading(position).text
        listed = trials(text)
        if len(listed) < settings["least"] or any(one.code for one in listed):
            continue
        if "{{" in text[listed[0].start : listed[-1].stop]:
            continue
        words = text[: listed[0].start] + "\n".join(_table(listed)) + _rest(text, listed)
        if tokens_of(situation, words) < situation.size(position):
            yield edit(situation, NAME, REPLACE, [position], {"text": words})


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
