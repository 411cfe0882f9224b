"""Routing of Continue's CLI to ctxtui's relay by a copy of its ``config.yaml``.

A flag names that copy, because no variable changes its base URLs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.services.attach.program import Env, RoutingFunctions, Started, Urls, find_home
from ctxtui.services.attach.programs.settings_copy import copy_file, replace_urls

_CONFIG: Final = "config.yaml"
_FLAG: Final = "--config"
_DEFAULT_URLS: Final = {"anthropic": "https://api.anthropic.com/v1/", "openai": "https://api.openai.com/v1/"}
"""Base URLs of models without ``apiBase``, by their ``provider``."""
_MEMBER: Final = re.compile(r"(\s*(?:- +)?)(\w+)\s*:\s*[\"']?([^\s\"'#]*)")
"""A member of a YAML mapping in one line: its indentation (with a list's dash), name, and value."""
_NO_VALUE: Final = ("", "null", "~")
_replace: Final = replace_urls("apiBase")


class _Model(Struct):
    """A model's ``provider`` and base URL (the provider's default unless `has_url`).

    Its members begin in `column`; `line` is that of `provider` (from 0), `url_line` that of ``apiBase`` (None: none).
    """

    provider: str
    url: str
    line: int
    column: int
    has_url: bool
    url_line: int | None


def _config(env: Env) -> Path:
    return find_home(env, "CONTINUE_GLOBAL_DIR", ".continue") / _CONFIG


def _read(env: Env) -> str:
    try:
        return _config(env).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _models(text: str) -> Iterator[_Model]:
    """The models of a file in YAML's block style, read line by line.

    Those with an ``apiBase``, or of a provider in `_DEFAULT_URLS`.
    """
    lines = text.splitlines()
    for number, line in enumerate(lines):
        member = _MEMBER.match(line)
        if member is None or member[2] != "provider":
            continue
        column = len(member[1])
        members = _members(lines, number, column)
        url_line, url = next(((n, value) for n, name, value in members if name == "apiBase"), (None, ""))
        has_url = url not in _NO_VALUE
        if not has_url:
            url = _DEFAULT_URLS.get(member[3], "")
        if url:
            yield _Model(member[3], url, number, column, has_url, url_line)


def _members(lines: Sequence[str], number: int, column: int) -> Iterator[tuple[int, str, str]]:
    """Yield the members in `column` of the item that contains line `number`.

    Each is its line index, name and value.
    """
    before = range(number, -1, -1)
    after = range(number + 1, len(lines))
    for numbers in (before, after):
        for n in numbers:
            if not lines[n].strip() or lines[n].lstrip().startswith("#"):
                continue
            member = _MEMBER.match(lines[n])
            begins = lines[n].lstrip().startswith("- ") and member is not None and len(member[1]) == column
            if numbers is after and begins:
                break
            if member is not None and len(member[1]) == column:
                yield n, member[2], member[3]
            elif len(lines[n]) - len(lines[n].lstrip()) < column:
                break
            if begins:
                break


def _configured_urls(env: Env, cwd: str) -> Urls:
    """The base URLs of Continue's models, each once, by provider.

    Further URLs of a provider have numbers: ``openai-2``, ``openai-3``, ...
    """
    urls: dict[str, str] = {}
    for model in _models(_read(env)):
        if model.url.startswith(("http://", "https://")) and model.url not in urls.values():
            names = (model.provider, *(f"{model.provider}-{n}" for n in range(2, len(urls) + 3)))
            urls[next(name for name in names if name not in urls)] = model.url
    return urls


def _start(urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
    configured = _configured_urls(env, cwd)
    routed = {url: urls[name] + "/" * url.endswith("/") for name, url in configured.items() if name in urls}
    # A file that the user names is used as it is: nothing is routed.
    if not routed or _names_config(arguments):
        return Started(list(arguments), {})
    text = _read(env)
    lines = text.splitlines()
    # From the end, so that an inserted line does not move the ones that follow in this loop.
    for model in reversed(list(_models(text))):
        if not model.has_url:
            if model.url_line is None:
                lines.insert(model.line + 1, f"{' ' * model.column}apiBase: {model.url}")
            else:
                lines[model.url_line] = f"{lines[model.url_line][: model.column]}apiBase: {model.url}"
    copy, end = copy_file(_CONFIG, _replace("\n".join(lines) + "\n", routed))
    return Started([_FLAG, str(copy), *arguments], {}, end)


def _names_config(arguments: Sequence[str]) -> bool:
    return any(word == _FLAG or word.startswith(f"{_FLAG}=") for word in arguments)


def _unroutable_reason(arguments: Sequence[str], env: Env, cwd: str) -> str:
    if _names_config(arguments):
        return f"the base URLs of a file that {_FLAG} names cannot be replaced"
    return "" if _configured_urls(env, cwd) else f"no base URL of a model in {_config(env)} can be replaced"


OWN: Final = RoutingFunctions(configured_urls=_configured_urls, start=_start, unroutable_reason=_unroutable_reason)
