"""Routing of Claude Code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ctxtui.services.attach.program import ANTHROPIC, Env, RoutingFunctions, Started, Urls

_BASE_URL_VARIABLE: Final = "ANTHROPIC_BASE_URL"
_CLOUD_VARIABLES: Final = {
    "CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock",
    "CLAUDE_CODE_USE_VERTEX": "Google Vertex",
    "CLAUDE_CODE_USE_FOUNDRY": "Microsoft Foundry",
}


def _settings(env: Env, cwd: str) -> Iterator[Path]:
    """Its settings files, by descending priority."""
    for name in ("settings.local.json", "settings.json"):
        yield Path(cwd) / ".claude" / name
    home = env.get("CLAUDE_CONFIG_DIR") or str(Path(env.get("HOME") or Path.home()) / ".claude")
    yield Path(home).expanduser() / "settings.json"


def _configured_urls(env: Env, cwd: str) -> Urls:
    for path in _settings(env, cwd):
        try:
            settings = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        own = settings.get("env") if isinstance(settings, dict) else None
        url = own.get(_BASE_URL_VARIABLE) if isinstance(own, dict) else None
        if isinstance(url, str) and url:
            return {ANTHROPIC.name: url}
    return {}


def _start(urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
    variables = {_BASE_URL_VARIABLE: urls[ANTHROPIC.name]}
    if _configured_urls(env, cwd):
        # Settings files override variables; the command's --settings override files.
        return Started(["--settings", json.dumps({"env": variables}), *arguments], variables)
    return Started(list(arguments), variables)


def _unroutable_reason(env: Env) -> str:
    by = next((words for name, words in _CLOUD_VARIABLES.items() if env.get(name) not in (None, "", "0", "false")), "")
    return f"Claude Code uses {by} here, which signs each request for its own address" if by else ""


OWN: Final = RoutingFunctions(configured_urls=_configured_urls, start=_start, unroutable_reason=_unroutable_reason)
