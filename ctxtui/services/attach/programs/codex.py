"""Routing of Codex to ctxtui's relay, by its option ``-c`` for configuration."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from typing import Any, Final

from ctxtui.core.json_values import as_dict, as_str
from ctxtui.services.attach.program import OPENAI, Env, RoutingFunctions, Started, Urls, find_home


def _config(env: Env) -> dict[str, Any]:
    try:
        return tomllib.loads((find_home(env, "CODEX_HOME", ".codex") / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}


def _provider(config: dict[str, Any]) -> tuple[str, str]:
    """The config key of the base URL in force, and the URL ("": the default)."""
    name = as_str(config.get("model_provider"))
    own = as_dict(as_dict(config.get("model_providers")).get(name)).get("base_url")
    if isinstance(own, str):
        return f"model_providers.{name}.base_url", own
    return "openai_base_url", as_str(config.get("openai_base_url"))


def _configured_urls(env: Env, cwd: str) -> Urls:
    url = _provider(_config(env))[1]
    return {OPENAI.name: url} if url else {}


def _start(urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
    key = _provider(_config(env))[0]
    return Started(["-c", f"{key}={json.dumps(urls[OPENAI.name])}", *arguments], {})


OWN: Final = RoutingFunctions(configured_urls=_configured_urls, start=_start)
