"""Indented JSON, produced on demand; keys and number literals as recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from ctxtui.core.canonical import Json, dump_text
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, merged

MAX_DEPTH: Final = 40
"""Maximum indented depth; deeper values are written on one line."""
MAX_INLINE_CHARS: Final = 60
"""Longest list or object that is written on one line; it must also have fewer than 8 entries."""

KEY, TEXT, NUMBER, SIGN = "cat-call", "cat-summary", "cat-image", "dim"
"""Styles of keys, strings, other scalars, and punctuation."""


def lines(value: Json, indent: int = 2) -> Iterator[list[Span]]:
    yield from _lines(value, 0, indent, [], "")


def _lines(value: Json, depth: int, indent: int, lead: list[Span], comma: str) -> Iterator[list[Span]]:
    pad = Span(" " * (depth * indent))
    children = _children(value) if depth < MAX_DEPTH else None
    if not children or (len(children) < 8 and _is_short(value)):
        yield merged([pad, *lead, *scalar(value), Span(comma, SIGN)])
        return
    opens, closes = ("{", "}") if isinstance(value, Mapping) else ("[", "]")
    yield merged([pad, *lead, Span(opens, SIGN)])
    for number, (key, item) in enumerate(children, 1):
        label = [Span(f"{_quoted(key)}", KEY), Span(": ", SIGN)] if key is not None else []
        yield from _lines(item, depth + 1, indent, label, "," if number < len(children) else "")
    yield merged([pad, Span(closes + comma, SIGN)])


def _children(value: Json) -> list[tuple[str | None, Json]] | None:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list):
        return [(None, item) for item in value]
    return None


def _is_short(value: Json) -> bool:
    for item in value.values() if isinstance(value, Mapping) else value:
        if (isinstance(item, Mapping | list) and item) or (isinstance(item, str) and len(item) > MAX_INLINE_CHARS):
            return False
    return len(dump_text(value)) <= MAX_INLINE_CHARS


def _quoted(text: str) -> str:
    return safe_text.line(json.dumps(text, ensure_ascii=False))


def scalar(value: Json) -> list[Span]:
    if isinstance(value, str):
        return safe_text.spans(_quoted(value), TEXT)
    if isinstance(value, Mapping | list):
        return _flat(value)
    return [Span(safe_text.line(dump_text(value)), NUMBER)]


def _flat(value: Json) -> list[Span]:
    children = _children(value) or []
    opens, closes = ("{", "}") if isinstance(value, Mapping) else ("[", "]")
    if any(isinstance(item, Mapping | list) for _, item in children):
        return safe_text.spans(safe_text.line(dump_text(value)), "ink")
    out = [Span(opens, SIGN)]
    for number, (key, item) in enumerate(children):
        out += [Span(", ", SIGN)] if number else []
        out += [Span(_quoted(key), KEY), Span(": ", SIGN)] if key is not None else []
        out += scalar(item)
    return [*out, Span(closes, SIGN)]
