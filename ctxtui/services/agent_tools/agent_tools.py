"""Everything that the agent of a chat may use: tools that work in the folder, commands, and tools of MCP servers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.agent.child import Caller, OwnTool
from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.command_tool import RUN_COMMAND
from ctxtui.agent.tools.read_tools import Contents
from ctxtui.agent.tools.tool import Planned, PlannedCall, PlannedWrite, Tool
from ctxtui.core.canonical import Json
from ctxtui.curation.apply.references import expand_value
from ctxtui.services.agent_tools.agent_commands import AgentCommands
from ctxtui.services.agent_tools.own_tools import OwnTools
from ctxtui.services.agent_tools.tool_process import ToolProcess
from ctxtui.services.config.config import Config
from ctxtui.services.config.mcp_servers import servers
from ctxtui.services.config.paths import data_dir, log_dir
from ctxtui.services.editing.overlay import ThreadEdits
from ctxtui.services.mcp.server_pool import ServerLeave, ServerPool


class AgentTools(Struct, eq=False):
    """The tools in the folder (`files`), `commands` there, the user's `own` ones, and those of the running `servers`.
    `offered` are the definitions of the first two, `known` gives what stands outside of the conversation: a reference
    to it in a tool's input is replaced by its content. Only those that `wanted` names are there (the setting
    ``tools``); `images` is the setting ``mcp_images``. With `only` there are no others than these: they are lent to a
    sub-agent, and the servers are not its own."""

    files: ToolProcess
    commands: AgentCommands
    servers: ServerPool
    offered: Sequence[Json]
    known: Contents
    own: OwnTools
    wanted: str = ""
    images: str = "auto"
    only: frozenset[str] | None = None

    def lent(self, names: frozenset[str], caller: Caller) -> AgentTools:
        """The tools `names` of these for a sub-agent, which works in a process of its own."""
        own = OwnTools(tool for tool in self.own.tools.values() if tool.name in names)
        own.caller = caller
        files = self.files.another()
        return AgentTools(files, self.commands, self.servers, self.offered, self.known, own, only=names)

    @property
    def definitions(self) -> list[Json]:
        """The tools as a request offers them (Anthropic's form): ours first, so that servers that come and go leave
        the front of the prompt as it is."""
        return self.definitions_with(self.servers.offered)

    def definitions_with(self, servers: Collection[str]) -> list[Json]:
        """The same if the tools of these MCP servers were offered."""
        found = [*self.offered, *self.own.definitions, *self.servers.definitions_of(servers)]
        return [one for one in wanted_of(found, self.wanted) if self.only is None or _name(one) in self.only]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools."""
        return tuple(str(one["name"]) for one in self.definitions)

    def asks(self, name: str) -> bool:
        """Whether the user is asked before this tool runs."""
        if name == RUN_COMMAND.name:
            return True
        if name in self.own.tools:
            return self.own.tools[name].asks
        return self.servers.asks(name) if self.servers.holds(name) else self.files.asks(name)

    async def plan(self, call: ToolCall) -> Planned | ToolResult:
        """What `call` would do; or what the model is told where it cannot be done."""
        if self._is_left_out(call.name):
            return self._missing(call)
        if self.servers.holds(call.name):
            return self.servers.plan(self._expanded(call))
        if call.name in self.own.tools:
            return self.own.plan(self._expanded(call))
        if call.name == RUN_COMMAND.name:
            return await self.commands.plan(call)
        return await self.files.plan(call)

    async def run(self, call: ToolCall, planned: Planned | None = None) -> ToolResult:
        """Do `call`, as it was `planned`. What goes wrong is the result."""
        if self._is_left_out(call.name):
            return self._missing(call)
        if call.name in self.own.tools:
            return await self.own.run(self._expanded(call))
        if self.servers.holds(call.name):
            # What the user has seen is what the server gets.
            given = planned.given if isinstance(planned, PlannedCall) else self._expanded(call).input
            return await self.servers.run(replace(call, input=given))
        if call.name == RUN_COMMAND.name:
            return await self.commands.run(call)
        return await self.files.run(call, planned if isinstance(planned, PlannedWrite) else None)

    def meet(self, *, local: bool) -> None:
        """Another model answers from now on: images of servers are for those that are known to see, which of a `local`
        server's nobody is."""
        self.servers.sees = self.images == "on" or (self.images == "auto" and not local)

    async def close(self) -> None:
        """Nothing runs any more."""
        await self.files.close()
        if self.only is None:
            await self.servers.close()

    def _is_left_out(self, name: str) -> bool:
        other = self.only is not None and name not in self.only
        return other or not wanted_of([{"name": name}], self.wanted)

    def _missing(self, call: ToolCall) -> ToolResult:
        return ToolResult(call.id, f"There is no tool {call.name!r}; there are {', '.join(self.names)}.", is_error=True)

    def _expanded(self, call: ToolCall) -> ToolCall:
        return replace(call, input=expand_value(call.input, self.known()))


def wanted_of(definitions: Iterable[Json], wanted: str) -> list[Json]:
    """Those of the tools `definitions` whose names fit a name or pattern in `wanted` ("": all), in each of its lists
    where there are several (``&`` between: a project's is beside the user's)."""
    lists = [patterns for part in wanted.split("&") if (patterns := part.split())]
    return [one for one in definitions if all(any(fnmatchcase(_name(one), each) for each in some) for some in lists)]


def _name(definition: Json) -> str:
    return str(definition.get("name")) if isinstance(definition, dict) else ""


class Outside(NamedTuple):
    """What stands outside of a conversation: `known` gives it by name, `overlay` where it is put on record."""

    known: Contents
    overlay: Callable[[], ThreadEdits | None]

    def keep(self, name: str, text: str) -> None:
        """Put what is too long for the conversation on record, as an artifact of the session."""
        overlay = self.overlay()
        if overlay is not None:
            overlay.keep(name, text.encode())


def tools_for(
    config: Config,
    cwd: Path,
    outside: Outside,
    offered: Sequence[Json],
    kept: Sequence[Tool] = (),
    own: Sequence[OwnTool] = (),
) -> AgentTools:
    """The tools of a chat in `cwd`, with those that keep memory (`kept`) and the user's `own`; no server is started
    yet. `offered` are the definitions of all but the last two. Raises `BadConfig` for a server that is spelled
    wrongly, `NotFound` for one that is wanted and not there."""
    settings = config.settings
    leave = ServerLeave(data_dir(settings.data_dir))
    logs, plain = log_dir() / "mcp", settings.key_over_http
    pool = ServerPool(servers(config, cwd), leave, logs, wanted=settings.mcp_servers, key_over_http=plain)
    commands = AgentCommands(cwd, settings, outside.keep)

    def known() -> dict[str, str]:
        return {**outside.known(), **commands.kept}

    return AgentTools(
        ToolProcess(cwd, known, own=kept),
        commands,
        pool,
        offered,
        known,
        own=OwnTools(own),
        wanted=settings.tools,
        images=settings.mcp_images,
    )
