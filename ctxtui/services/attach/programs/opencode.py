"""Routing of OpenCode to ctxtui's relay, by a variable with further configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ctxtui.core.json_values import as_dict, as_str
from ctxtui.services.attach.program import ANTHROPIC, OPENAI, Env, RoutingFunctions, Started, Urls, find_home
from ctxtui.transcripts.kit.fields import get_path

_CONFIG_VARIABLE: Final = "OPENCODE_CONFIG_CONTENT"
_PROVIDERS: Final = (ANTHROPIC.name, OPENAI.name)
_NAMES: Final = ("opencode.json", "opencode.jsonc")
_COMMENT: Final = r"//[^\n]*|/\*.*?\*/"
_NOT_JSON: Final = re.compile(rf'("(?:[^"\\]|\\.)*")|{_COMMENT}|,(?=(?:\s|{_COMMENT})*+[}}\]])', re.DOTALL)
"""Comments and trailing commas, which both files may have; group 1 is a string."""
_VARIABLE: Final = re.compile(r"\{env:([^}]+)\}")


def _files(env: Env, cwd: str) -> Iterator[Path]:
    """The files that may configure it, by ascending priority."""
    home = find_home(env, "XDG_CONFIG_HOME", ".config") / "opencode"
    work = [Path(cwd), *Path(cwd).parents]
    # Up to the root of the repository, if there is one.
    top = next((n for n, folder in enumerate(work, 1) if (folder / ".git").exists()), len(work))
    project = work[:top][::-1]
    yield from (home / name for name in _NAMES)
    yield Path(env.get("OPENCODE_CONFIG") or "/dev/null")
    for folder in (*project, *(folder / ".opencode" for folder in project)):
        yield from (folder / name for name in _NAMES)


def _parse(text: str) -> dict[str, Any]:
    try:
        return as_dict(json.loads(_NOT_JSON.sub(lambda match: match[1] or "", text)))
    except (ValueError, RecursionError):
        return {}


def _configs(env: Env, cwd: str) -> list[dict[str, Any]]:
    """Its configurations, by ascending priority."""
    texts: list[str] = []
    for path in _files(env, cwd):
        with suppress(OSError, ValueError):
            texts.append(path.read_text(encoding="utf-8"))
    texts = [_VARIABLE.sub(lambda match: env.get(match[1], ""), text) for text in texts]
    return [_parse(text) for text in (*texts, env.get(_CONFIG_VARIABLE, ""))]


def _configured_urls(env: Env, cwd: str) -> Urls:
    urls: dict[str, str] = {}
    for config in _configs(env, cwd):
        for name in _PROVIDERS:
            if url := as_str(get_path(config, "provider", name, "options", "baseURL")):
                urls[name] = url
    return urls


def _start(urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
    config = _parse(env.get(_CONFIG_VARIABLE, ""))
    for name, url in urls.items():
        providers = config["provider"] = as_dict(config.get("provider"))
        provider = providers[name] = as_dict(providers.get(name))
        provider["options"] = {**as_dict(provider.get("options")), "baseURL": url}
    return Started(list(arguments), {_CONFIG_VARIABLE: json.dumps(config)})


OWN: Final = RoutingFunctions(configured_urls=_configured_urls, start=_start)
