"""Routing of Cline to ctxtui's relay by a copy of its ``providers.json``.

No variable changes its base URLs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ctxtui.services.attach.program import Env, RoutingFunctions, Started, Urls, find_home
from ctxtui.services.attach.programs.settings_copy import link_folder

_VARIABLE: Final = "CLINE_PROVIDER_SETTINGS_PATH"
_BACKEND: Final = {"CLINE_SESSION_BACKEND_MODE": "local"}
"""Keeps the session in its own process: its background process would outlive the copy of the file."""
_URL: Final = "baseUrl"


def _file(env: Env) -> Path:
    if named := env.get(_VARIABLE):
        return Path(os.path.expanduser(named))
    data = Path(os.path.expanduser(env.get("CLINE_DATA_DIR") or find_home(env, "CLINE_DIR", ".cline") / "data"))
    return data / "settings" / "providers.json"


def _read(env: Env) -> str:
    try:
        return _file(env).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _settings(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    providers = value.get("providers") if isinstance(value, dict) else None
    for name, entry in providers.items() if isinstance(providers, dict) else ():
        settings = entry.get("settings") if isinstance(entry, dict) else None
        if isinstance(settings, dict):
            yield name, settings


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _configured_urls(env: Env, cwd: str) -> Urls:
    """The base URL of each provider that has one in its file."""
    urls = {name: settings.get(_URL) for name, settings in _settings(_parse(_read(env)))}
    return {name: url for name, url in urls.items() if isinstance(url, str) and url.startswith(("http://", "https://"))}


def _start(urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
    value = _parse(_read(env))
    own_urls: dict[str, str | None] = {}
    for name, settings in _settings(value):
        if name in urls:
            own_urls[name] = settings.get(_URL)
            settings[_URL] = urls[name]
    if not own_urls:
        return Started(list(arguments), {})
    file = _file(env)
    folder, end = link_folder(file.parent, file.name, _dump(value), _restorer(own_urls, urls))
    return Started(list(arguments), {_VARIABLE: str(folder / file.name), **_BACKEND}, end)


def _restorer(own_urls: dict[str, str | None], urls: Urls) -> Callable[[str], str | None]:
    """A function that restores the user's own base URLs in written settings.

    It returns None if these are damaged.
    """

    def restore(changed: str) -> str | None:
        value = _parse(changed)
        if value is None:
            return None
        for name, settings in _settings(value):
            if name not in own_urls or settings.get(_URL) != urls[name]:
                continue
            own = own_urls[name]
            if own is None:
                del settings[_URL]
            else:
                settings[_URL] = own
        return _dump(value)

    return restore


def _dump(value: Any) -> str:
    # In ASCII, as a lone surrogate cannot be written.
    return json.dumps(value, indent=2)


OWN: Final = RoutingFunctions(configured_urls=_configured_urls, start=_start)
