"""Home's list: sessions in groups, filtered and sorted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from ctxtui.views.home.summary import ELSEWHERE, HERE, SAMPLES, SessionSummary


class Sort(NamedTuple):
    """A column to sort by; `falling` is the direction it starts with."""

    name: str
    key: Callable[[SessionSummary], float | str]
    falling: bool = True


def when(summary: SessionSummary) -> float:
    """The time it is sorted by: running sessions are all of now, so that they do not change places as they write;
    samples have none and keep their order."""
    return math.inf if summary.live else 0.0 if summary.group == SAMPLES else summary.mtime


SORTS: Final = (
    Sort("age", when),
    Sort("cost", lambda s: -1.0 if s.cost_usd is None else s.cost_usd),
    Sort("peak", lambda s: s.peak_tokens),
    Sort("total", lambda s: s.total_tokens),
    Sort("calls", lambda s: s.calls),
    Sort("read", lambda s: -1.0 if s.read_share is None else s.read_share),
    Sort("title", lambda s: s.title.casefold(), falling=False),
)
"""The order in which the sort key walks."""


class Group(NamedTuple):
    """A group's rule: its name, the count beside it."""

    name: str
    note: str


Entry = Group | SessionSummary


@dataclass(frozen=True, slots=True)
class ListOrder:
    """What the reader asked for: a sort (index into `SORTS`), its direction, words that must occur."""

    sort: int = 0
    falling: bool = True
    words: str = ""


def matches(summary: SessionSummary, words: Iterable[str]) -> bool:
    """Whether every one of the case-folded `words` occurs in what is known of the session."""
    models = " ".join(name for name, _ in summary.models)
    hay = "\0".join(
        (
            summary.title,
            summary.source,
            summary.model,
            models,
            summary.cwd,
            summary.path,
            summary.first_user_text,
            summary.sentence,
            summary.error,
            " ".join(summary.tags),
        )
    ).casefold()
    return all(word in hay for word in words)


def group_of(summary: SessionSummary, directory: str) -> str:
    """Its group; one that ran in `directory` (absolute) or below it is ``here``, whatever its folder says."""
    if summary.group != SAMPLES and f"{summary.cwd}/".startswith(directory.rstrip("/") + "/"):
        return HERE
    return summary.group


def _noun(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def arrange(summaries: Iterable[SessionSummary], wanted: ListOrder, directory: str, name: str) -> tuple[Entry, ...]:
    """The list as shown: this directory's sessions under its `name`, those elsewhere, the samples; empty groups left
    out. Sessions that cannot be read, or are not read yet, stand last where the sort key needs figures."""
    words = wanted.words.casefold().split()
    found = [s for s in summaries if not words or matches(s, words)]
    sort = SORTS[wanted.sort]
    found.sort(key=lambda s: s.key)
    found.sort(key=when, reverse=True)
    found.sort(key=sort.key, reverse=wanted.falling)
    if sort.name not in ("age", "title"):
        found.sort(key=lambda s: not s.known or bool(s.error))
    groups: dict[str, list[SessionSummary]] = {HERE: [], ELSEWHERE: [], SAMPLES: []}
    for s in found:
        groups[group_of(s, directory)].append(s)
    entries: list[Entry] = []
    for group, members in groups.items():
        if members:
            note = f"{len(members)} shipped with ctxtui" if group == SAMPLES else _noun(len(members), "session")
            entries += [Group(name if group == HERE else group, note), *members]
    return tuple(entries)
