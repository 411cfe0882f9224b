"""An evolutionary search keeps its last generations; older ones become one message: trials, best score, selection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.curation.apply.compact_json import values
from ctxtui.curation.context import Message
from ctxtui.curation.policies.context_spans import free_runs, summarised
from ctxtui.curation.policies.earlier import Stretch
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.situation import PolicyContext, Settings
from ctxtui.curation.trials import trials

NAME = "generation_window"

_TRIAL: Final = re.compile(r"\btrial[ _#:]*([0-9]+(?:[_.-][0-9]+)*)", re.IGNORECASE)
_SCORE: Final = re.compile(r"[\"']?\bscore[\"']?\s*[:=]\s*(-?[0-9]+(?:\.[0-9]+)?)", re.IGNORECASE)
_SELECTED: Final = re.compile(r"\bselected\b[^\n]{0,20}?[:=]\s*([^\n]{1,200})", re.IGNORECASE)
_FENCE: Final = re.compile(r"^```selections?[ \t]*\n(.{1,20000}?)^```", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_ID: Final = re.compile(r"[\w.#:-]*\d[\w.#:-]*")
_NAMES: Final = ("trial_id", "trial", "id", "name", "candidate", "candidate_id", "program_id")
_TOP: Final = 3
"""Trials that a summary names beside how many there were."""


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Once `slack` generations more than `n` are there, put one summary in the place of all older ones, also of those
    that were summarised before: a line for each with trials, best score, the three best, what was selected. A message
    belongs to the generation that the next of the user's messages names by `boundary`: its first group is the number,
    without a group each such message closes one."""
    every = _generations(situation, settings["boundary"], _begin(situation, settings["keep_first"]))
    whole = [one for one in every if any(free_runs(situation, NAME, *one.stretch))]
    if len(whole) <= settings["n"] + settings["slack"]:
        return
    kept = whole[len(whole) - settings["n"] :] if settings["n"] else []
    old = every[: every.index(kept[0])] if kept else every
    told = [_told(situation, one) for one in old]
    first, last = old[0].name, old[-1].name
    head = (
        f"[Historical Summary - Generations {first} to {last}]"
        if len(old) > 1
        else f"[Historical Summary - Generation {first}]"
    )
    after = f"\n\n[Detailed history continues from generation {kept[0].name}]" if kept else ""
    text = "\n".join([head, *told]) + after
    yield from summarised(situation, NAME, old[0].stretch.start, old[-1].stretch.stop, "", text, again=True)


def _begin(situation: PolicyContext, keep_first: int) -> int:
    messages = situation.context.messages
    index = situation.lead + keep_first
    return messages[index].start if index < len(messages) else len(situation.context)


class _Generation(NamedTuple):
    """One generation of the search: its number as the messages name it, and where its messages stand."""

    name: str
    stretch: Stretch


def _generations(situation: PolicyContext, boundary: str, begin: int) -> list[_Generation]:
    """The generations, from the position `begin` on."""
    found: list[_Generation] = []
    at = begin
    for index, name in _named(situation, boundary):
        message = situation.context.messages[index]
        if message.start < begin:
            continue
        if found and found[-1].name == name:
            found[-1] = _Generation(name, Stretch(found[-1].stretch.start, message.stop))
        else:
            found.append(_Generation(name or str(len(found)), Stretch(at, message.stop)))
        at = message.stop
    return [one for one in found if one.stretch.start < one.stretch.stop]


def _named(situation: PolicyContext, boundary: str) -> list[tuple[int, str]]:
    """The user's messages that name a generation, by index, each with the name. A long context is not read again for
    what came to it."""
    pattern = re.compile(boundary, re.IGNORECASE)
    context = situation.context

    def work(length: int, known: list[tuple[int, str]] | None) -> list[tuple[int, str]]:
        # The last message may have grown.
        first = max(0, next((n for p in range(length - 1, -1, -1) if (n := context.message_of[p]) >= 0), 0))
        found = [one for one in known or () if one[0] < first]
        for index in range(first, len(context.messages)):
            message = context.messages[index]
            name = _name(situation, message, pattern) if message.role == "user" else None
            if name is not None:
                found.append((index, name))
        return found

    return situation.outline(f"generations {boundary}", work)


def _name(situation: PolicyContext, message: Message, pattern: re.Pattern[str]) -> str | None:
    """The generation that a message names; "" where it names one without a number, None where it names none."""
    for position in situation.blocks(message.start, message.stop):
        match = pattern.search(situation.context.reading(position).text[:2_000])
        if match is not None:
            return match[1] if pattern.groups else ""
    return None


def _told(situation: PolicyContext, one: _Generation) -> str:
    """One line about a generation."""
    texts = [situation.context.reading(p).text for p in situation.blocks(*one.stretch)]
    listed = {trial.name: trial for text in texts for trial in trials(text)}
    scores = {
        name: trial.score for name, trial in listed.items() if trial.score is not None and trial.valid is not False
    }
    names: Iterable[str] = listed
    if not listed:
        names, scores = _trials(texts)
    best = sorted(scores, key=lambda name: -(scores[name] or 0.0))[:_TOP]
    words = [f"{len(list(names))} trials"]
    if best:
        words.append(f"best={scores[best[0]]:.4f} ({best[0]})")
    if best[1:]:
        words.append(f"top: {', '.join(best)}")
    if selected := _selected(texts):
        words.append(f"selected: {selected}")
    return f"Gen {one.name}: " + ", ".join(words)


def _selected(texts: Sequence[str]) -> str:
    """The ids of the last selection: what stands under an id in a selection fence, else what a line says."""
    for text in reversed(texts):
        for fence in reversed(list(_FENCE.finditer(text))):
            ids = [one for value in values(fence[1]) for one in _ids(value)]
            if ids:
                return ", ".join(dict.fromkeys(ids))
    lines = [found[1] for text in texts for found in _SELECTED.finditer(text)]
    return " ".join(lines[-1].split())[:200] if lines else ""


def _ids(value: Json) -> Iterator[str]:
    """The ids in a selection: members that are called an id or a trial, or plain words in a list."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str) and key.lower() in _NAMES and _ID.fullmatch(item):
                yield item
            elif not isinstance(item, str):
                yield from _ids(item)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, str) and _ID.fullmatch(item):
                yield item
            else:
                yield from _ids(item)


def _trials(texts: Sequence[str]) -> tuple[list[str], dict[str, float]]:
    """Where nothing is listed: the trials named, and the score that follows each first."""
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
