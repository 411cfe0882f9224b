"""Routing of Kimi Code.

A base URL in its ``config.toml`` counts more than a variable, and only its whole folder can be moved: it gets a folder
of links to its own, in which that file is a copy with the relay's addresses.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ctxtui.services.attach.program import Env, RoutingFunctions, Started, Urls, find_home
from ctxtui.services.attach.programs.settings_copy import link_folder, replace_urls

_HOME_VARIABLE: Final = "KIMI_CODE_HOME"
_CONFIG: Final = "config.toml"
_VARIABLES: Final = {
    "kimi": "KIMI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
}
"""Variables of the providers whose base URL is in no file."""
_replace: Final = replace_urls("base_url")


def _home(env: Env) -> Path:
    return find_home(env, _HOME_VARIABLE, ".kimi-code")


def _tables(text: str) -> Iterator[tuple[str, Any]]:
    try:
        config = tomllib.loads(text)
    except (ValueError, RecursionError):
        return
    for section in ("providers", "models"):
        tables = config.get(section)
        yield from tables.items() if isinstance(tables, dict) else ()


def _configured_urls(env: Env, cwd: str) -> Urls:
    """The base URLs of its providers and models, each once, by the first name.

    A model's may get ``-model``.
    """
    try:
        text = (_home(env) / _CONFIG).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return {}
    urls: dict[str, str] = {}
    for name, table in _tables(text):
        url = table.get("base_url") if isinstance(table, dict) else None
        if isinstance(url, str) and url.startswith(("http://", "https://")) and url not in urls.values():
            urls[name if name not in urls else f"{name}-model"] = url
    return urls


def _start(urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
    variables = {variable: urls[name] for name, variable in _VARIABLES.items() if name in urls}
    configured = _configured_urls(env, cwd)
    own_urls = {url: urls[name] + "/" * url.endswith("/") for name, url in configured.items() if name in urls}
    if not own_urls:
        return Started(list(arguments), variables)
    home = _home(env)
    # Its sessions must go to the user's own folder from the first one on.
    (home / "sessions").mkdir(exist_ok=True)
    text = (home / _CONFIG).read_text(encoding="utf-8")
    back = {routed: url for url, routed in own_urls.items()}
    folder, end = link_folder(home, _CONFIG, _replace(text, own_urls), lambda changed: _replace(changed, back))
    return Started(list(arguments), {**variables, _HOME_VARIABLE: str(folder)}, end)


OWN: Final = RoutingFunctions(configured_urls=_configured_urls, start=_start)
