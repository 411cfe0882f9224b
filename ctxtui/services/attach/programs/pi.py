"""pi."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ctxtui.services.attach.program import Env, OwnMeans, Started, Urls
from ctxtui.services.config.package_data import DATA

_URLS: Final = "CTXTUI_BASE_URLS"
"""The variable in which the extension finds the base URLs, a JSON object of them by provider."""
_EXTENSION: Final = DATA / "programs" / "pi_extension.mjs"
_MANAGES: Final = frozenset({"install", "remove", "uninstall", "update", "list", "config"})
"""First words with which it asks no model; they take no extension."""


def _told(env: Env, cwd: str) -> Urls:
    """The addresses of its file of models, by provider."""
    home = Path(env.get("PI_CODING_AGENT_DIR") or Path(env.get("HOME") or Path.home()) / ".pi" / "agent")
    try:
        config = json.loads((home.expanduser() / "models.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    own = config.get("providers") if isinstance(config, dict) else None
    found = own.items() if isinstance(own, dict) else ()
    urls = {name: one.get("baseUrl") for name, one in found if isinstance(one, dict)}
    return {name: url for name, url in urls.items() if isinstance(url, str) and url}


def _lead(urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
    if arguments and arguments[0] in _MANAGES:
        return Started(list(arguments), {})
    return Started(["--extension", str(_EXTENSION), *arguments], {_URLS: json.dumps(dict(urls))})


OWN: Final = OwnMeans(told=_told, lead=_lead)
