"""Home's list: sessions in groups, filtered and sorted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from ctxtui.views.home.columns import HomeRow, sorts, when
from ctxtui.views.model.session_summary import ELSEWHERE, HERE, SAMPLES, SessionSummary
from ctxtui.views.text import numbers


class Group(NamedTuple):
    """A group's rule: its name, the count beside it."""

    name: str
    note: str


class SessionsSought(NamedTuple):
    """Whose sessions were looked for, and where; for a list without any."""

    source: str
    where: str


Entry = Group | SessionsSought | SessionSummary


class ListOrder(Struct, frozen=True):
    """What the reader asked for: a sort (index into `columns.sorts`), its direction, words that must occur."""

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


def arrange(
    summaries: Iterable[SessionSummary],
    wanted: ListOrder,
    directory: str,
    name: str,
    sought: Iterable[SessionsSought] = (),
) -> tuple[Entry, ...]:
    """The list as shown: this directory's sessions under its `name`, those elsewhere, the samples; empty groups left
    out. Where there is none but samples, what was `sought` stands below them. Sessions that cannot be read, or are not
    read yet, stand last where the sort key needs figures."""
    words = wanted.words.casefold().split()
    found = [s for s in summaries if not words or matches(s, words)]
    sort = sorts()[wanted.sort]
    key = sort.sort or (lambda row: 0.0)
    found.sort(key=lambda s: s.key)
    found.sort(key=when, reverse=True)
    found.sort(key=lambda s: key(HomeRow(s)), reverse=wanted.falling)
    if sort.figure:
        found.sort(key=lambda s: not s.known or bool(s.error))
    groups: dict[str, list[SessionSummary]] = {HERE: [], ELSEWHERE: [], SAMPLES: []}
    for s in found:
        groups[group_of(s, directory)].append(s)
    entries: list[Entry] = []
    for group, members in groups.items():
        if members:
            note = f"{len(members)} shipped with ctxtui" if group == SAMPLES else numbers.many(len(members), "session")
            entries += [Group(name if group == HERE else group, note), *members]
    looked = tuple(sought)
    if looked and not (words or groups[HERE] or groups[ELSEWHERE]):
        more = SessionsSought("any other", "ctxtui PATH opens a file; ctxtui doctor checks these places")
        entries += [Group("no recorded session on this machine", "looked for those of"), *looked, more]
    return tuple(entries)
