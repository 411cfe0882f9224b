"""OpenCode."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ctxtui.services.attach.program import ANTHROPIC, OPENAI, Env, OwnMeans, Started, Urls

_CONTENT: Final = "OPENCODE_CONFIG_CONTENT"
_NAMES: Final = (ANTHROPIC.name, OPENAI.name)


def _configs(env: Env, cwd: str) -> list[Any]:
    """What configures it, from what counts least."""
    home = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME") or Path.home()) / ".config") / "opencode"
    texts: list[str] = []
    for path in (home / "opencode.json", Path(env.get("OPENCODE_CONFIG") or "/dev/null"), Path(cwd) / "opencode.json"):
        try:
            texts.append(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
    found: list[Any] = []
    for text in (*texts, env.get(_CONTENT, "")):
        try:
            found.append(json.loads(text))
        except (ValueError, RecursionError):
            continue
    return [one for one in found if isinstance(one, dict)]


def _told(env: Env, cwd: str) -> Urls:
    found: dict[str, str] = {}
    for config in _configs(env, cwd):
        for name in _NAMES:
            at: Any = config
            for step in ("provider", name, "options", "baseURL"):
                at = at.get(step) if isinstance(at, dict) else None
            if isinstance(at, str) and at:
                found[name] = at
    return found


def _lead(urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
    try:
        own = json.loads(env.get(_CONTENT) or "{}")
    except (ValueError, RecursionError):
        own = {}
    config: dict[str, Any] = own if isinstance(own, dict) else {}
    for name, url in urls.items():
        options = config.setdefault("provider", {}).setdefault(name, {}).setdefault("options", {})
        options["baseURL"] = url
    return Started(list(arguments), {_CONTENT: json.dumps(config)})


OWN: Final = OwnMeans(told=_told, lead=_lead)
