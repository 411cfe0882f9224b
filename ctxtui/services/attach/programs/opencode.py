"""Routing of OpenCode."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ctxtui.core.json_values import as_dict
from ctxtui.services.attach.program import ANTHROPIC, OPENAI, Env, RoutingFunctions, Started, Urls

_CONFIG_VARIABLE: Final = "OPENCODE_CONFIG_CONTENT"
_PROVIDERS: Final = (ANTHROPIC.name, OPENAI.name)


def _configs(env: Env, cwd: str) -> list[Any]:
    """Configurations in JSON, by ascending priority."""
    home = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME") or Path.home()) / ".config") / "opencode"
    texts: list[str] = []
    for path in (home / "opencode.json", Path(env.get("OPENCODE_CONFIG") or "/dev/null"), Path(cwd) / "opencode.json"):
        try:
            texts.append(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
    configs: list[Any] = []
    for text in (*texts, env.get(_CONFIG_VARIABLE, "")):
        try:
            configs.append(json.loads(text))
        except (ValueError, RecursionError):
            continue
    return [config for config in configs if isinstance(config, dict)]


def _configured_urls(env: Env, cwd: str) -> Urls:
    urls: dict[str, str] = {}
    for config in _configs(env, cwd):
        for name in _PROVIDERS:
            at: Any = config
            for step in ("provider", name, "options", "baseURL"):
                at = at.get(step) if isinstance(at, dict) else None
            if isinstance(at, str) and at:
                urls[name] = at
    return urls


def _start(urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
    try:
        own = json.loads(env.get(_CONFIG_VARIABLE) or "{}")
    except (ValueError, RecursionError):
        own = {}
    config: dict[str, Any] = own if isinstance(own, dict) else {}
    for name, url in urls.items():
        providers = config["provider"] = as_dict(config.get("provider"))
        provider = providers[name] = as_dict(providers.get(name))
        provider["options"] = {**as_dict(provider.get("options")), "baseURL": url}
    return Started(list(arguments), {_CONFIG_VARIABLE: json.dumps(config)})


OWN: Final = RoutingFunctions(configured_urls=_configured_urls, start=_start)
