"""The directories that clients have worked in, as far as they say it without a recording being opened."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from ctxtui.services.config.clients import CLIENTS

_LARGEST: Final = 16_000_000
"""Bytes of a client's file of projects that is still read."""


def known_projects(env: Mapping[str, str], ran: Iterable[str]) -> tuple[Path, ...]:
    """The directories in the clients' own files of projects, and those that sessions `ran` in ("" is none)."""
    named = dict.fromkeys(name for name in ran if name)
    for client in CLIENTS:
        if client.projects is not None:
            named |= dict.fromkeys(_projects(client.projects(env)))
    return tuple(Path(name) for name in named if os.path.isabs(name))


def _projects(file: Path) -> tuple[str, ...]:
    try:
        status = os.stat(file)
    except OSError:
        return ()
    return _read(str(file), status.st_size, status.st_mtime_ns) if status.st_size <= _LARGEST else ()


@lru_cache(16)
def _read(file: str, size: int, mtime_ns: int) -> tuple[str, ...]:
    """The keys of a file's table ``projects``; a file that is damaged has none: it is its client's to say so."""
    try:
        with open(file, "rb") as opened:
            data = opened.read()
        return tuple(_keys(data, file))
    except (OSError, ValueError, RecursionError):
        return ()


def _keys(data: bytes, file: str) -> Iterator[str]:
    if file.endswith(".toml"):
        import tomllib

        whole: object = tomllib.loads(data.decode("utf-8"))
    else:
        whole = json.loads(data)
    projects = whole.get("projects") if isinstance(whole, dict) else None
    yield from (str(key) for key in projects) if isinstance(projects, dict) else ()
