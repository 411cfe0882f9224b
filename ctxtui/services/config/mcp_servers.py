"""MCP servers as the user's configuration and the project's ``.mcp.json`` write them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core.errors import BadConfig
from ctxtui.services.config.config import Config, look_up

_TEXTS: Final = ("command", "cwd", "url", "type")
_TABLES: Final = ("env", "headers")
_KEYS: Final = (*_TEXTS, *_TABLES, "args", "timeout", "enabled", "allow")
_SSE: Final = "sse"
_REMOTE: Final = ("http", "streamable-http", _SSE)
_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


class McpServer(Struct, frozen=True, kw_only=True):
    """One server as it is written. It is a `command` with `args`, spoken to over stdio, or it is at a `url` (`sse`: it
    speaks the transport of before 2025). `env` and `headers` are added to what it gets; ``${NAME}`` stands for a
    variable. `timeout` is the seconds that a call may take. Only what is `enabled` starts by itself; the tools that
    `allow` names (or patterns) need no leave. `place` is the file that names it; where that belongs to a `project` (its
    folder, "": it is the user's own) it starts nothing before it was asked."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    sse: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 60.0
    enabled: bool = True
    allow: tuple[str, ...] = ()
    place: str = ""
    project: str = ""

    @property
    def told(self) -> str:
        """What is started, as it is written: nothing of it is left out."""
        if self.url:
            headers = "".join(f" {name}: {value}" for name, value in self.headers.items())
            return f"{self.url}{headers}"
        env = "".join(f"{name}={value} " for name, value in self.env.items())
        inside = f" (in {self.cwd})" if self.cwd else ""
        return f"{env}{' '.join((self.command, *self.args))}{inside}"

    @property
    def digest(self) -> str:
        """Names its content: leave that was given holds for this, and for nothing else."""
        said = [self.name, self.command, self.args, dict(self.env), self.cwd, self.url, dict(self.headers)]
        said += [_SSE] if self.sse else []
        return hashlib.sha256(json.dumps([*said, self.project], sort_keys=True).encode()).hexdigest()

    def filled(self, env: Mapping[str, str]) -> McpServer:
        """The same with the values of variables. Raises `BadConfig` for one that is not set."""
        fill = self._filler(env)
        return replace(
            self,
            command=fill(self.command),
            args=tuple(map(fill, self.args)),
            env={name: fill(value) for name, value in self.env.items()},
            cwd=fill(self.cwd),
            url=fill(self.url),
            headers={name: fill(value) for name, value in self.headers.items()},
        )

    def _filler(self, env: Mapping[str, str]) -> Callable[[str], str]:
        def one(found: re.Match[str]) -> str:
            value: str | None = env.get(found[1], found[2])
            if value is None:
                way_out = f"set {found[1]}, or write ${{{found[1]}:-DEFAULT}}"
                raise BadConfig(f"{found[1]}, which the MCP server {self.name} asks for, is not set", way_out=way_out)
            return value

        return lambda text: _VARIABLE.sub(one, text)


def parse_server(name: str, value: Any, place: str = "", project: str = "") -> McpServer:
    """A server from its JSON or TOML table. Raises `BadConfig` with its place."""

    def wrong(why: str) -> BadConfig:
        return BadConfig(f"mcp server {name!r}: {why}", place=place, way_out="it has command and args, or url")

    if not isinstance(value, Mapping):
        raise wrong("not a table")
    odd = next((key for key in value if key not in _KEYS), None)
    if odd is not None and not project:
        raise wrong(f"no such key: {odd}")
    for key in _TEXTS:
        if not isinstance(value.get(key, ""), str):
            raise wrong(f"{key} must be a text")
    for key in _TABLES:
        table = value.get(key, {})
        if not isinstance(table, Mapping) or not all(isinstance(one, str) for one in table.values()):
            raise wrong(f"{key} must be a table of texts")
    args, allow, timeout = value.get("args", []), value.get("allow", []), value.get("timeout", 60)
    for key, listed in (("args", args), ("allow", allow)):
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise wrong(f"{key} must be a list of texts")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise wrong("timeout must be a number of seconds")
    kind = value.get("type", "")
    trouble = _no_way(kind, bool(value.get("command")), bool(value.get("url")))
    if trouble:
        raise wrong(trouble)
    return McpServer(
        name=name,
        args=tuple(args),
        # A project gives its own tools no leave.
        allow=() if project else tuple(allow),
        env=dict(value.get("env", {})),
        headers=dict(value.get("headers", {})),
        timeout=float(timeout),
        enabled=value.get("enabled", True) is not False,
        place=place,
        project=project,
        sse=kind == _SSE,
        **{key: str(value.get(key, "")) for key in ("command", "cwd", "url")},
    )


def _no_way(kind: str, command: bool, url: bool) -> str:
    """Why there is no way to a server of this type; "" where there is one."""
    if kind == "ws":
        return f"type {kind} is not spoken"
    if command == url or kind not in ("", "stdio", *_REMOTE):
        return "it needs a command or a url"
    return f"type {kind} needs a url" if kind in _REMOTE and not url else ""


def checked(value: Any) -> dict[str, Any]:
    """The setting ``mcp``: a table of servers by name, as it is written. Raises `ValueError`."""
    if not isinstance(value, Mapping):
        raise ValueError('a table of servers, such as {fs = {command = "npx", args = ["server"]}}')
    for name, table in value.items():
        parse_server(str(name), table, f"mcp.{name}")
    return {str(name): dict(table) for name, table in value.items()}


PROJECT_FILE: Final = ".mcp.json"
"""A project's list of servers, as Claude Code writes it (facts §8)."""


def servers(config: Config, cwd: Path) -> list[McpServer]:
    """The servers of the user's configuration, then those of the project in `cwd` or above it. A project's server with
    the name of one of the user's own is left out. Raises `BadConfig`."""
    found: dict[str, McpServer] = {}
    for name, table in config.settings.mcp.items():
        setting = f"mcp.{name}"
        origin = config.origins.get(setting)
        place = origin.place if origin is not None else ""
        project = str(Path(place.rpartition(":")[0]).parent) if config.from_project(setting) else ""
        found[name] = parse_server(name, table, place, project)
    for name, server in _of_project(cwd).items():
        found.setdefault(name, server)
    return list(found.values())


def _of_project(cwd: Path) -> dict[str, McpServer]:
    path, _ = look_up(cwd, PROJECT_FILE)
    if path is None:
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfig(f"cannot be read: {error.strerror}", place=str(path)) from error
    except ValueError as error:
        raise BadConfig(f"no valid JSON: {error}", place=str(path)) from error
    listed = data.get("mcpServers") if isinstance(data, Mapping) else None
    if not isinstance(listed, Mapping):
        raise BadConfig("no mcpServers", place=str(path), way_out='it is {"mcpServers": {NAME: {"command": ...}}}')
    folder = os.path.realpath(path.parent)
    return {str(name): parse_server(str(name), _without_units(one), str(path), folder) for name, one in listed.items()}


def _without_units(value: Any) -> Any:
    """In ``.mcp.json`` a timeout is in milliseconds (facts §8)."""
    if isinstance(value, Mapping) and isinstance(value.get("timeout"), int) and value["timeout"] > 0:
        return {**value, "timeout": value["timeout"] / 1000}
    return value
