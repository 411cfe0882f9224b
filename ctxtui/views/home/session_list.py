"""Home's list of sessions: grouped, filtered and sorted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from ctxtui.views.home.columns import HomeRow, age_sort_key, sorts
from ctxtui.views.model.session_summary import ELSEWHERE, HERE, SAMPLES, SessionSummary
from ctxtui.views.text import numbers


class Group(NamedTuple):
    """The heading of a group of sessions, with a note such as their number."""

    name: str
    note: str


class SessionsSought(NamedTuple):
    """A program whose recordings were looked for, and the place; shown if none were found."""

    source: str
    where: str


Entry = Group | SessionsSought | SessionSummary


class ListOrder(Struct, frozen=True):
    """The user's choice: sort (index into `columns.sorts`), direction, and required words."""

    sort: int = 0
    falling: bool = True
    words: str = ""


def matches(summary: SessionSummary, words: Iterable[str]) -> bool:
    """Whether every one of `words` (case-folded) occurs in the session's texts, path or tags."""
    models = " ".join(name for name, _ in summary.models)
    searched_text = "\0".join(
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
    return all(word in searched_text for word in words)


def group_of(summary: SessionSummary, directory: str) -> str:
    """The session's group: ``here`` if it ran in or below `directory` (absolute), else its own.

    Samples always keep theirs.
    """
    if summary.group != SAMPLES and f"{summary.cwd}/".startswith(directory.rstrip("/") + "/"):
        return HERE
    return summary.group


def arrange(
    summaries: Iterable[SessionSummary],
    order: ListOrder,
    directory: str,
    name: str,
    sought: Iterable[SessionsSought] = (),
) -> tuple[Entry, ...]:
    """The list as displayed: this directory's sessions under `name`, others, then samples.

    If there are only samples and no filter words, the places `sought` follow them. Unreadable and unread sessions come
    last if the sort key needs figures.
    """
    words = order.words.casefold().split()
    matching = [s for s in summaries if not words or matches(s, words)]
    sort = sorts()[order.sort]
    key = sort.sort or (lambda row: 0.0)
    # Stable sorts, the least important key first.
    matching.sort(key=lambda s: s.key)
    matching.sort(key=age_sort_key, reverse=True)
    matching.sort(key=lambda s: key(HomeRow(s)), reverse=order.falling)
    if sort.figure:
        matching.sort(key=lambda s: not s.known or bool(s.error))
    groups: dict[str, list[SessionSummary]] = {HERE: [], ELSEWHERE: [], SAMPLES: []}
    for s in matching:
        groups[group_of(s, directory)].append(s)
    entries: list[Entry] = []
    for group, members in groups.items():
        if members:
            note = f"{len(members)} shipped with ctxtui" if group == SAMPLES else numbers.many(len(members), "session")
            entries += [Group(name if group == HERE else group, note), *members]
    places = tuple(sought)
    if places and not (words or groups[HERE] or groups[ELSEWHERE]):
        more = SessionsSought("other clients", "ctxtui PATH opens a file; ctxtui doctor checks these places")
        entries += [Group("no recorded session on this machine", "ctxtui looked here"), *places, more]
    return tuple(entries)
