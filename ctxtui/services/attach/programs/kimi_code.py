"""Routing of Kimi Code to ctxtui's relay.

A base URL in its ``config.toml`` overrides variables, and no option names another file. If the file has one, Kimi Code
gets a folder of links to its own folder, with a copy of the file that has the relay's addresses.
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
"""Variables with the base URLs of providers, by name; for those that have none in the file."""
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
    """The base URLs of its providers and models, by name; each once, under its first name.

    A model with the name of a provider gets the suffix ``-model``.
    """
    try:
        text = (_home(env) / _CONFIG).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return {}
    urls: dict[str, str] = {}
    for name, table in _tables(text):
        url = table.get("base_url") if isinstance(table, dict) else None
        if isinstance(url, str) and url.startswith(("http://", "https://")) and url not in urls.values():
            while name in urls:
                name = f"{name}-model"
            urls[name] = url
    return urls


def _start(urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
    configured = _configured_urls(env, cwd)
    variables = {v: urls[name] for name, v in _VARIABLES.items() if name in urls and name not in configured}
    own_urls = {url: urls[name] + "/" * url.endswith("/") for name, url in configured.items() if name in urls}
    if not own_urls:
        return Started(list(arguments), variables)
    home = _home(env)
    # The link must exist before its first session, which would else stay in the copy until the end.
    (home / "sessions").mkdir(exist_ok=True)
    text = (home / _CONFIG).read_text(encoding="utf-8")
    original_urls = {routed: url for url, routed in own_urls.items()}
    folder, end = link_folder(home, _CONFIG, _replace(text, own_urls), lambda changed: _replace(changed, original_urls))
    return Started(list(arguments), {**variables, _HOME_VARIABLE: str(folder)}, end)


OWN: Final = RoutingFunctions(configured_urls=_configured_urls, start=_start)
