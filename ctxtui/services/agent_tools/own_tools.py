"""The user's own tools: found in files and packages, asked for as any tool is, run in this process."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ctxtui.agent.child import AGENT, Caller, OwnTool
from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.command_tool import RUN_COMMAND
from ctxtui.agent.tools.read_tools import NAME as RECALL
from ctxtui.agent.tools.registry import TOOLS
from ctxtui.agent.tools.tool import BadInput, PlannedCall, check_input, shorten
from ctxtui.core.canonical import Json, dump_text
from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.services.config import plugins

_OURS = frozenset({*(tool.name for tool in TOOLS), RECALL, RUN_COMMAND.name})


class OwnTools:
    """The `tools` that the user wrote; `caller` is what they may ask for, None before the chat has begun."""

    def __init__(self, tools: Iterable[OwnTool]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.caller: Caller | None = None

    @property
    def definitions(self) -> list[Json]:
        """The tools as a request offers them (Anthropic's form)."""
        return [tool.definition.definition() for tool in self.tools.values()]

    def plan(self, call: ToolCall) -> PlannedCall | ToolResult:
        """What the user is asked; or what the model is told where the call cannot be done."""
        try:
            given = _plain(check_input(self.tools[call.name].definition, call.input))
        except BadInput as error:
            return ToolResult(call.id, str(error), is_error=True)
        if call.name == AGENT:
            return PlannedCall("a sub-agent", "with the tools that need no leave; what it costs counts here", given)
        return PlannedCall(call.name, "a tool of your own, runs in this process, not confined", given)

    async def run(self, call: ToolCall) -> ToolResult:
        """Do `call`. What goes wrong is the result."""
        tool, caller = self.tools[call.name], self.caller
        try:
            if caller is None:
                raise CtxtuiError("the chat has not begun")
            given = _plain(check_input(tool.definition, call.input))
            if inspect.iscoroutinefunction(tool.run):
                text = await tool.run(given, caller)
            else:
                made = await asyncio.to_thread(tool.run, given, caller)
                text = await made if inspect.isawaitable(made) else made
            return ToolResult(call.id, shorten(str(text), "ask for less") or "(nothing)")
        except CtxtuiError as error:
            return ToolResult(call.id, str(error), is_error=True)
        except Exception as error:  # noqa: BLE001 - the user's code: its fault is told to the model; the chat goes on
            why = plugins.reason(error, inspect.getsourcefile(inspect.unwrap(tool.run)) or "")
            return ToolResult(call.id, f"the tool failed: {why}", is_error=True)


def _plain(given: Mapping[str, Json]) -> dict[str, Json]:
    """The input with numbers as Python has them."""
    found: dict[str, Json] = json.loads(dump_text(dict(given)))
    return found


def own_tools(files: Sequence[Path] = (), more: Sequence[OwnTool] = ()) -> tuple[OwnTool, ...]:
    """The tools in the user's folder ``tools`` and of packages (`plugins`), then those of `files`, then `more`. Raises
    `BadConfig` for a file that gives none, and for two tools of one name; a part of the folder that gives none is left
    out, and that is said as for other parts."""
    found: list[tuple[str, OwnTool]] = []
    for part in plugins.plugins(plugins.TOOLS):
        if not part.trouble:
            found += [(part.place, tool) for tool in _of_part(part)]
    for path in files:
        part = plugins.from_file(plugins.TOOLS, path)
        if part.trouble:
            raise BadConfig(part.trouble, place=part.place)
        tools = _tools_in(part.value)
        if tools is None:
            raise BadConfig("it has no TOOLS, a list of `OwnTool`", place=part.place, way_out="see docs/plugins.md")
        found += [(part.place, tool) for tool in tools]
    found += [("the tools that are given", tool) for tool in more]
    seen: dict[str, str] = {}
    for place, tool in found:
        if tool.name in _OURS or tool.name in seen:
            other = f"of {seen[tool.name]}" if tool.name in seen else "of ctxtui"
            raise BadConfig(f"there is a tool {tool.name} {other} already", place=place, way_out="give it another name")
        seen[tool.name] = place
    return tuple(tool for _, tool in found)


def _of_part(part: plugins.Plugin) -> tuple[OwnTool, ...]:
    tools = _tools_in(part.value)
    if tools is None:
        plugins.blame(part.place, "tools are a list of `OwnTool` called TOOLS")
    return tools or ()


def _tools_in(value: object) -> tuple[OwnTool, ...] | None:
    """The tools of a module, or of what an entry point names; None where it has none."""
    given = getattr(value, "TOOLS", value)
    tools = (given,) if isinstance(given, OwnTool) else given
    if not isinstance(tools, list | tuple) or not tools or not all(isinstance(one, OwnTool) for one in tools):
        return None
    return tuple(tools)
