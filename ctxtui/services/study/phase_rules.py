"""Divides a session into phases: by the user's notes, by a rule of the settings, or by turn."""

from __future__ import annotations

from collections.abc import Iterable

from ctxtui.analysis.growth.phases import CALL, EPOCH, TURN, Search, Start, find_starts, merge_starts, named_starts
from ctxtui.core.call import Call
from ctxtui.core.errors import BadPattern
from ctxtui.core.note import Note
from ctxtui.core.session import Session
from ctxtui.services.search.pattern import Pattern

RULE_NAMES = (TURN, EPOCH, CALL)
"""Rules that are not regular expressions."""


def find_phases(session: Session, calls: list[Call], rule: str, notes: Iterable[Note] = ()) -> list[Start]:
    """The starts of the phases of a thread's `calls`. Raises `BadPattern`.

    `rule` is one of `RULE_NAMES`, or a regular expression whose hits name phases; calls with a note ``phase: NAME``
    begin phases, too. With "" only these do, or turns if there are none.
    """
    noted_starts = named_starts(calls, {note.call: note.text for note in notes if note.call})
    if rule in RULE_NAMES:
        return merge_starts(find_starts(session.tree, calls, rule), noted_starts)
    if rule:
        return merge_starts(find_starts(session.tree, calls, rule, _first_hit(rule)), noted_starts)
    return noted_starts or find_starts(session.tree, calls, TURN)


def _first_hit(rule: str) -> Search:
    """A function that returns the first hit of the regular expression `rule` in a text, or "".

    Raises `BadPattern`.
    """
    try:
        pattern = Pattern(rule, regex=True)
    except BadPattern as error:
        raise BadPattern(f"phase rule {rule!r}: {error.message}", place=error.place) from error

    def search(text: str) -> str:
        return next((text[start:end] for start, end in pattern.spans(text)), "")

    return search
