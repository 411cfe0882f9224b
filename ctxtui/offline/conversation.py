"""A request as the offline model reads it, in any dialect: the task, the results, the tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from ctxtui.core.block import HEADER, TOOL, Item
from ctxtui.core.block_content import BlockContent
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.answer import AnsweredCall
from ctxtui.offline.openai.cipher import decrypt
from ctxtui.wire.definitions import Definition, parse_definition
from ctxtui.wire.request import Request
from ctxtui.wire.translate.turns import CALL, RESULT, TEXT, Turn, TurnPart, to_turns

_OWN_SCHEMAS: Final[dict[str, dict[str, Json]]] = {
    "bash": {"command": {"type": "string"}},
    "memory": {"command": {"enum": ["create"]}, "path": {"type": "string"}, "file_text": {"type": "string"}},
    "text_editor": {"command": {"enum": ["view"]}, "path": {"type": "string"}},
}
"""Input schemas of tools that Anthropic defines and a client runs: the members that the offline model uses."""


_SCRIPT: Final = re.compile(r"const r = await tools\.(\w+)\((.*)\);$", re.M)
"""A script that `ToolOffer.call` wrote for a tool that is called in JavaScript."""


@dataclass(frozen=True, slots=True)
class ToolOffer(Definition):
    """A tool and the way to call it.

    - `namespace`: "" for none.
    - `free`: it takes free text instead of an object.
    - `code`: the tool that runs a script in which this tool is called; "": it is called directly.
    - `image`: it returns an image.
    - `named_only`: it is called only if the task names it.
    """

    namespace: str = ""
    free: bool = False
    code: str = ""
    image: bool = False
    named_only: bool = False

    def call(self, arguments: Json) -> AnsweredCall:
        """The call of this tool with `arguments`, directly or in a script for `code`."""
        if not self.code:
            return AnsweredCall(self.name, arguments, self.namespace)
        # A script's output is what it passes to `text` or `image`; a command's is in `output`.
        shown = "image(r.image_url)" if self.image else "text(r?.output ?? r)"
        script = f"const r = await tools.{self.name}({json.dumps(arguments, ensure_ascii=False)});\n{shown};\n"
        return AnsweredCall(self.code, script, self.namespace)


def find_namespace(call: AnsweredCall, tools: Iterable[Definition]) -> tuple[str, bool]:
    """The namespace of the called tool, and whether it takes free text.

    Both are guessed if the tool is not offered.
    """
    for tool in tools:
        if tool.name == call.name and isinstance(tool, ToolOffer) and call.namespace in ("", tool.namespace):
            return tool.namespace, tool.free
    return call.namespace, isinstance(call.arguments, str)


def make_call(tool: Definition, arguments: Json) -> AnsweredCall:
    return tool.call(arguments) if isinstance(tool, ToolOffer) else AnsweredCall(tool.name, arguments)


def unwrap_script(name: str, arguments: str) -> tuple[str, str]:
    """The tool and arguments called by a script of `ToolOffer.call`; else the call itself."""
    match = _SCRIPT.match(arguments)
    return (match[1], match[2]) if match else (name, arguments)


def tools_in(values: Iterable[Json], namespace: str = "") -> Iterator[Definition]:
    """The client's tools among definitions as spelled in a request."""
    for value in values:
        members = as_dict(value)
        kind, name = str(members.get("type")), members.get("name")
        if kind == "namespace" and not namespace:
            yield from tools_in(as_list(members.get("tools")), str(name or ""))
        elif kind == "custom" and isinstance(name, str) and "input_schema" not in members:
            yield from _custom_tools(name, str(members.get("description") or ""), namespace)
        elif (definition := parse_definition(value)) is not None:
            yield ToolOffer(definition.name, definition.description, definition.schema, definition.strict, namespace)
        elif isinstance(name, str):
            properties = next((schema for prefix, schema in _OWN_SCHEMAS.items() if kind.startswith(prefix)), None)
            if properties is not None:
                yield Definition(name, "", {"type": "object", "properties": properties, "required": list(properties)})


def _custom_tools(name: str, description: str, namespace: str) -> Iterator[Definition]:
    declared = list(_declared_tools(description, name, namespace))
    yield from declared
    yield ToolOffer(name, description, {}, namespace=namespace, free=True, named_only=bool(declared))


_BLOCK: Final = re.compile(r"^```ts\n(.*?)^```", re.S | re.M)
_HEAD: Final = re.compile(r"declare const tools: \{ (\w+)\(\w+: (string\)|\{)")
"""The start of a tool's TypeScript declaration: its name, and whether it takes text."""
_MEMBER: Final = re.compile(r"\"?([\w$-]+)\"?(\?)?: (.+?);?$")
"""A member of a TypeScript object type: name, optional or not, type."""
_LITERAL: Final = re.compile(r'"([^"]*)"')
_PLAIN: Final = ("string", "number", "boolean")
_MAX_DECLARATIONS: Final = 500


def _declared_tools(description: str, code: str, namespace: str) -> Iterator[ToolOffer]:
    """Tools that scripts for tool `code` can call, read from its `description`.

    They are declared there in TypeScript (facts §13.2).
    """
    offset = 0
    for n, block in enumerate(_BLOCK.finditer(description)):
        head = _HEAD.match(block[1])
        heading, offset = description[offset : block.start()], block.end()
        if head is None or n >= _MAX_DECLARATIONS:
            continue
        free = head[2] != "{"
        inner, _, result_type = block[1][head.end() :].partition("}): Promise<")
        image = "image_url: string" in result_type and "output: string" not in result_type
        schema = {} if free else _parse_object_type(inner)
        yield ToolOffer(head[1], _trim_description(heading), schema, None, namespace, free, code, image)


def _trim_description(text: str) -> str:
    """The text of a tool between its heading and its declaration."""
    lines = text.rpartition("### ")[2].splitlines()[1:]
    return "\n".join(line for line in lines if not line.endswith("declaration:")).strip()


def _parse_object_type(inner: str) -> Json:
    """The members of a TypeScript object type as a JSON schema, for plain types."""
    properties: dict[str, tuple[dict[str, Json], bool]] = {}
    depth = 0
    for line in inner.splitlines():
        code = line.partition("//")[0].strip()
        match = _MEMBER.match(code) if not depth else None
        if match is not None:
            properties[match[1]] = _parse_type(match[3]), not match[2]
        depth = max(0, depth + code.count("{") - code.count("}"))
    return {
        "type": "object",
        "properties": {name: schema for name, (schema, _) in properties.items()},
        "required": [name for name, (_, needed) in properties.items() if needed],
    }


def _parse_type(spelled: str) -> dict[str, Json]:
    if spelled in _PLAIN:
        return {"type": spelled}
    if spelled.startswith("Array<") or spelled.endswith("[]"):
        inner = spelled.removesuffix("[]").removeprefix("Array<").removesuffix(">")
        return {"type": "array", "items": _parse_type(inner)}
    literals = _LITERAL.findall(spelled)
    if literals and not _LITERAL.sub("", spelled).strip(" |"):
        return {"enum": literals}
    return {"type": "object"} if spelled.startswith("{") else {}


_REMINDERS: Final = re.compile(
    r"<(system-reminder|local-command-\w+|command-(?:name|message|args)|task-notification|session_context|info-msg)>.*?</\1>"
    r"|\n\n# (?:\*SEARCH/REPLACE block\* Rules|File editing rules):\n.*\Z",
    re.S,
)
"""Text that clients add to the user's message."""
_REPORTED: Final = re.compile(r"\A(?:Script |Chunk ID: )(?:[^\n]*\n){1,5}?Output:\n+")
"""Codex's report of a run before its output."""

_AGENT_MESSAGE_PARTS: Final = ("input_text", "input_image", "encrypted_content")
_PAYLOAD: Final = re.compile(r"\A(?:[\w ]+: .*\n)+?Payload:\n+")
"""The headers of a message between agents, up to its content."""
_FINAL: Final = re.compile(r"^Message Type: FINAL_ANSWER$", re.M)


class ToolOutcome(Struct, frozen=True):
    """A tool's result, with the tool's name and the text of the call's arguments."""

    name: str
    arguments: str
    text: str
    failed: bool = False


class Task(Struct, frozen=True):
    """The conversation as the offline model needs it.

    - `task`: the last user message.
    - `outcomes`: the tool results after it; `call_count`: the number of calls after it.
    - `earlier_texts`: texts and results before the task, as (source, text).
    """

    tools: tuple[Definition, ...]
    task: str
    outcomes: tuple[ToolOutcome, ...]
    call_count: int
    earlier_texts: tuple[tuple[str, str], ...]


def read_task(request: Request) -> Task:
    """Read `request` as the task of its last user message, with the results since then."""
    items = request.items
    tools = tuple(tools_in(item.block.value() for item in items if item.block.kind == TOOL))
    turns = _split_turns([item for item in items if item.place.section == "messages"])
    task_index = max((n for n, turn in enumerate(turns) if _user_text(turn)), default=-1)
    calls = {part.id: part.reading for turn in turns for part in turn.parts if part.category == CALL}
    outcomes: list[ToolOutcome] = []
    earlier: list[tuple[str, str]] = []
    for n, turn in enumerate(turns):
        for part in turn.parts:
            if part.category == RESULT:
                call = calls.get(part.id)
                name, arguments = unwrap_script(call.name, call.arguments) if call else (part.reading.name, "")
                output = _REPORTED.sub("", part.reading.text)
                outcome = ToolOutcome(name or "a tool", arguments, output, part.reading.is_error)
                # Results in the message of the task belong to earlier calls.
                (outcomes.append(outcome) if n > task_index else earlier.append((outcome.name, outcome.text)))
            elif part.category == TEXT and n < task_index:
                earlier.append((turn.role, strip_reminders(part.reading.text)))
    call_count = sum(part.category == CALL for turn in turns[task_index + 1 :] for part in turn.parts)
    return Task(
        tools, _user_text(turns[task_index]) if task_index >= 0 else "", tuple(outcomes), call_count, tuple(earlier)
    )


def strip_reminders(text: str) -> str:
    return _REMINDERS.sub("", text).strip()


def _split_turns(items: Sequence[Item]) -> list[Turn]:
    """The turns, with messages between agents and compactions as separate turns."""
    turns: list[Turn] = []
    plain: list[Item] = []
    agent_message: tuple[dict[str, Json], list[Item]] | None = None
    for item in items:
        head = as_dict(item.block.value()) if item.block.kind == HEADER else {}
        if agent_message is not None and item.block.kind in _AGENT_MESSAGE_PARTS:
            agent_message[1].append(item)
            continue
        turns, agent_message = turns if agent_message is None else [*turns, _agent_message_turn(*agent_message)], None
        if head.get("type") == "agent_message" or item.block.kind == "compaction":
            turns, plain = [*turns, *to_turns(plain)], []
        if head.get("type") == "agent_message":
            agent_message = (head, [])
        elif item.block.kind == "compaction":
            turns.append(_compaction_turn(as_dict(item.block.value())))
        else:
            plain.append(item)
    return [*turns, *([_agent_message_turn(*agent_message)] if agent_message else to_turns(plain))]


def _agent_message_turn(head: dict[str, Json], items: Sequence[Item]) -> Turn:
    """The turn of a message from another agent: a task or a result.

    Its encrypted parts are plain text here.
    """
    values = [as_dict(item.block.value()) for item in items]
    texts = [value.get("text") or value.get("encrypted_content") for value in values]
    text = "".join(part for part in texts if isinstance(part, str))
    payload = _PAYLOAD.sub("", text)
    if _FINAL.search(text):
        author = str(head.get("author") or "an agent")
        return Turn("tool", [TurnPart(RESULT, "agent_message", head, BlockContent(text=payload, name=author))])
    return Turn("user", [TurnPart(TEXT, "agent_message", head, BlockContent(text=payload))])


def _compaction_turn(value: dict[str, Json]) -> Turn:
    text = decrypt(str(value.get("encrypted_content") or ""))
    return Turn("compaction", [TurnPart(TEXT, "compaction", value, BlockContent(text=text))])


def _user_text(turn: Turn) -> str:
    texts = (part.reading.text for part in turn.parts if part.category == TEXT)
    return strip_reminders("\n".join(texts)) if turn.role == "user" else ""


def format_names(tools: Sequence[Definition]) -> str:
    return ", ".join(tool.name for tool in tools) or "none"
