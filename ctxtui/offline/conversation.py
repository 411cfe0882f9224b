"""A request as the offline model hears it, whatever its dialect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.wire.definitions import Definition, read
from ctxtui.wire.request import Request
from ctxtui.wire.translate.turns import CALL, RESULT, TEXT, Turn, turns

_REMINDERS: Final = re.compile(r"<system-reminder>.*?</system-reminder>", re.S)

_OWN_SCHEMAS: Final[dict[str, dict[str, Json]]] = {
    "bash": {"command": {"type": "string"}},
    "memory": {"command": {"enum": ["create"]}, "path": {"type": "string"}, "file_text": {"type": "string"}},
    "text_editor": {"command": {"enum": ["view"]}, "path": {"type": "string"}},
}
"""What the input of the provider's own client tools looks like, as far as it is used."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """A result: the tool's `name` and the JSON text of its `arguments`, and what it returned."""

    name: str
    arguments: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """`task` is what the person said last, `heard` the results since then, `made` the number of calls since then;
    `earlier` are all texts before, (where from, text); `begun` is the text that the answer must continue."""

    tools: tuple[Definition, ...]
    task: str
    heard: tuple[ToolOutcome, ...]
    made: int
    earlier: tuple[tuple[str, str], ...]
    begun: str = ""


def listen(request: Request) -> Task:
    """The conversation in `request`."""
    items = request.items
    tools = tuple(_tools(item.block.value() for item in items if item.place.section == "tools"))
    talk = turns([item for item in items if item.place.section == "messages"])
    at = max((n for n, turn in enumerate(talk) if _said(turn)), default=-1)
    names = {part.id: part.reading for turn in talk for part in turn.parts if part.what == CALL}
    heard: list[ToolOutcome] = []
    earlier: list[tuple[str, str]] = []
    for n, turn in enumerate(talk):
        for part in turn.parts:
            if part.what == RESULT:
                asked = names.get(part.id)
                got = ToolOutcome(
                    asked.name if asked else "a tool",
                    asked.arguments if asked else "",
                    part.reading.text,
                    part.reading.is_error,
                )
                # Results that stand in the message of the task were asked for before it.
                (heard.append(got) if n > at else earlier.append((got.name, got.text)))
            elif part.what == TEXT and n < at:
                earlier.append((turn.role, clean(part.reading.text)))
    made = sum(part.what == CALL for turn in talk[at + 1 :] for part in turn.parts)
    begun = _words(talk[-1]) if talk and talk[-1].role == "assistant" else ""
    return Task(tools, _said(talk[at]) if at >= 0 else "", tuple(heard), made, tuple(earlier), begun)


def clean(text: str) -> str:
    """`text` without what clients put in for the model's eyes."""
    return _REMINDERS.sub("", text).strip()


def _said(turn: Turn) -> str:
    return clean(_words(turn)) if turn.role == "user" else ""


def _words(turn: Turn) -> str:
    return "\n".join(part.reading.text for part in turn.parts if part.what == TEXT)


def _tools(values: Iterable[Json]) -> Iterable[Definition]:
    for value in values:
        found = read(value)
        if found is not None:
            yield found
        elif isinstance(value, dict) and isinstance(value.get("name"), str):
            own = next((o for name, o in _OWN_SCHEMAS.items() if str(value.get("type")).startswith(name)), None)
            if own is not None:
                schema = {"type": "object", "properties": own, "required": list(own)}
                yield Definition(value["name"], "", schema)


def named(tools: Sequence[Definition]) -> str:
    """The tools' names, for a sentence."""
    return ", ".join(tool.name for tool in tools) or "none"
