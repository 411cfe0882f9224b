"""MCP servers from the configuration and the project's ``.mcp.json``."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core.errors import BadConfig
from ctxtui.services.config.config import Config, find_upwards

_TEXTS: Final = ("command", "cwd", "url", "type")
_TABLES: Final = ("env", "headers")
_KEYS: Final = (*_TEXTS, *_TABLES, "args", "timeout", "enabled", "allow")
_MAX_TIMEOUT: Final = 10**6
_WAY_OUT: Final = "it has command and args, or url"
_STDIO: Final = "stdio"
_SSE: Final = "sse"
_REMOTE_TYPES: Final = ("http", "streamable-http", _SSE)
"""Values of ``type`` for a server at a `url`."""
_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
"""A variable in a configuration: ``${NAME}`` or ``${NAME:-default}``."""


class McpServer(Struct, frozen=True, kw_only=True):
    """An MCP server as configured.

    - `command`, `args`, `cwd`: a program that speaks over stdio.
    - `url`: the address of a remote server, which has no `command`; `sse`: it uses the older transport, HTTP with SSE.
    - `env`, `headers`: added to the program's environment or to the requests.
    - `timeout`: seconds per call.
    - `enabled`: whether it starts with a chat that does not name its servers.
    - `allow`: names or patterns of tools that need no permission; empty for a project's server.
    - `place`: the file that configures it.
    - `project`: the folder of the project that configures it ("": the user does). A project's server must be permitted
      before it starts.

    ``${NAME}`` in `command`, `args`, `cwd`, `url` and the values of `env` and `headers` stands for a variable
    (`expand_variables`).
    """

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
    def description(self) -> str:
        """The complete command or URL as configured."""
        if self.url:
            headers = "".join(f" {name}: {value}" for name, value in self.headers.items())
            return f"{self.url}{headers}"
        env = "".join(f"{name}={value} " for name, value in self.env.items())
        folder = f" (in {self.cwd})" if self.cwd else ""
        return f"{env}{' '.join((self.command, *self.args))}{folder}"

    @property
    def digest(self) -> str:
        """Digest of what is configured, except `timeout`, `enabled`, `allow` and `place`.

        A permission is valid for this digest only.
        """
        parts = [self.name, self.command, self.args, dict(self.env), self.cwd, self.url, dict(self.headers)]
        parts += [_SSE] if self.sse else []
        return hashlib.sha256(json.dumps([*parts, self.project], sort_keys=True).encode()).hexdigest()

    def expand_variables(self, env: Mapping[str, str]) -> McpServer:
        """The server with variables replaced by their values.

        Raises `BadConfig` for one that is not set.
        """

        def value_of(match: re.Match[str]) -> str:
            value: str | None = env.get(match[1], match[2])
            if value is None:
                way_out = f"set {match[1]}, or write ${{{match[1]}:-DEFAULT}}"
                raise BadConfig(f"{match[1]}, which the MCP server {self.name} asks for, is not set", way_out=way_out)
            return value

        def fill(text: str) -> str:
            return _VARIABLE.sub(value_of, text)

        return replace(
            self,
            command=fill(self.command),
            args=tuple(map(fill, self.args)),
            env={name: fill(value) for name, value in self.env.items()},
            cwd=fill(self.cwd),
            url=fill(self.url),
            headers={name: fill(value) for name, value in self.headers.items()},
        )


def parse_server(name: str, value: Any, place: str = "", project: str = "") -> McpServer:
    """Parse the JSON or TOML table of the server `name`. Raises `BadConfig`.

    `place` and `project` as in `McpServer`. With `project`, unknown keys are ignored: ``.mcp.json`` is written for
    other programs. (Those of a ``ctxtui.toml`` were refused by `check_servers`.)
    """

    def error(why: str, way_out: str = "") -> BadConfig:
        return BadConfig(f"mcp server {name!r}: {why}", place=place, way_out=way_out)

    if not isinstance(value, Mapping):
        raise error("not a table", _WAY_OUT)
    unknown = next((key for key in value if key not in _KEYS), None)
    if unknown is not None and not project:
        raise error(f"no such key: {unknown}", f"the keys are {', '.join(_KEYS)}")
    for key in _TEXTS:
        if not isinstance(value.get(key, ""), str):
            raise error(f"{key} must be a text")
    for key in _TABLES:
        table = value.get(key, {})
        if not isinstance(table, Mapping) or not all(isinstance(text, str) for text in table.values()):
            raise error(f"{key} must be a table of texts")
    args, allow, timeout = value.get("args", []), value.get("allow", []), value.get("timeout", 60)
    for key, texts in (("args", args), ("allow", allow)):
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise error(f"{key} must be a list of texts")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= _MAX_TIMEOUT:
        raise error(f"timeout must be more than 0 and at most {_MAX_TIMEOUT:,} seconds")
    type_ = value.get("type", "")
    problem = _transport_error(type_, bool(value.get("command")), bool(value.get("url")))
    if problem:
        raise error(problem, _WAY_OUT)
    return McpServer(
        name=name,
        args=tuple(args),
        # A project cannot permit its own tools.
        allow=() if project else tuple(allow),
        env=dict(value.get("env", {})),
        headers=dict(value.get("headers", {})),
        timeout=float(timeout),
        enabled=value.get("enabled", True) is not False,
        place=place,
        project=project,
        sse=type_ == _SSE,
        **{key: str(value.get(key, "")) for key in ("command", "cwd", "url")},
    )


def _transport_error(type_: str, has_command: bool, has_url: bool) -> str:
    if type_ not in ("", _STDIO, *_REMOTE_TYPES):
        return f"type {type_} is not supported"
    if has_command == has_url:
        return "it needs either a command or a url"
    if type_ == _STDIO and not has_command:
        return f"type {type_} needs a command"
    return f"type {type_} needs a url" if type_ in _REMOTE_TYPES and not has_url else ""


def check_servers(value: Any) -> dict[str, Any]:
    """Validate the setting ``mcp``: a table of servers by name.

    Raises `ValueError`, `BadConfig`.
    """
    if not isinstance(value, Mapping):
        raise ValueError('a table of servers, such as {fs = {command = "npx", args = ["server"]}}')
    for name, table in value.items():
        parse_server(str(name), table, f"mcp.{name}")
    return {str(name): dict(table) for name, table in value.items()}


PROJECT_FILE: Final = ".mcp.json"
"""A project's servers by name, in Claude Code's form (facts §8)."""


def load_servers(config: Config, cwd: Path) -> list[McpServer]:
    """The configured servers, then those of ``.mcp.json`` that have other names.

    The file is in `cwd` or above it. Raises `BadConfig`.
    """
    by_name: dict[str, McpServer] = {}
    for name, table in config.settings.mcp.items():
        setting = f"mcp.{name}"
        origin = config.origins.get(setting)
        place = origin.place if origin is not None else ""
        project = str(Path(place.rpartition(":")[0]).parent) if config.from_project(setting) else ""
        by_name[name] = parse_server(name, table, place, project)
    for name, server in _load_project_servers(cwd).items():
        by_name.setdefault(name, server)
    return list(by_name.values())


def _load_project_servers(cwd: Path) -> dict[str, McpServer]:
    path, _ = find_upwards(cwd, PROJECT_FILE)
    if path is None:
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfig(f"cannot be read: {error.strerror}", place=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise BadConfig(f"not valid JSON: {error}", place=str(path)) from error
    tables = data.get("mcpServers") if isinstance(data, Mapping) else None
    if not isinstance(tables, Mapping):
        raise BadConfig("no mcpServers", place=str(path), way_out='it is {"mcpServers": {NAME: {"command": ...}}}')
    folder = os.path.realpath(path.parent)
    return {
        str(name): parse_server(str(name), _timeout_to_seconds(table), str(path), folder)
        for name, table in tables.items()
    }


def _timeout_to_seconds(value: Any) -> Any:
    """Convert a timeout of ``.mcp.json`` from milliseconds to seconds (facts §8)."""
    timeout = value.get("timeout") if isinstance(value, Mapping) else None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= 1000 * _MAX_TIMEOUT:
        return value
    return {**value, "timeout": timeout / 1000}
