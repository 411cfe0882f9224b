"""The tools of a chat's agent, dispatched by name: files, commands, own tools, MCP servers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from ctxtui.services.config.mcp_servers import load_servers
from ctxtui.services.config.paths import data_dir, log_dir
from ctxtui.services.editing.overlay import ThreadEdits
from ctxtui.services.mcp.server_pool import ServerPermissions, ServerPool


class AgentTools(Struct, eq=False):
    """All tools that an agent may call.

    - `base_definitions`: definitions of the tools in `files` (with memory) and `commands`.
    - `external`: gives content by name, which replaces references in a tool's input.
    - `enabled`: name patterns of the setting ``tools``; `images`: the setting ``mcp_images``.
    - `only`: a sub-agent's tools are limited to these names, and the servers stay the parent's; None: no sub-agent.
    """

    files: ToolProcess
    commands: AgentCommands
    servers: ServerPool
    base_definitions: Sequence[Json]
    external: Contents
    own: OwnTools
    enabled: str = ""
    images: str = "auto"
    only: frozenset[str] | None = None

    def for_sub_agent(self, names: frozenset[str], caller: Caller, contents: Contents) -> AgentTools:
        """Select the tools `names` for a sub-agent, whose conversation has `contents` by name."""

        def external() -> Mapping[str, str]:
            return {**self.external(), **contents()}

        own_tools_ = OwnTools(tool for tool in self.own.tools.values() if tool.name in names)
        own_tools_.caller = caller
        return replace(self, files=self.files.copy(external), external=external, own=own_tools_, only=names)

    @property
    def definitions(self) -> list[Json]:
        """Tool definitions of a request (Anthropic's form)."""
        return self.definitions_with(self.servers.offered)

    def definitions_with(self, servers: Collection[str]) -> list[Json]:
        """Tool definitions as they would be with the tools of these MCP servers."""
        # ctxtui's own come first, so that the beginning of the prompt stays when servers start or stop. Calls to a name
        # that the user and a server have go to the user's own tool.
        of_servers = [tool for tool in self.servers.definitions(servers) if _name_of(tool) not in self.own.tools]
        definitions = [*self.base_definitions, *self.own.definitions, *of_servers]
        return [
            definition
            for definition in select_enabled(definitions, self.enabled)
            if self.only is None or _name_of(definition) in self.only
        ]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(definition["name"]) for definition in self.definitions)

    def asks(self, name: str) -> bool:
        """Whether the tool `name` needs the user's permission."""
        if name == RUN_COMMAND.name:
            return True
        if name in self.own.tools:
            return self.own.tools[name].asks
        return self.servers.needs_permission(name) if self.servers.has_tool(name) else self.files.needs_permission(name)

    async def plan(self, call: ToolCall) -> Planned | ToolResult:
        """Plan `call` to ask for permission; an error result if it cannot run."""
        if self._is_unavailable(call.name):
            return self._unknown_tool(call)
        if call.name in self.own.tools:
            return self.own.plan(self._expand(call))
        if self.servers.has_tool(call.name):
            return self.servers.plan(self._expand(call))
        if call.name == RUN_COMMAND.name:
            return await self.commands.plan(call)
        return await self.files.plan(call)

    async def run(self, call: ToolCall, planned: Planned | None = None) -> ToolResult:
        """Run `call` as `planned`; failures are error results for the model."""
        if self._is_unavailable(call.name):
            return self._unknown_tool(call)
        if call.name in self.own.tools:
            return await self.own.run(self._expand(call))
        if self.servers.has_tool(call.name):
            # The server gets exactly the input that the user was shown.
            input_ = planned.input if isinstance(planned, PlannedCall) else self._expand(call).input
            return await self.servers.run(replace(call, input=input_))
        if call.name == RUN_COMMAND.name:
            return await self.commands.run(call)
        return await self.files.run(call, planned if isinstance(planned, PlannedWrite) else None)

    def adjust_to_model(self, *, local: bool) -> None:
        """Decide by `images` whether a model gets the servers' images.

        With ``auto``, that of a `local` server does not: it may not see them.
        """
        self.servers.sees = self.images == "on" or (self.images == "auto" and not local)

    async def close(self) -> None:
        """End the tool process, and the servers unless they belong to another agent."""
        await self.files.close()
        if self.only is None:
            await self.servers.close()

    def _is_unavailable(self, name: str) -> bool:
        not_lent = self.only is not None and name not in self.only
        return not_lent or not select_enabled([{"name": name}], self.enabled)

    def _unknown_tool(self, call: ToolCall) -> ToolResult:
        return ToolResult(call.id, f"There is no tool {call.name!r}; there are {', '.join(self.names)}.", is_error=True)

    def _expand(self, call: ToolCall) -> ToolCall:
        return replace(call, input=expand_value(call.input, self.external()))


def select_enabled(definitions: Iterable[Json], enabled: str) -> list[Json]:
    """Select the tools whose names match a pattern of each list in `enabled`.

    The lists are joined by ``&``; "" selects all tools.
    """
    lists = [names for part in enabled.split("&") if (names := part.split())]
    return [
        definition
        for definition in definitions
        if all(any(fnmatchcase(_name_of(definition), pattern) for pattern in alternatives) for alternatives in lists)
    ]


def _name_of(definition: Json) -> str:
    return str(definition.get("name")) if isinstance(definition, dict) else ""


class ExternalContent(NamedTuple):
    """Content outside of a conversation, by name.

    `overlay` returns the thread's edits, which store more of it.
    """

    contents: Contents
    overlay: Callable[[], ThreadEdits | None]

    def keep(self, name: str, text: str) -> None:
        """Store an overlong `text` as the artifact `name` of the session, if its edits are open."""
        overlay = self.overlay()
        if overlay is not None:
            overlay.keep_artifact(name, text.encode())


def tools_for(
    config: Config,
    cwd: Path,
    external: ExternalContent,
    base_definitions: Sequence[Json],
    memory: Sequence[Tool] = (),
    own: Sequence[OwnTool] = (),
) -> AgentTools:
    """Build the tools of a chat in `cwd`; no server is started yet.

    `base_definitions` are those of all but `own` and servers' tools. Raises `BadConfig` for a misspelled server,
    `NotFound` for a requested one that is not configured.
    """
    settings = config.settings
    permissions = ServerPermissions(data_dir(settings.data_dir))
    logs, key_over_http = log_dir() / "mcp", settings.key_over_http
    pool = ServerPool(
        load_servers(config, cwd), permissions, logs, requested=settings.mcp_servers, key_over_http=key_over_http
    )
    commands = AgentCommands(cwd, settings, external.keep)

    def all_contents() -> dict[str, str]:
        return {**external.contents(), **commands.outputs}

    return AgentTools(
        ToolProcess(cwd, all_contents, memory=memory),
        commands,
        pool,
        base_definitions,
        all_contents,
        own=OwnTools(own),
        enabled=settings.tools,
        images=settings.mcp_images,
    )
