"""A tool of the agent: its description for the model, and the functions that plan or run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from ctxtui.agent.tools.workspace import Workspace
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError


class PlannedWrite(Struct, frozen=True, kw_only=True):
    """A file write that a call plans.

    - `path`: relative to the workspace, symlinks and ``..`` resolved; `given_path`: the model's spelling.
    - `before`: the present content (None: no such file); `after`: the complete new one.
    - `guard`: the reason to ask each time ("": none).
    - `result_text`: the result for the model.
    """

    path: str
    given_path: str
    before: bytes | None
    after: bytes
    guard: str = ""
    result_text: str = ""


class PlannedCall(Struct, frozen=True):
    """A planned call of a tool other than a file write, such as a command.

    `guard` is the reason to ask the user each time ("": none).
    """

    command: str
    description: str
    input: Json
    guard: str = ""


Planned = PlannedWrite | PlannedCall


MAX_RESULT_CHARS: Final = 60_000


class BadInput(CtxtuiError):
    """Input by the model that a tool cannot use, because of its schema or its content."""


class Tool(Struct, frozen=True):
    """A tool of the agent.

    `properties` are the JSON schemas of its inputs by name; `required` names the mandatory ones. A tool that needs no
    permission has `run`, which returns the result. A tool that asks the user before it writes a file has `plan`. A tool
    that its host runs, such as ``run_command``, has neither.
    """

    name: str
    description: str
    properties: Mapping[str, Json]
    run: Callable[[Workspace, Mapping[str, Json]], str] | None = None
    required: tuple[str, ...] = ()
    plan: Callable[[Workspace, Mapping[str, Json]], PlannedWrite] | None = None

    @property
    def writes(self) -> bool:
        """Whether it plans a write, so that the user is asked first (not so memory tools)."""
        return self.plan is not None

    def definition(self) -> Json:
        """The tool's definition in requests (Anthropic's form; other dialects are derived from it)."""
        schema = {"type": "object", "properties": dict(self.properties), "required": list(self.required)}
        return {"name": self.name, "description": self.description, "input_schema": schema}


_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str, "integer": int, "boolean": bool, "number": (int, float), "array": list, "object": Mapping,
}  # fmt: skip


def check_input(tool: Tool, call_input: Json) -> dict[str, Json]:
    """Return a call's input.

    Raises `BadInput` for a missing or unknown member, or one of another JSON type.
    """
    if not isinstance(call_input, Mapping):
        raise BadInput("the input is no JSON object", place=tool.name)
    for name in tool.required:
        if name not in call_input:
            raise BadInput(f"{name} is missing", place=tool.name)
    checked_input: dict[str, Json] = {}
    for name, value in call_input.items():
        schema = tool.properties.get(name)
        if schema is None:
            raise BadInput(f"no such input: {name}", place=tool.name, way_out=f"it takes {', '.join(tool.properties)}")
        expected = _TYPES.get(str(schema.get("type")), object)
        if not isinstance(value, expected) or (expected in (int, _TYPES["number"]) and isinstance(value, bool)):
            raise BadInput(f"{name} must be of type {schema['type']}", place=tool.name)
        checked_input[name] = value
    return checked_input


def shorten(text: str, way_out: str) -> str:
    """Cut `text` to the limit of a result, with a line about it and `way_out`."""
    if len(text) <= MAX_RESULT_CHARS:
        return text
    start = text[:MAX_RESULT_CHARS].rpartition("\n")[0] or text[:MAX_RESULT_CHARS]
    return f"{start}\n[{len(text) - len(start):,} more characters are not shown; {way_out}]"
