"""Reads tool definitions and calls in any dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.block import Block
from ctxtui.core.block_content import read_value
from ctxtui.core.canonical import Json

PREFIXING_CLIENTS: Final = frozenset({"claude code", "codex"})
"""Clients that put the MCP server in a tool's name; a tool without a server in its name is the client's own."""

_NAME: Final = re.compile(rb'\{"type":"(?:tool_use|function_call)",(?:"\w+":"[^"\\]*",){0,3}"name":"([\w.:/-]+)"')
"""The name in a call's canonical JSON; faster than parsing it."""
_SERVER: Final = ("namespace", "server_name", "mcp_server_name", "server_label", "toolset_name")
"""Keys that name the server of a tool or a call (facts §1, §4)."""
_LISTS: Final = ("tools", "allowed_tools")
_VERSION: Final = re.compile(r"(_use)?(_preview)?(_\d{4}_\d\d_\d\d)?$")
"""The end of the type of a provider's own tool, which its calls lack: ``web_search_preview_2025_03_11``."""
_MCP: Final = re.compile(rb'"(?:server_name|mcp_server_name|server_label|toolset_name)":|"type":"mcp')
"""Signs in JSON that a server is an MCP server."""
_REFERENCE: Final = re.compile(
    rb'"type":"tool_reference","tool_name":"([^"\\]+)"|"tool_name":"([^"\\]+)","type":"tool_reference"'
)
"""A reference to a tool in a search's result."""


class ToolDefinition(NamedTuple):
    """One definition in a block, with its share (0 to 1) of the block's tokens.

    `deferred`: it is not part of the prompt until the model finds it. A `server` "" is unnamed; a `name` "" means
    all tools of a server that the request does not list.
    """

    server: str
    name: str
    share: float
    deferred: bool


def read_definitions(block: Block) -> Iterator[ToolDefinition]:
    """Yield the definitions in a block of the tools category."""
    value = block.value()
    rows = list(_walk_definitions(value, "", False))
    total_chars = sum(size for *_, size in rows) or 1
    for server, name, deferred, size in rows:
        own_server, plain = split_name(name)
        yield ToolDefinition(server or own_server, plain if own_server else name, size / total_chars, deferred)


def _walk_definitions(value: Json, server: str, deferred: bool) -> Iterator[tuple[str, str, bool, int]]:
    """Yield (server, name, deferred, characters) for each definition in `value`."""
    if not isinstance(value, Mapping):
        return
    inner = value.get("function", value.get("tool", value.get("definition")))
    inner = inner if isinstance(inner, Mapping) else value
    kind = str(value.get("type", ""))
    if kind == "namespace":
        server = strip_server_prefix(str(value.get("name", "")))
    else:
        server = next((strip_server_prefix(str(value[key])) for key in _SERVER if value.get(key)), server)
    config = value.get("default_config")
    deferred = bool(
        value.get("defer_loading", config.get("defer_loading") if isinstance(config, Mapping) else deferred)
    )
    listed = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if listed is not None:
        for item in listed:
            yield from _walk_definitions(item if isinstance(item, Mapping) else {"name": item}, server, deferred)
        return
    if inner is not value:
        yield from _walk_definitions(inner, server, deferred)
        return
    unlisted = kind in ("mcp", "mcp_toolset")
    name = "" if unlisted else str(value.get("name") or _VERSION.sub("", kind))
    yield server, name, deferred, len(canonical.dumps(value))


def read_called_tool(block: Block) -> tuple[str, str]:
    """(server, name) of a tool call; the server is "" if the call does not name one."""
    # Decoding all calls of a long session for their names would take longer than a frame.
    quick = _NAME.match(block.body)
    if quick and not any(f'"{key}"'.encode() in block.body for key in _SERVER):
        server, name = split_name(quick[1].decode())
        return server, name
    value = block.value()
    content = read_value(block.kind, value)
    server = next((str(value[key]) for key in _SERVER if value.get(key)), "") if isinstance(value, Mapping) else ""
    own_server, name = split_name(content.name)
    return strip_server_prefix(server) or own_server, name if own_server else content.name


class UncalledTools:
    """Finds definitions without a called tool; blocks are added in any order."""

    def __init__(self) -> None:
        self._tools: dict[str, list[tuple[str, str]]] = {}
        """By the digest of a block: server and name of each tool that it defines."""
        self._called: set[tuple[str, str]] = set()

    def add_definitions(self, block: Block) -> None:
        self._tools[block.digest] = [(tool.server, tool.name) for tool in read_definitions(block)]

    def add_call(self, block: Block) -> None:
        self._called.add(read_called_tool(block))

    def find(self) -> set[str]:
        """The digests of the definitions without a called tool."""
        defined = {tool for tools in self._tools.values() for tool in tools}
        # A call or a definition may leave out the server.
        unplaced = {name for server, name in self._called if (server, name) not in defined}
        servers = {server for server, _ in self._called}

        def is_called(server: str, name: str) -> bool:
            return (server, name) in self._called or name in unplaced or (not name and server in servers)

        return {digest for digest, tools in self._tools.items() if not any(is_called(*tool) for tool in tools)}


def read_referenced_tools(block: Block) -> list[str]:
    """Tools named by a search's result: their definitions are read from then on."""
    if b"tool_reference" not in block.body:
        return []
    return [(first or second).decode("utf-8", "replace") for first, second in _REFERENCE.findall(block.body)]


def is_mcp(block: Block, server: str) -> bool:
    """Whether a definition or call shows that `server` is an MCP server.

    A server's name alone is no proof: some clients also group their own tools under one.
    """
    return canonical.dumps(f"mcp__{server}")[:-1] in block.body or _MCP.search(block.body) is not None


def split_name(name: str) -> tuple[str, str]:
    """Split a name such as ``mcp__puppeteer__navigate`` into MCP server ("": none) and tool."""
    parts = name.split("__", 2)
    return (parts[1], parts[2]) if name.startswith("mcp__") and len(parts) == 3 and parts[2] else ("", name)


def strip_server_prefix(name: str) -> str:
    """Name of a server without the clients' prefix: ``mcp__github`` is ``github``."""
    return name.removeprefix("mcp__").removesuffix("__")
