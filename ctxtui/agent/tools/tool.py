"""A tool of the agent: its description for the model, whether it asks first, and its function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from ctxtui.agent.tools.workspace import Workspace
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError


class PlannedWrite(Struct, frozen=True, kw_only=True):
    """A file write that a call plans. `path` is relative to the workspace, symlinks and ``..`` resolved; `given` is the
    model's spelling. `before` is the present content (None: no such file), `after` all of the new one. `guard` is the
    reason to ask each time ("": none). `told` is the result for the model."""

    path: str
    given: str
    before: bytes | None
    after: bytes
    guard: str = ""
    told: str = ""


class PlannedCall(Struct, frozen=True):
    """What a call would run outside of the workspace's rules: `what` is run, `told` says how and with what reach, and
    `given` is the input that it gets. `guard` says why it is asked for each time ("": it is not)."""

    what: str
    told: str
    given: Json
    guard: str = ""


Planned = PlannedWrite | PlannedCall


MOST: Final = 60_000
"""Characters of a result: more is cut, and said."""


class BadInput(CtxtuiError):
    """The model gave a tool something that its schema does not allow."""


class Tool(Struct, frozen=True):
    """A tool. `properties` are the JSON schemas of its inputs by name; `required` names those that must be given. A
    reading tool has `run`, which returns the result; a writing one has `plan`, so that the user can be asked first."""

    name: str
    description: str
    properties: Mapping[str, Json]
    run: Callable[[Workspace, Mapping[str, Json]], str] | None = None
    required: tuple[str, ...] = ()
    plan: Callable[[Workspace, Mapping[str, Json]], PlannedWrite] | None = None

    @property
    def writes(self) -> bool:
        """Whether it changes something: the user is asked first."""
        return self.plan is not None

    def definition(self) -> Json:
        """The tool as a request offers it (Anthropic's form; other dialects are made from it)."""
        schema = {"type": "object", "properties": dict(self.properties), "required": list(self.required)}
        return {"name": self.name, "description": self.description, "input_schema": schema}


_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str, "integer": int, "boolean": bool, "number": (int, float), "array": list, "object": Mapping,
}  # fmt: skip


def checked(tool: Tool, given: Json) -> dict[str, Json]:
    """The input of a call, held against the tool's schema. Raises `BadInput` naming what is wrong."""
    if not isinstance(given, Mapping):
        raise BadInput("the input is no JSON object", place=tool.name)
    for name in tool.required:
        if name not in given:
            raise BadInput(f"{name} is missing", place=tool.name)
    found: dict[str, Json] = {}
    for name, value in given.items():
        schema = tool.properties.get(name)
        if schema is None:
            raise BadInput(f"no such input: {name}", place=tool.name, way_out=f"it takes {', '.join(tool.properties)}")
        wanted = _TYPES.get(str(schema.get("type")), object)
        if not isinstance(value, wanted) or (wanted in (int, _TYPES["number"]) and isinstance(value, bool)):
            raise BadInput(f"{name} must be of type {schema['type']}", place=tool.name)
        found[name] = value
    return found


def shortened(text: str, way_out: str) -> str:
    """`text` cut to what a result may hold, with a line that says so and `way_out`."""
    if len(text) <= MOST:
        return text
    kept = text[:MOST].rpartition("\n")[0] or text[:MOST]
    return f"{kept}\n[{len(text) - len(kept):,} more characters are not shown; {way_out}]"
