"""Routing of pi to ctxtui's relay, by an extension that sets its providers' base URLs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from ctxtui.services.attach.program import Env, RoutingFunctions, Started, Urls, find_home
from ctxtui.services.config.package_data import DATA

_URLS_VARIABLE: Final = "CTXTUI_BASE_URLS"
"""The extension's variable with the base URLs, a JSON object by provider."""
_EXTENSION: Final = DATA / "programs" / "pi_extension.mjs"
_SUBCOMMANDS: Final = frozenset({"install", "remove", "uninstall", "update", "list", "config"})
"""Subcommands that use no model and accept no extension."""


def _configured_urls(env: Env, cwd: str) -> Urls:
    """The base URLs of its ``models.json``, by provider."""
    home = find_home(env, "PI_CODING_AGENT_DIR", ".pi/agent")
    try:
        config = json.loads((home / "models.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    own = config.get("providers") if isinstance(config, dict) else None
    providers = own.items() if isinstance(own, dict) else ()
    urls = {name: provider.get("baseUrl") for name, provider in providers if isinstance(provider, dict)}
    return {name: url for name, url in urls.items() if isinstance(url, str) and url}


def _start(urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
    if arguments and arguments[0] in _SUBCOMMANDS:
        return Started(list(arguments), {})
    return Started(["--extension", str(_EXTENSION), *arguments], {_URLS_VARIABLE: json.dumps(dict(urls))})


OWN: Final = RoutingFunctions(configured_urls=_configured_urls, start=_start)
