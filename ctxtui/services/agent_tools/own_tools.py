"""The user's own tools, loaded from files and packages and run in this process."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ctxtui.agent.child import AGENT, Caller, OwnTool
from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.command_tool import RUN_COMMAND
from ctxtui.agent.tools.memory_tools import NAMES as MEMORY_NAMES
from ctxtui.agent.tools.read_tools import NAME as RECALL
from ctxtui.agent.tools.registry import TOOLS
from ctxtui.agent.tools.tool import BadInput, PlannedCall, check_input, shorten
from ctxtui.core.canonical import Json, dump_text
from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.services.config import plugins

RESERVED_NAMES = frozenset({*(tool.name for tool in TOOLS), RECALL, RUN_COMMAND.name, *MEMORY_NAMES})
"""Names of ctxtui's tools, which a user's tool must not have."""


class OwnTools:
    """The `tools` that the user wrote.

    `caller` lets them use the chat (None before it has begun).
    """

    def __init__(self, tools: Iterable[OwnTool]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.caller: Caller | None = None

    @property
    def definitions(self) -> list[Json]:
        return [tool.definition.definition() for tool in self.tools.values()]

    def plan(self, call: ToolCall) -> PlannedCall | ToolResult:
        """Describe `call` to ask for permission; an error result for bad input."""
        try:
            input_ = _plain_numbers(check_input(self.tools[call.name].definition, call.input))
        except BadInput as error:
            return ToolResult(call.id, str(error), is_error=True)
        if call.name == AGENT:
            return PlannedCall(
                "a sub-agent", "with tools that need no permission or have it; its cost counts in this session", input_
            )
        return PlannedCall(call.name, "your own tool; runs in this process, not confined", input_)

    async def run(self, call: ToolCall) -> ToolResult:
        """Run the tool, in a thread if it is no coroutine; failures are error results."""
        tool, caller = self.tools[call.name], self.caller
        try:
            if caller is None:
                raise CtxtuiError("the chat has not started")
            input_ = _plain_numbers(check_input(tool.definition, call.input))
            if inspect.iscoroutinefunction(tool.run):
                text = await tool.run(input_, caller)
            else:
                result = await asyncio.to_thread(tool.run, input_, caller)
                text = await result if inspect.isawaitable(result) else result
            return ToolResult(call.id, shorten(str(text), "ask for less") or "(nothing)")
        except CtxtuiError as error:
            return ToolResult(call.id, str(error), is_error=True)
        except Exception as error:  # noqa: BLE001 - the user's code: its error goes to the model and the chat goes on
            code = getattr(inspect.unwrap(tool.run), "__code__", None)
            why = plugins.error_text(error, code.co_filename if code is not None else "")
            return ToolResult(call.id, f"the tool failed: {why}", is_error=True)


def _plain_numbers(input_: Mapping[str, Json]) -> dict[str, Json]:
    # Numbers of JSON keep their literals; a user's code expects plain ones.
    plain: dict[str, Json] = json.loads(dump_text(dict(input_)))
    return plain


def own_tools(files: Sequence[Path] = (), more: Sequence[OwnTool] = ()) -> tuple[OwnTool, ...]:
    """Load the user's tools: plug-ins, those of `files`, then `more`.

    Raises `BadConfig` for one of `files` without tools, and for a name that another tool has.
    """
    loaded: list[tuple[str, OwnTool]] = []
    for part in plugins.plugins(plugins.TOOLS):
        tools = None if part.trouble else _find_tools(part.value)
        if tools is None and not part.trouble:
            plugins.report_trouble(part.place, "tools are a list of `OwnTool` called TOOLS")
        loaded += [(part.place, tool) for tool in tools or ()]
    for path in files:
        part = plugins.from_file(plugins.TOOLS, path)
        if part.trouble:
            raise BadConfig(part.trouble, place=part.place)
        tools = _find_tools(part.value)
        if tools is None:
            raise BadConfig("it has no TOOLS, a list of `OwnTool`", place=part.place, way_out="see docs/plugins.md")
        loaded += [(part.place, tool) for tool in tools]
    loaded += [("the tools that are given", tool) for tool in more]
    place_by_name: dict[str, str] = {}
    for place, tool in loaded:
        if tool.name in RESERVED_NAMES or tool.name in place_by_name:
            first_place = f"of {place_by_name[tool.name]}" if tool.name in place_by_name else "of ctxtui"
            raise BadConfig(
                f"there is a tool {tool.name} {first_place} already", place=place, way_out="give it another name"
            )
        place_by_name[tool.name] = place
    return tuple(tool for _, tool in loaded)


def _find_tools(value: object) -> tuple[OwnTool, ...] | None:
    """The tools of a module or an entry point; None if it has none."""
    value_tools = getattr(value, "TOOLS", value)
    tools = (value_tools,) if isinstance(value_tools, OwnTool) else value_tools
    if not isinstance(tools, list | tuple) or not tools or not all(isinstance(tool, OwnTool) for tool in tools):
        return None
    return tuple(tools)
