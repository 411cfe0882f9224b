"""The MCP servers that the user's configuration and the project's ``.mcp.json`` declare."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ctxtui.core.errors import BadConfig
from ctxtui.services.config.config import Config, look_up
from ctxtui.services.config.mcp_servers import McpServer, parse_server

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
