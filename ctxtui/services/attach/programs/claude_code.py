"""Routing of Claude Code to ctxtui's relay, by a variable and, if need be, ``--settings``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ctxtui.services.attach.program import ANTHROPIC, Env, RoutingFunctions, Started, Urls, find_home

_BASE_URL_VARIABLE: Final = "ANTHROPIC_BASE_URL"
_CLOUD_VARIABLES: Final = {
    "CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock",
    "CLAUDE_CODE_USE_VERTEX": "Google Vertex",
    "CLAUDE_CODE_USE_FOUNDRY": "Microsoft Foundry",
}
_OFF: Final = (None, "", "0", "false")


def _settings_variables(env: Env, cwd: str) -> dict[str, str]:
    """The variables that Claude Code's user and project settings files set.

    Managed settings are not read.
    """
    user, project = find_home(env, "CLAUDE_CONFIG_DIR", ".claude"), Path(cwd) / ".claude"
    variables: dict[str, str] = {}
    for path in (user / "settings.json", project / "settings.json", project / "settings.local.json"):
        try:
            settings = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        own = settings.get("env") if isinstance(settings, dict) else None
        if isinstance(own, dict):
            variables |= {name: value for name, value in own.items() if isinstance(value, str) and value}
    return variables


def _configured_urls(env: Env, cwd: str) -> Urls:
    url = _settings_variables(env, cwd).get(_BASE_URL_VARIABLE)
    return {ANTHROPIC.name: url} if url else {}


def _start(urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
    variables = {_BASE_URL_VARIABLE: urls[ANTHROPIC.name]}
    if _configured_urls(env, cwd):
        # The settings files read here override variables, and --settings overrides these files.
        return Started(["--settings", json.dumps({"env": variables}), *arguments], variables)
    return Started(list(arguments), variables)


def _unroutable_reason(arguments: Sequence[str], env: Env, cwd: str) -> str:
    variables = {**env, **_settings_variables(env, cwd)}
    cloud = next((cloud for name, cloud in _CLOUD_VARIABLES.items() if variables.get(name) not in _OFF), "")
    return f"Claude Code uses {cloud} here, not {_BASE_URL_VARIABLE}" if cloud else ""


OWN: Final = RoutingFunctions(configured_urls=_configured_urls, start=_start, unroutable_reason=_unroutable_reason)
