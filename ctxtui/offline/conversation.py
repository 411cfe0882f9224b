"""A request as the offline model hears it, whatever its dialect."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ctxtui.core.block import HEADER, TOOL, Item
from ctxtui.core.block_content import BlockContent
from ctxtui.core.canonical import Json
from ctxtui.offline.json_shape import members
from ctxtui.offline.offered import called_within, tools_in
from ctxtui.offline.openai.cipher import opened
from ctxtui.wire.definitions import Definition
from ctxtui.wire.request import Request
from ctxtui.wire.translate.turns import CALL, RESULT, TEXT, Turn, TurnPart, turns

_REMINDERS: Final = re.compile(
    r"<(system-reminder|local-command-\w+|command-(?:name|message|args)|task-notification)>.*?</\1>"
    r"|\n\n# (?:\*SEARCH/REPLACE block\* Rules|File editing rules):\n.*\Z",
    re.S,
)
_REPORTED: Final = re.compile(r"\A(?:Script |Chunk ID: )(?:[^\n]*\n){1,5}?Output:\n+")
"""What Codex says of a run in front of what it printed."""

_BETWEEN: Final = ("input_text", "input_image", "encrypted_content")
"""What agents say to each other, in pieces."""
_PAYLOAD: Final = re.compile(r"\A(?:[\w ]+: .*\n)+?Payload:\n+")
_FINAL: Final = re.compile(r"^Message Type: FINAL_ANSWER$", re.M)


class ToolOutcome(Struct, frozen=True):
    """A result: the tool's `name` and the JSON text of its `arguments`, and what it returned."""

    name: str
    arguments: str
    text: str
    failed: bool = False


class ScriptTask(Struct, frozen=True):
    """`task` is what the person said last, `heard` the results since then, `made` the number of calls since then;
    `earlier` are all texts before, (where from, text); `begun` is the text that the answer must continue."""

    tools: tuple[Definition, ...]
    task: str
    heard: tuple[ToolOutcome, ...]
    made: int
    earlier: tuple[tuple[str, str], ...]
    begun: str = ""


def listen(request: Request) -> ScriptTask:
    """The conversation in `request`."""
    items = request.items
    tools = tuple(tools_in(item.block.value() for item in items if item.block.kind == TOOL))
    talk = _turns([item for item in items if item.place.section == "messages"])
    at = max((n for n, turn in enumerate(talk) if _said(turn)), default=-1)
    names = {part.id: part.reading for turn in talk for part in turn.parts if part.what == CALL}
    heard: list[ToolOutcome] = []
    earlier: list[tuple[str, str]] = []
    for n, turn in enumerate(talk):
        for part in turn.parts:
            if part.what == RESULT:
                asked = names.get(part.id)
                name, arguments = called_within(asked.name, asked.arguments) if asked else (part.reading.name, "")
                told = _REPORTED.sub("", part.reading.text)
                got = ToolOutcome(name or "a tool", arguments, told, part.reading.is_error)
                # Results that stand in the message of the task were asked for before it.
                (heard.append(got) if n > at else earlier.append((got.name, got.text)))
            elif part.what == TEXT and n < at:
                earlier.append((turn.role, clean(part.reading.text)))
    made = sum(part.what == CALL for turn in talk[at + 1 :] for part in turn.parts)
    begun = _words(talk[-1]) if talk and talk[-1].role == "assistant" else ""
    return ScriptTask(tools, _said(talk[at]) if at >= 0 else "", tuple(heard), made, tuple(earlier), begun)


def clean(text: str) -> str:
    """`text` without what clients put in for the model's eyes."""
    return _REMINDERS.sub("", text).strip()


def _turns(items: Sequence[Item]) -> list[Turn]:
    """The turns, with what agents say to each other and what was compacted in turns of their own."""
    made: list[Turn] = []
    plain: list[Item] = []
    said: tuple[dict[str, Json], list[Item]] | None = None
    for item in items:
        head = members(item.block.value()) if item.block.kind == HEADER else {}
        if said is not None and item.block.kind in _BETWEEN:
            said[1].append(item)
            continue
        made, said = made if said is None else [*made, _between(*said)], None
        if head.get("type") == "agent_message" or item.block.kind == "compaction":
            made, plain = [*made, *turns(plain)], []
        if head.get("type") == "agent_message":
            said = (head, [])
        elif item.block.kind == "compaction":
            made.append(_compacted(members(item.block.value())))
        else:
            plain.append(item)
    return [*made, *([_between(*said)] if said else turns(plain))]


def _between(head: dict[str, Json], items: Sequence[Item]) -> Turn:
    """A message from another agent: a task, or what came of one. What is encrypted there is in the clear here, for
    this provider never encrypted it."""
    values = [members(item.block.value()) for item in items]
    texts = [value.get("text") or value.get("encrypted_content") for value in values]
    text = "".join(one for one in texts if isinstance(one, str))
    said = _PAYLOAD.sub("", text)
    if _FINAL.search(text):
        return Turn("tool", [TurnPart(RESULT, "agent_message", head, BlockContent(text=said, name=_author(head)))])
    return Turn("user", [TurnPart(TEXT, "agent_message", head, BlockContent(text=said))])


def _author(value: dict[str, Json]) -> str:
    return str(value.get("author") or "an agent")


def _compacted(value: dict[str, Json]) -> Turn:
    text = opened(str(value.get("encrypted_content") or ""))
    return Turn("compaction", [TurnPart(TEXT, "compaction", value, BlockContent(text=text))])


def _said(turn: Turn) -> str:
    return clean(_words(turn)) if turn.role == "user" else ""


def _words(turn: Turn) -> str:
    return "\n".join(part.reading.text for part in turn.parts if part.what == TEXT)


def named(tools: Sequence[Definition]) -> str:
    """The tools' names, for a sentence."""
    return ", ".join(tool.name for tool in tools) or "none"
