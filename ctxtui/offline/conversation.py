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
from ctxtui.offline.answer import AnsweredCall
from ctxtui.offline.json_shape import members, rows
from ctxtui.offline.openai.cipher import decrypt
from ctxtui.wire.definitions import Definition, parse_definition
from ctxtui.wire.request import Request
from ctxtui.wire.translate.turns import CALL, RESULT, TEXT, Turn, TurnPart, to_turns

_OWN_SCHEMAS: Final[dict[str, dict[str, Json]]] = {
    "bash": {"command": {"type": "string"}},
    "memory": {"command": {"enum": ["create"]}, "path": {"type": "string"}, "file_text": {"type": "string"}},
    "text_editor": {"command": {"enum": ["view"]}, "path": {"type": "string"}},
}
"""Input schemas of the provider's own client tools, as far as needed."""


_SCRIPT: Final = re.compile(r"const r = await tools\.(\w+)\((.*)\);$", re.M)


@dataclass(frozen=True, slots=True)
class ToolOffer(Definition):
    """A tool and the way to call it.

    In which `namespace`, with `free` text instead of an object, or in JavaScript through the tool `code` ("":
    directly). `image`: it returns a picture. `named_only` tools are called only if named in the task.
    """

    namespace: str = ""
    free: bool = False
    code: str = ""
    image: bool = False
    named_only: bool = False

    def call(self, given: Json) -> AnsweredCall:
        """The call with the arguments `given`."""
        if not self.code:
            return AnsweredCall(self.name, given, self.namespace)
        # A script's output is what it passes to `text` or `image`; a command's is in `output`.
        shown = "image(r.image_url)" if self.image else "text(r?.output ?? r)"
        script = f"const r = await tools.{self.name}({json.dumps(given, ensure_ascii=False)});\n{shown};\n"
        return AnsweredCall(self.code, script, self.namespace)


def find_namespace(made: AnsweredCall, tools: Iterable[Definition]) -> tuple[str, bool]:
    """The namespace of the called tool, and whether it takes free text; guessed from the call if it is not offered."""
    for tool in tools:
        if tool.name == made.name and isinstance(tool, ToolOffer) and made.namespace in ("", tool.namespace):
            return tool.namespace, tool.free
    return made.namespace, isinstance(made.arguments, str)


def call(tool: Definition, given: Json) -> AnsweredCall:
    """The call of `tool` with the arguments `given`."""
    return tool.call(given) if isinstance(tool, ToolOffer) else AnsweredCall(tool.name, given)


def unwrap_script(name: str, arguments: str) -> tuple[str, str]:
    """The tool and arguments called by a script of `ToolOffer.call`; else the call itself."""
    found = _SCRIPT.match(arguments)
    return (found[1], found[2]) if found else (name, arguments)


def tools_in(values: Iterable[Json], namespace: str = "") -> Iterator[Definition]:
    """The client's tools among definitions as spelled in a request."""
    for value in values:
        here = members(value)
        kind, name = str(here.get("type")), here.get("name")
        if kind == "namespace" and not namespace:
            yield from tools_in(rows(here.get("tools")), str(name or ""))
        elif kind == "custom" and isinstance(name, str) and "input_schema" not in here:
            yield from _custom(name, str(here.get("description") or ""), namespace)
        elif (found := parse_definition(value)) is not None:
            yield ToolOffer(found.name, found.description, found.schema, found.strict, namespace)
        elif isinstance(name, str):
            own = next((o for begin, o in _OWN_SCHEMAS.items() if kind.startswith(begin)), None)
            if own is not None:
                yield Definition(name, "", {"type": "object", "properties": own, "required": list(own)})


def _custom(name: str, description: str, namespace: str) -> Iterator[Definition]:
    inside = list(_declared(description, name, namespace))
    yield from inside
    yield ToolOffer(name, description, {}, namespace=namespace, free=True, named_only=bool(inside))


_BLOCK: Final = re.compile(r"^```ts\n(.*?)^```", re.S | re.M)
_HEAD: Final = re.compile(r"declare const tools: \{ (\w+)\(\w+: (string\)|\{)")
_MEMBER: Final = re.compile(r"\"?([\w$-]+)\"?(\?)?: (.+?);?$")
_LITERAL: Final = re.compile(r'"([^"]*)"')
_PLAIN: Final = ("string", "number", "boolean")
_MAX_DECLARATIONS: Final = 500
"""Maximum declarations read from one description."""


def _declared(description: str, code: str, namespace: str) -> Iterator[ToolOffer]:
    """The tools that scripts for tool `code` can call, from the TypeScript in its `description` (facts §13.2)."""
    at = 0
    for n, block in enumerate(_BLOCK.finditer(description)):
        head = _HEAD.match(block[1])
        told, at = description[at : block.start()], block.end()
        if head is None or n >= _MAX_DECLARATIONS:
            continue
        free = head[2] != "{"
        inner, _, gives = block[1][head.end() :].partition("}): Promise<")
        image = "image_url: string" in gives and "output: string" not in gives
        schema = {} if free else _schema(inner)
        yield ToolOffer(head[1], _description(told), schema, None, namespace, free, code, image)


def _description(told: str) -> str:
    """The text of a tool between its heading and its declaration."""
    lines = told.rpartition("### ")[2].splitlines()[1:]
    return "\n".join(line for line in lines if not line.endswith("declaration:")).strip()


def _schema(inner: str) -> Json:
    """The members of a TypeScript object type as a JSON schema, for plain types."""
    made: dict[str, tuple[dict[str, Json], bool]] = {}
    depth = 0
    for line in inner.splitlines():
        told = line.partition("//")[0].strip()
        found = _MEMBER.match(told) if not depth else None
        if found is not None:
            made[found[1]] = _type(found[3]), not found[2]
        depth = max(0, depth + told.count("{") - told.count("}"))
    return {
        "type": "object",
        "properties": {name: schema for name, (schema, _) in made.items()},
        "required": [name for name, (_, needed) in made.items() if needed],
    }


def _type(spelled: str) -> dict[str, Json]:
    if spelled in _PLAIN:
        return {"type": spelled}
    if spelled.startswith("Array<") or spelled.endswith("[]"):
        inner = spelled.removesuffix("[]").removeprefix("Array<").removesuffix(">")
        return {"type": "array", "items": _type(inner)}
    literals = _LITERAL.findall(spelled)
    if literals and not _LITERAL.sub("", spelled).strip(" |"):
        return {"enum": literals}
    return {"type": "object"} if spelled.startswith("{") else {}


_REMINDERS: Final = re.compile(
    r"<(system-reminder|local-command-\w+|command-(?:name|message|args)|task-notification|session_context)>.*?</\1>"
    r"|\n\n# (?:\*SEARCH/REPLACE block\* Rules|File editing rules):\n.*\Z",
    re.S,
)
_REPORTED: Final = re.compile(r"\A(?:Script |Chunk ID: )(?:[^\n]*\n){1,5}?Output:\n+")
"""Codex's report of a run before its output."""

_BETWEEN: Final = ("input_text", "input_image", "encrypted_content")
"""Types of parts in messages between agents."""
_PAYLOAD: Final = re.compile(r"\A(?:[\w ]+: .*\n)+?Payload:\n+")
_FINAL: Final = re.compile(r"^Message Type: FINAL_ANSWER$", re.M)


class ToolOutcome(Struct, frozen=True):
    """A result: the tool's `name` and the JSON text of its `arguments`, and what it returned."""

    name: str
    arguments: str
    text: str
    failed: bool = False


class ScriptTask(Struct, frozen=True):
    """The conversation: `task` is the last user message, `heard` the results since then, `made` the number of calls
    since then.

    `earlier` are all texts before, (source, text).
    """

    tools: tuple[Definition, ...]
    task: str
    heard: tuple[ToolOutcome, ...]
    made: int
    earlier: tuple[tuple[str, str], ...]


def read_task(request: Request) -> ScriptTask:
    """Read the conversation in `request`."""
    items = request.items
    tools = tuple(tools_in(item.block.value() for item in items if item.block.kind == TOOL))
    talk = _turns([item for item in items if item.place.section == "messages"])
    at = max((n for n, turn in enumerate(talk) if _said(turn)), default=-1)
    names = {part.id: part.reading for turn in talk for part in turn.parts if part.category == CALL}
    heard: list[ToolOutcome] = []
    earlier: list[tuple[str, str]] = []
    for n, turn in enumerate(talk):
        for part in turn.parts:
            if part.category == RESULT:
                asked = names.get(part.id)
                name, arguments = unwrap_script(asked.name, asked.arguments) if asked else (part.reading.name, "")
                told = _REPORTED.sub("", part.reading.text)
                got = ToolOutcome(name or "a tool", arguments, told, part.reading.is_error)
                # Results in the message of the task belong to earlier calls.
                (heard.append(got) if n > at else earlier.append((got.name, got.text)))
            elif part.category == TEXT and n < at:
                earlier.append((turn.role, strip_reminders(part.reading.text)))
    made = sum(part.category == CALL for turn in talk[at + 1 :] for part in turn.parts)
    return ScriptTask(tools, _said(talk[at]) if at >= 0 else "", tuple(heard), made, tuple(earlier))


def strip_reminders(text: str) -> str:
    """Remove text that clients add for the model."""
    return _REMINDERS.sub("", text).strip()


def _turns(items: Sequence[Item]) -> list[Turn]:
    """The turns, with messages between agents and compactions as separate turns."""
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
            made, plain = [*made, *to_turns(plain)], []
        if head.get("type") == "agent_message":
            said = (head, [])
        elif item.block.kind == "compaction":
            made.append(_compacted(members(item.block.value())))
        else:
            plain.append(item)
    return [*made, *([_between(*said)] if said else to_turns(plain))]


def _between(head: dict[str, Json], items: Sequence[Item]) -> Turn:
    """A message from another agent: a task or a result.

    Encrypted parts are in plain text here, as this provider never encrypts.
    """
    values = [members(item.block.value()) for item in items]
    texts = [value.get("text") or value.get("encrypted_content") for value in values]
    text = "".join(one for one in texts if isinstance(one, str))
    said = _PAYLOAD.sub("", text)
    if _FINAL.search(text):
        author = str(head.get("author") or "an agent")
        return Turn("tool", [TurnPart(RESULT, "agent_message", head, BlockContent(text=said, name=author))])
    return Turn("user", [TurnPart(TEXT, "agent_message", head, BlockContent(text=said))])


def _compacted(value: dict[str, Json]) -> Turn:
    text = decrypt(str(value.get("encrypted_content") or ""))
    return Turn("compaction", [TurnPart(TEXT, "compaction", value, BlockContent(text=text))])


def _said(turn: Turn) -> str:
    return strip_reminders(_words(turn)) if turn.role == "user" else ""


def _words(turn: Turn) -> str:
    return "\n".join(part.reading.text for part in turn.parts if part.category == TEXT)


def format_names(tools: Sequence[Definition]) -> str:
    """The tools' names, for a sentence."""
    return ", ".join(tool.name for tool in tools) or "none"
