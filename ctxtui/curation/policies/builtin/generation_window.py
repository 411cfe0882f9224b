"""The policy ``generation_window``: keeps the last generations of an evolutionary search.

Older generations become one message with the number of trials, the best score and the selection of each. It reads the
search's prompts, in which generations and trials are numbered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.errors import BadConfig
from ctxtui.curation.apply.compact_json import values
from ctxtui.curation.context import Message
from ctxtui.curation.policies.context_spans import free_runs, summarize_runs
from ctxtui.curation.policies.earlier import Stretch
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings
from ctxtui.curation.trials import parse_trials

NAME = "generation_window"

_TRIAL: Final = re.compile(r"\btrial[ _#:]*([0-9]+(?:[_.-][0-9]+)*)", re.IGNORECASE)
_SCORE: Final = re.compile(r"[\"']?\bscore[\"']?\s*[:=]\s*(-?[0-9]+(?:\.[0-9]+)?)", re.IGNORECASE)
_SELECTED: Final = re.compile(r"\bselected\b[^\n]{0,20}?[:=]\s*([^\n]{1,200})", re.IGNORECASE)
_FENCE: Final = re.compile(r"^```selections?[ \t]*\n(.{1,20000}?)^```", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_ID: Final = re.compile(r"[\w.#:-]*\d[\w.#:-]*")
_NAMES: Final = ("trial_id", "trial", "id", "name", "candidate", "candidate_id", "program_id")
"""Members of JSON that hold a trial's id."""
_MAX_NAMED_TRIALS: Final = 3
"""Trials that a summary names in addition to their number."""


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Once there are more than `n` + `slack` generations, replace all but `n` by one summary.

    The new summary also replaces earlier summaries. It has a line for each generation: its number of trials, best
    score, three best trials, and selection.

    A message belongs to the generation that the next user message matching `boundary` names. The first group of
    `boundary` is the generation's number; without a group each such message closes one generation.
    """
    every = _find_generations(
        policy_context, settings["boundary"], _first_position(policy_context, settings["keep_first"])
    )
    whole = [generation for generation in every if any(free_runs(policy_context, NAME, *generation.stretch))]
    if len(whole) <= settings["n"] + settings["slack"]:
        return
    recent = whole[len(whole) - settings["n"] :]
    old = every[: every.index(recent[0])] if recent else every
    lines = [_describe_generation(policy_context, generation) for generation in old]
    first, last = old[0].name, old[-1].name
    head = (
        f"[Historical Summary - Generations {first} to {last}]"
        if len(old) > 1
        else f"[Historical Summary - Generation {first}]"
    )
    after = f"\n\n[Detailed history continues from generation {recent[0].name}]" if recent else ""
    text = "\n".join([head, *lines]) + after
    yield from summarize_runs(policy_context, NAME, old[0].stretch.start, old[-1].stretch.stop, "", text, again=True)


def _first_position(policy_context: PolicyContext, keep_first: int) -> int:
    messages = policy_context.context.messages
    index = policy_context.lead_count + keep_first
    return messages[index].start if index < len(messages) else len(policy_context.context)


class _Generation(NamedTuple):
    """One generation of the search: its number in the messages, and its positions."""

    name: str
    stretch: Stretch


def _find_generations(policy_context: PolicyContext, boundary: str, begin: int) -> list[_Generation]:
    generations: list[_Generation] = []
    start = begin
    for index, name in _find_boundaries(policy_context, boundary):
        message = policy_context.context.messages[index]
        if message.start < begin:
            continue
        if generations and generations[-1].name == name:
            generations[-1] = _Generation(name, Stretch(generations[-1].stretch.start, message.stop))
        else:
            generations.append(_Generation(name or str(len(generations)), Stretch(start, message.stop)))
        start = message.stop
    return [generation for generation in generations if generation.stretch.start < generation.stretch.stop]


def _find_boundaries(policy_context: PolicyContext, boundary: str) -> list[tuple[int, str]]:
    """The indexes of the user messages that name a generation, and the names."""
    try:
        pattern = re.compile(boundary, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadConfig(f"{NAME}: boundary is not a regular expression: {error}") from None
    context = policy_context.context

    def work(length: int, earlier: list[tuple[int, str]] | None) -> list[tuple[int, str]]:
        # The last message may have grown.
        first = max(0, next((n for p in range(length - 1, -1, -1) if (n := context.message_of[p]) >= 0), 0))
        boundaries = [entry for entry in earlier or () if entry[0] < first]
        for index in range(first, len(context.messages)):
            message = context.messages[index]
            name = _name_of(policy_context, message, pattern) if message.role == "user" else None
            if name is not None:
                boundaries.append((index, name))
        return boundaries

    return policy_context.outline(f"generations {boundary}", work)


def _name_of(policy_context: PolicyContext, message: Message, pattern: re.Pattern[str]) -> str | None:
    """The generation that a message names; "": without a number, None: it names none."""
    for position in policy_context.blocks(message.start, message.stop):
        match = pattern.search(policy_context.context.reading(position).text[:2_000])
        if match is not None:
            return match[1] if pattern.groups else ""
    return None


def _describe_generation(policy_context: PolicyContext, generation: _Generation) -> str:
    texts = [policy_context.context.reading(p).text for p in policy_context.blocks(*generation.stretch)]
    listed = {trial.name: trial for text in texts for trial in parse_trials(text)}
    scores = {
        name: trial.score for name, trial in listed.items() if trial.score is not None and trial.valid is not False
    }
    names: Iterable[str] = listed
    if not listed:
        names, scores = _named_trials(texts)
    best = sorted(scores, key=lambda name: -(scores[name] or 0.0))[:_MAX_NAMED_TRIALS]
    words = [f"{len(list(names))} trials"]
    if best:
        words.append(f"best={scores[best[0]]:.4f} ({best[0]})")
    if best[1:]:
        words.append(f"top: {', '.join(best)}")
    if selected := _selected_ids(texts):
        words.append(f"selected: {selected}")
    return f"Gen {generation.name}: " + ", ".join(words)


def _selected_ids(texts: Sequence[str]) -> str:
    for text in reversed(texts):
        for fence in reversed(list(_FENCE.finditer(text))):
            ids = [id_ for value in values(fence[1]) for id_ in _ids_in(value)]
            if ids:
                return ", ".join(dict.fromkeys(ids))
    lines = [match[1] for text in texts for match in _SELECTED.finditer(text)]
    return " ".join(lines[-1].split())[:200] if lines else ""


def _ids_in(value: Json) -> Iterator[str]:
    """The ids in a selection: members named as an id or a trial, or single words in a list."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str) and key.lower() in _NAMES and _ID.fullmatch(item):
                yield item
            elif not isinstance(item, str):
                yield from _ids_in(item)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, str) and _ID.fullmatch(item):
                yield item
            else:
                yield from _ids_in(item)


def _named_trials(texts: Sequence[str]) -> tuple[list[str], dict[str, float]]:
    """The trials that running text names, and the first score after each."""
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
