"""Finds the matches of label rules in a text: tags, regular expressions, JSON pointers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ctxtui.analysis.labels.rules import LabelRule, unescaped
from ctxtui.core.errors import Malformed
from ctxtui.wire.codec import spans
from ctxtui.wire.codec.spans import Value

_SEGMENT: Final = "segment"
"""Group of a regular expression that is used instead of the whole match."""
_JSON_STARTS: Final = re.compile(r"^[ \t]*([{\[])", re.MULTILINE)
"""A line that may begin JSON."""
_MAX_FAILURES: Final = 32
"""Failed attempts to parse JSON after which the rest of a text is not searched."""
_MAX_JSON_CHARACTERS: Final = 4_000_000
"""A longer text, or part of one, is not searched for JSON."""


class Match(NamedTuple):
    """A match, and the index of its rule in `Labelling.rules`."""

    start: int
    end: int
    rule: int


def find_matches(index: int, rule: LabelRule, text: str, earlier: Sequence[tuple[str, int, int]] = ()) -> list[Match]:
    """Find the matches of `rule`, which has `index`, in `text`.

    With `rule.inside`, only in `earlier` matches (label, start, end) of that label.
    """
    places = [(0, len(text))]
    if rule.inside:
        places = [(start, end) for label, start, end in earlier if label == rule.inside]
    return [
        Match(start, end, index) for place in places for start, end in _find_ranges(rule, text, *place) if start < end
    ]


def _find_ranges(rule: LabelRule, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if rule.between[0]:
        return _match_tags(*rule.between, text, start, end)
    if rule.regex:
        return _match_regex(rule.regex, text, start, end)
    return _match_pointers(rule, text, start, end)


def _match_tags(opens: str, closes: str, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield ranges from each opening tag to the next closing one, both included, not nested."""
    while (at := text.find(opens, start, end)) >= 0:
        close = text.find(closes, at + len(opens), end)
        if close < 0:
            return
        start = close + len(closes)
        yield at, start


def _match_regex(pattern: str, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    compiled = _compile(pattern)
    group = _SEGMENT if _SEGMENT in compiled.groupindex else 0
    # A slice, so that \A and \Z refer to the searched part.
    part = text if (start, end) == (0, len(text)) else text[start:end]
    for match in compiled.finditer(part):
        if match.start(group) >= 0:
            yield start + match.start(group), start + match.end(group)


@lru_cache(512)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _match_pointers(rule: LabelRule, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for value in _find_json(text, start, end):
        if rule.beside and not any(next(_resolve_pointer(text, value, beside), None) for beside in rule.beside):
            continue
        for pointer in rule.pointers:
            yield from ((part.start, part.end) for part in _resolve_pointer(text, value, pointer))


def _find_json(text: str, start: int, end: int) -> Iterator[Value]:
    """Yield the JSON objects and lists that begin a line and end before `end`, outermost only."""
    if end - start > _MAX_JSON_CHARACTERS:
        return
    failed = 0
    while failed < _MAX_FAILURES and (line := _JSON_STARTS.search(text, start, end)) is not None:
        try:
            value = spans.read(text, line.start(1))
        except Malformed:
            start, failed = line.end(), failed + 1
            continue
        if value.end > end:
            return
        yield value
        start = value.end


def _resolve_pointer(text: str, value: Value, pointer: str) -> Iterator[Value]:
    values = [value]
    for step in pointer.split("/")[1:]:
        values = [child for parent in values for child in _resolve_step(text, parent, unescaped(step))]
    yield from values


def _resolve_step(text: str, value: Value, key: str) -> Iterator[Value]:
    if isinstance(value.value, dict) and (key == "*" or key in value.value):
        members = spans.members(text, value.start)
        yield from (Value(member.value, member.start, member.end) for member in members if key in ("*", member.key))
    elif isinstance(value.value, list) and (key == "*" or key.isdecimal()):
        items = spans.elements(text, value.start)
        yield from (item for number, item in enumerate(items) if key == "*" or number == int(key))
