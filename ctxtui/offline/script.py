"""Scripted answers, for tests of clients."""

from __future__ import annotations

import json
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig
from ctxtui.core.json_values import as_dict
from ctxtui.offline.answer import CALLS, END, AnsweredCall, ModelAnswer, Part, PlainText, Thought
from ctxtui.offline.conversation import Task, read_task
from ctxtui.wire.request import Request

_MEMBERS: Final = ("text", "thinking", "calls", "when", "again")
_WAY_OUT: Final = (
    'a line is {"text": "...", "thinking": "...", "calls": [{"name": "TOOL", "input": {...}}], "when": "...", '
    '"again": true}, and needs a text or calls'
)


class ScriptedAnswer(Struct, frozen=True):
    """An answer for a request whose last user message contains `when`.

    It is used once, or repeatedly with `again`.
    """

    answer: ModelAnswer
    when: str = ""
    again: bool = False


class Script:
    """Gives each request the first remaining answer whose `when` is in the last user message."""

    def __init__(self, answers: list[ScriptedAnswer]) -> None:
        self._remaining = list(answers)

    def answer(self, request: Request) -> ModelAnswer | None:
        """The answer to `request`; None if no remaining one matches."""
        task = read_task(request)
        for n, scripted in enumerate(self._remaining):
            if scripted.when in task.task:
                if not scripted.again:
                    del self._remaining[n]
                return _with_offered_names(scripted.answer, task)
        return None


def parse_script(text: str, place: str = "") -> Script:
    """Parse a script with one JSON answer per line; empty lines are ignored. Raises `BadConfig`."""
    answers: list[ScriptedAnswer] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                answers.append(_parse_answer(json.loads(line)))
            except (ValueError, RecursionError) as error:
                line_place = f"{place}:{number}" if place else f"line {number}"
                raise BadConfig(f"not a scripted answer: {error}", place=line_place, way_out=_WAY_OUT) from None
    if not answers:
        raise BadConfig("the script has no answer", place=place, way_out=_WAY_OUT)
    return Script(answers)


def _parse_answer(value: Json) -> ScriptedAnswer:
    if not isinstance(value, dict):
        raise ValueError("not an object")
    unknown = ", ".join(sorted(value.keys() - set(_MEMBERS)))
    if unknown:
        raise ValueError(f"unknown member {unknown}")
    text, thinking, when = (_read_text(value, name) for name in ("text", "thinking", "when"))
    calls, again = value.get("calls", []), value.get("again", False)
    if not isinstance(calls, list):
        raise ValueError("calls is not a list")
    if not isinstance(again, bool):
        raise ValueError("again is not true or false")
    parts: list[Part] = [Thought(thinking)] if thinking else []
    parts += [PlainText(text)] if text else []
    parts += [_parse_call(call) for call in calls]
    if not text and not calls:
        raise ValueError("neither text nor calls")
    return ScriptedAnswer(ModelAnswer(tuple(parts), CALLS if calls else END), when, again)


def _read_text(value: dict[str, Json], name: str) -> str:
    text = value.get(name, "")
    if not isinstance(text, str):
        raise ValueError(f"{name} is not text")
    return text


def _parse_call(value: Json) -> AnsweredCall:
    call_members = as_dict(value)
    name = call_members.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError("a call without the name of its tool")
    return AnsweredCall(name, call_members.get("input", {}))


def _with_offered_names(answer: ModelAnswer, task: Task) -> ModelAnswer:
    """Rename the called tools as `task` offers them.

    Clients put the MCP server's name before the tool's: a scripted ``read_graph``, if not offered itself, calls
    ``mcp__memory__read_graph`` or ``memory_read_graph``, if only one such tool is offered.
    """
    offered = [tool.name for tool in task.tools]

    def rename(part: Part) -> Part:
        if not isinstance(part, AnsweredCall) or part.name in offered:
            return part
        matches = [name for name in offered if name.endswith(f"_{part.name}")]
        return AnsweredCall(matches[0], part.arguments) if len(matches) == 1 else part

    return replace(answer, parts=tuple(map(rename, answer.parts)))
