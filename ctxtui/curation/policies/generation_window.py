"""An evolutionary search keeps its last generations; older ones become one message: trials, best score, selection."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from ctxtui.core.edit import Edit
from ctxtui.curation.context import Message
from ctxtui.curation.policies.context_spans import free_runs, summarised
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.situation import PolicyContext, Settings, Stretch

NAME = "generation_window"

_TRIAL: Final = re.compile(r"\btrial[ _#:]*([0-9]+(?:[_.-][0-9]+)*)", re.IGNORECASE)
_SCORE: Final = re.compile(r"[\"']?\bscore[\"']?\s*[:=]\s*(-?[0-9]+(?:\.[0-9]+)?)", re.IGNORECASE)
_SELECTED: Final = re.compile(
    r"selected?[^\n]{0,20}?[:=]\s*([^\n]{1,200})|```selection\n(.{1,400}?)```", re.DOTALL | re.I
)


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Once `slack` generations more than `n` are there, put one summary in the place of each stretch of older ones.
    A message belongs to the generation that the next of the user's messages names by `boundary`: its first group is the
    number, without a group each such message closes one."""
    generations = _generations(situation, settings["boundary"], _begin(situation, settings["keep_first"]))
    whole = [one for one in generations if any(free_runs(situation, NAME, *one))]
    if len(whole) <= settings["n"] + settings["slack"]:
        return
    for one in whole[: len(whole) - settings["n"]] if settings["n"] else whole:
        number = generations.index(one)
        yield from summarised(situation, NAME, *one, "", _told(situation, number, one))


def _begin(situation: PolicyContext, keep_first: int) -> int:
    messages = situation.context.messages
    index = situation.lead + keep_first
    return messages[index].start if index < len(messages) else len(situation.context)


def _generations(situation: PolicyContext, boundary: str, begin: int) -> list[Stretch]:
    """The stretches of one generation each, from the position `begin` on."""
    pattern = re.compile(boundary, re.IGNORECASE)
    found: list[Stretch] = []
    names: list[str] = []
    at = begin
    for message in situation.context.messages:
        if message.role != "user" or message.start < begin:
            continue
        name = _name(situation, message, pattern)
        if name is None:
            continue
        if names and names[-1] == name:
            found[-1] = Stretch(found[-1].start, message.stop)
        else:
            found.append(Stretch(at, message.stop))
            names.append(name or str(len(names)))
        at = message.stop
    return [one for one in found if one.start < one.stop]


def _name(situation: PolicyContext, message: Message, pattern: re.Pattern[str]) -> str | None:
    """The generation that a message names; "" where it names one without a number, None where it names none."""
    for position in situation.blocks(message.start, message.stop):
        match = pattern.search(situation.context.reading(position).text[:2_000])
        if match is not None:
            return match[1] if pattern.groups else ""
    return None


def _told(situation: PolicyContext, number: int, one: Stretch) -> str:
    texts = [situation.context.reading(p).text for p in situation.blocks(*one)]
    trials, scores = _trials(texts)
    selected = [found[1] or found[2] for text in texts for found in _SELECTED.finditer(text)]
    best = max(scores.items(), key=lambda pair: pair[1], default=None)
    told = [f"[Generation {number}: {len(trials)} trials]"]
    if best is not None:
        told.append(f"- best: trial {best[0]}, score {best[1]:g}")
    if selected:
        told.append("- selected: " + " ".join(selected[-1].split())[:200])
    return "\n".join(told)


def _trials(texts: Sequence[str]) -> tuple[list[str], dict[str, float]]:
    """The trials named, and the score that follows each first."""
    names: dict[str, None] = {}
    scores: dict[str, float] = {}
    for text in texts:
        places = list(_TRIAL.finditer(text))
        for here, after in pairwise([*places, None]):
            assert here is not None
            names.setdefault(here[1])
            score = _SCORE.search(text, here.end(), after.start() if after else len(text))
            if score is not None:
                scores.setdefault(here[1], float(score[1]))
    return list(names), scores


POLICY = Policy(
    NAME,
    "keep the last n generations of a search, older ones as one message",
    propose,
    {"n": 2, "slack": 0, "keep_first": 1, "boundary": r"\bgeneration\s+(\d+)"},
    {
        "n": "generations kept whole",
        "slack": "generations more before it acts",
        "keep_first": "messages kept at the front",
        "boundary": "pattern of the messages that name a generation, its number in a group",
    },
)
