"""Checks a request body against the rules of Google's generateContent.

The rules are known from the errors that it answers with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.core.block_content import FUNCTION_CALL, FUNCTION_RESPONSE
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_list
from ctxtui.curation.legality.violation import EMPTY, FIRST, PAIR, TOOL, Violation
from ctxtui.wire.google_parts import DECLARATIONS, SIGNATURES

MODEL: Final = "model"
_ROLES: Final = frozenset({"user", MODEL, "function"})
_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}\Z")
_NO_DATA: Final = frozenset({"thought", "partMetadata", "videoMetadata", *SIGNATURES})


class _Part(NamedTuple):
    """A part of a turn: its JSON path, and its function call or response (None: neither)."""

    path: str
    call: Json
    response: Json
    is_signed: bool


class _Turn(NamedTuple):
    """Adjacent contents of one side; `path` is that of the first."""

    path: str
    role: str
    parts: list[_Part]

    @property
    def calls(self) -> list[_Part]:
        return [part for part in self.parts if part.call is not None]

    @property
    def responses(self) -> list[_Part]:
        return [part for part in self.parts if part.response is not None]


def violations(body: dict[str, Json]) -> Iterator[Violation]:
    """Find violations of the API's rules; `tools` checks the declared functions."""
    contents = body.get("contents")
    contents = [contents] if isinstance(contents, dict) else as_list(contents)
    if not contents:
        yield Violation("$.contents", "at least one content is required")
    turns: list[_Turn] = []
    for n, content in enumerate(contents):
        path = f"$.contents[{n}]"
        if not isinstance(content, dict):
            yield Violation(path, "a content must be an object")
            continue
        role = content.get("role") or "user"
        if str(role) not in _ROLES:
            yield Violation(f"{path}.role", f"no such role: {role!r}; use user or model")
        parts = content.get("parts")
        parts = [parts] if isinstance(parts, dict) else as_list(parts)
        if not parts:
            yield Violation(path, "parts must not be empty", EMPTY)
        side = MODEL if role == MODEL else "user"
        if not turns or turns[-1].role != side:
            turns.append(_Turn(path, side, []))
        for m, part in enumerate(parts):
            part_path = f"{path}.parts[{m}]"
            if not isinstance(part, dict) or part.keys() <= _NO_DATA:
                yield Violation(part_path, "a part must have data", EMPTY)
            else:
                turns[-1].parts.append(_read_part(part, part_path))
    yield from _check_pairs(turns)
    yield from _check_signatures(turns)


def _read_part(value: dict[str, Json], path: str) -> _Part:
    call = next((value[key] for key in FUNCTION_CALL if key in value), None)
    response = next((value[key] for key in FUNCTION_RESPONSE if key in value), None)
    return _Part(path, call, response, any(value.get(key) for key in SIGNATURES))


def _check_pairs(turns: Sequence[_Turn]) -> Iterator[Violation]:
    for n, turn in enumerate(turns):
        before = turns[n - 1] if n else None
        after = turns[n + 1] if n + 1 < len(turns) else None
        if turn.role == MODEL:
            if turn.calls and before is None:
                yield Violation(turn.path, "a function call must follow a content of the user", FIRST)
            for part in turn.responses:
                yield Violation(part.path, "function responses belong in the user's contents", PAIR)
            yield from _check_unmatched(turn.calls, after.responses if after else [], "call {!r} has no response")
        else:
            for part in turn.calls:
                yield Violation(part.path, "only the model calls functions", PAIR)
            yield from _check_unmatched(
                turn.responses, before.calls if before else [], "no call {!r} before this response"
            )


def _check_unmatched(parts: Sequence[_Part], counterparts: Sequence[_Part], message: str) -> Iterator[Violation]:
    unmatched = list(counterparts)
    for part in parts:
        match = next((answer for answer in unmatched if _is_pair(part, answer)), None)
        if match is not None:
            unmatched.remove(match)
        else:
            yield Violation(part.path, message.format(_part_member(part, "id") or _part_member(part, "name")), PAIR)


def _is_pair(call: _Part, answer: _Part) -> bool:
    ids = _part_member(call, "id"), _part_member(answer, "id")
    return ids[0] == ids[1] if all(ids) else _part_member(call, "name") == _part_member(answer, "name")


def _part_member(part: _Part, key: str) -> str:
    value = part.call if part.call is not None else part.response
    return str(value.get(key) or "") if isinstance(value, dict) else ""


def _check_signatures(turns: Sequence[_Turn]) -> Iterator[Violation]:
    """Check that the first call in each step since the user's last text is signed.

    Only models from Gemini 3 on require it, so that a body without any signed call is not checked.
    """
    if not any(part.is_signed for turn in turns for part in turn.calls):
        return
    for turn in reversed(turns):
        if turn.role == MODEL and turn.calls and not turn.calls[0].is_signed:
            yield Violation(turn.calls[0].path, "the first call of a step must carry its thought signature", PAIR)
        elif turn.role != MODEL and len(turn.responses) < len(turn.parts):
            return


def tools(body: dict[str, Json]) -> Iterator[Violation]:
    """Check the names of the declared functions."""
    names: set[Json] = set()
    offered = body.get("tools")
    for n, tool in enumerate([offered] if isinstance(offered, dict) else as_list(offered)):
        key = next((key for key in DECLARATIONS if isinstance(tool, dict) and key in tool), "")
        for m, definition in enumerate(as_list(tool[key]) if key else ()):
            name = definition.get("name") if isinstance(definition, dict) else None
            path = f"$.tools[{n}].{key}[{m}].name"
            if not isinstance(name, str) or not _NAME.match(name):
                yield Violation(path, f"{name!r} is not a valid function name", TOOL)
            elif name in names:
                yield Violation(path, f"two functions are named {name!r}", TOOL)
            else:
                names.add(name)
