"""Splits the prompt of a job folder into its task, files, rounds of history, and request.

Such a prompt is one text, structured by headings (``=== ... ===``) and lines that open a round. A round becomes an
answer with its calls and their results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from ctxtui.core.block import Item
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_str
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.readers import decode_column

_HEADING: Final = re.compile(r"^(={2,6}|-{3,6}) (?P<title>\S[^\n]*?) \1[ \t]*$", re.MULTILINE)
_HISTORY: Final = re.compile(r"previous|earlier|recent|history|so far|rounds?\b|steps?\b|work log", re.IGNORECASE)
_SUMMARY: Final = re.compile(r"summary|facts", re.IGNORECASE)
_FILE: Final = re.compile(r"\d+-(prompt|response|tool-calls|tool-results)\.\w+\Z")
_ROUND: Final = re.compile(
    r"^(?:#{1,6} |\*\*|\[)?(?:round|step|iteration|turn|attempt)[ #]{1,2}\d+\b(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_NAMES: Final = re.compile(r"[A-Za-z_][\w.-]*")
_MIN_ANSWER_CHARS: Final = 20
"""Minimum characters of an answer to be recognized."""
# An empty line before a sentence: the last one in the history begins the prompt's final request.
_CLOSING: Final = re.compile(r"\n[ \t]*\n(?=[^\s=#{\[<`-][^\n]*[?.:!](?:\s|$))")


def split_prompt(text: str, answers: Sequence[str] = ()) -> list[list[Item]]:
    """Split a prompt into messages.

    `answers` are the job's responses so far, which a history may repeat verbatim.
    """
    messages: list[list[Item]] = []
    parts: list[Json] = []
    for number, (is_round, piece) in enumerate(_split_pieces(text, answers)):
        if not is_round:
            parts.append(piece)
            continue
        if parts:
            messages.append(make_message("user", *parts))
            parts = []
        messages += _convert_round(piece, number)
    return [*messages, *([make_message("user", *parts)] if parts or not messages else [])]


def _split_pieces(text: str, answers: Sequence[str]) -> Iterator[tuple[bool, str]]:
    """Yield (whether it is a round, its text) of each piece; joined they are the prompt."""
    heads = list(_HEADING.finditer(text))
    starts = sorted({0, *(head.start() for head in heads)})
    titles = {head.start(): head["title"] for head in heads}
    for start, stop in zip(starts, [*starts[1:], len(text)], strict=True):
        title, section = titles.get(start, ""), text[start:stop]
        saved = _FILE.search(title)
        if saved:
            yield saved[1] == "response", section
        elif _HISTORY.search(title) and not _SUMMARY.search(title):
            yield from _split_rounds(section, answers, is_last=stop == len(text))
        elif section:
            yield False, section


def _split_rounds(section: str, answers: Sequence[str], *, is_last: bool) -> Iterator[tuple[bool, str]]:
    """Split a section with history into rounds; a request at the prompt's end is part of none."""
    if not _ROUND.search(section):
        yield from _split_by_answers(section, answers)
        return
    starts = [match.start() for match in _ROUND.finditer(section)]
    closing = len(section)
    if is_last:
        closing = max((match.end() for match in _CLOSING.finditer(section, starts[-1])), default=closing)
    edges = [*starts, closing]
    if edges[0]:
        yield False, section[: edges[0]]
    for start, stop in pairwise(edges):
        yield True, section[start:stop]
    if closing < len(section):
        yield False, section[closing:]


def _split_by_answers(section: str, answers: Sequence[str]) -> Iterator[tuple[bool, str]]:
    offset = 0
    for answer in answers:
        start = section.find(answer, offset) if len(answer) >= _MIN_ANSWER_CHARS else -1
        if start >= 0:
            if start > offset:
                yield False, section[offset:start]
            offset = start + len(answer)
            yield True, answer
    if offset < len(section):
        yield False, section[offset:]


def _convert_round(text: str, number: int) -> list[list[Item]]:
    """Convert a round to an answer and the results of its calls.

    A round with a heading but no JSON calls has those named after the heading's colon, else one named ``round``.
    """
    lines = text.splitlines(keepends=True)
    calls: list[dict[str, Json]] = []
    end = 1
    for n, line in enumerate(lines):
        call = _parse_call(line)
        if call is not None:
            calls.append(call)
            end = n + 1
    text_lines = [line for n, line in enumerate(lines[:end]) if n == 0 or _parse_call(line) is None]
    head = _ROUND.match(text)
    if not calls and head is None:
        return [make_message("assistant", text)]
    if not calls and head is not None:
        names = _NAMES.findall(head["rest"].lstrip(" :.*]-")) if ":" in head["rest"][:3] else []
        calls = [{"name": name, "input": {}} for name in names[:4]] or [{"name": "round", "input": {}}]
    parts: list[Json] = [{"type": "tool_use", "id": f"round_{number}_{n}", **call} for n, call in enumerate(calls)]
    results: list[Json] = [
        {"type": "tool_result", "tool_use_id": f"round_{number}_{n}", "content": rest}
        for n, rest in enumerate([*[""] * (len(calls) - 1), "".join(lines[end:])])
    ]
    return [make_message("assistant", "".join(text_lines), *parts), make_message("user", *results)]


def _parse_call(line: str) -> dict[str, Json] | None:
    fields = as_dict(decode_column(line)) if line.lstrip().startswith("{") else {}
    name = as_str(fields.get("tool")) or as_str(fields.get("name")) or as_str(fields.get("tool_name"))
    tool_input = next((fields[key] for key in ("args", "arguments", "input", "parameters") if key in fields), None)
    return {"name": name, "input": as_dict(tool_input)} if name and tool_input is not None else None
