"""Claude Code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ctxtui.services.attach.program import ANTHROPIC, Env, OwnMeans, Started, Urls

_VARIABLE: Final = "ANTHROPIC_BASE_URL"
_OTHERS: Final = {
    "CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock",
    "CLAUDE_CODE_USE_VERTEX": "Google Vertex",
    "CLAUDE_CODE_USE_FOUNDRY": "Microsoft Foundry",
}


def _settings(env: Env, cwd: str) -> Iterator[Path]:
    """The files of settings, the one that counts most first."""
    for name in ("settings.local.json", "settings.json"):
        yield Path(cwd) / ".claude" / name
    home = env.get("CLAUDE_CONFIG_DIR") or str(Path(env.get("HOME") or Path.home()) / ".claude")
    yield Path(home).expanduser() / "settings.json"


def _told(env: Env, cwd: str) -> Urls:
    for path in _settings(env, cwd):
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        own = found.get("env") if isinstance(found, dict) else None
        url = own.get(_VARIABLE) if isinstance(own, dict) else None
        if isinstance(url, str) and url:
            return {ANTHROPIC.name: url}
    return {}


def _lead(urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
    moved = {_VARIABLE: urls[ANTHROPIC.name]}
    if _told(env, cwd):
        # A file of settings counts more than a variable, these count more than a file.
        return Started(["--settings", json.dumps({"env": moved}), *arguments], moved)
    return Started(list(arguments), moved)


def _closed(env: Env) -> str:
    by = next((words for name, words in _OTHERS.items() if env.get(name) not in (None, "", "0", "false")), "")
    return f"Claude Code asks {by} here, which signs each request for its own address" if by else ""


OWN: Final = OwnMeans(told=_told, lead=_lead, closed=_closed)
