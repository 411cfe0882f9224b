"""Checks of this machine, one by one, for ``ctxtui doctor``."""

from __future__ import annotations

import hashlib
import lzma
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ctxtui import __version__
from ctxtui.services.config.package_data import sample_paths, vocabulary
from ctxtui.services.config.paths import database
from ctxtui.services.recordings.discover import claude_root, codex_root, find

OK: Final = "ok"
WARNING: Final = "warning"
FAILED: Final = "failed"

PACKAGES: Final = (
    "textual",
    "click",
    "msgspec",
    "tiktoken",
    "sqlite-utils",
    "zstandard",
    "platformdirs",
    "genai-prices",
    "tree-sitter",
    "anthropic",
    "openai",
    "aiohttp",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: `state` is ``ok``, ``warning`` or ``failed``; `way_out` says what to do about it."""

    name: str
    state: str
    text: str
    way_out: str = ""


def checks(cwd: Path, data_dir: str, env: Mapping[str, str]) -> Iterator[Finding]:
    """Every check that needs no terminal; each is done when it is asked for."""
    yield Finding("ctxtui", OK, __version__)
    yield _python()
    yield _packages()
    yield from _vocabularies()
    yield _database(database(data_dir, env))
    yield from _sessions(cwd, env)
    yield from _plugins(env)


def _python() -> Finding:
    words = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"
    return Finding("python", OK, words)


def _packages() -> Finding:
    from importlib.metadata import PackageNotFoundError, version

    found, missing = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        return Finding("packages", FAILED, f"missing: {', '.join(missing)}", "install ctxtui again")
    return Finding("packages", OK, ", ".join(found))


def _vocabularies() -> Iterator[Finding]:
    from ctxtui.tokens.vocab import SHA256

    for name, wanted in SHA256.items():
        try:
            got = hashlib.sha256(lzma.decompress(vocabulary(name))).hexdigest()
        except (OSError, lzma.LZMAError, EOFError) as error:
            yield Finding(f"vocabulary {name}", FAILED, f"cannot be read: {error}", "install ctxtui again")
            continue
        right = got == wanted
        words = f"sha256 {got[:16]}…"
        yield Finding(f"vocabulary {name}", OK if right else FAILED, words, "" if right else "install ctxtui again")


def _database(path: Path) -> Finding:
    if path.exists():
        words = f"{path}, {path.stat().st_size / 1e6:,.1f} MB"
        writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    else:
        words = f"{path}, not made yet"
        above = next(folder for folder in path.parents if folder.exists())
        writable = os.access(above, os.W_OK | os.X_OK)
    if writable:
        return Finding("database", OK, words)
    return Finding("database", WARNING, f"{path} cannot be written", "set CTXTUI_DB or data_dir to a place of yours")


def _sessions(cwd: Path, env: Mapping[str, str]) -> Iterator[Finding]:
    start = time.perf_counter()
    found = find(cwd, env, sample_paths())
    took = (time.perf_counter() - start) * 1000
    for source, root in (("claude code", claude_root(env)), ("codex", codex_root(env))):
        mine = [f for f in found if f.source == source]
        here = sum(f.group == "here" for f in mine)
        words = f"{len(mine):,} sessions in {root}" + (f", {here} of this directory" if here else "")
        if not root.is_dir():
            words = f"no folder {root}"
        elif not os.access(root, os.R_OK | os.X_OK):
            yield Finding(source, WARNING, f"{root} may not be read", f"see `ls -ld {root}`")
            continue
        yield Finding(source, OK, words)
    samples = sum(f.group == "samples" for f in found)
    yield Finding(
        "samples", OK if samples else WARNING, f"{samples} shipped", "" if samples else "install ctxtui again"
    )
    yield Finding("finding them", OK, f"took {took:.0f} ms for {len(found):,} sessions")


def _plugins(env: Mapping[str, str]) -> Iterator[Finding]:
    from ctxtui.services.config.format_registry import format_of
    from ctxtui.services.config.plugins import GROUPS, POLICIES, READERS, plugins, troubles
    from ctxtui.services.config.policy_registry import policy_of
    from ctxtui.services.counting.labels import rules_in_force

    rules_in_force({})
    for group in GROUPS:
        found = plugins(group, env)
        for part in found:
            if group == READERS and not part.trouble:
                format_of(part)
            elif group == POLICIES:
                policy_of(part)
        bad = dict(troubles())
        good = ", ".join(f"{part.name} from {part.place}" for part in found if part.place not in bad)
        yield Finding(f"plug-ins: {group}", OK, good or "none")
        for part in found:
            if part.place in bad:
                yield Finding(f"plug-ins: {group}", WARNING, f"{part.place}: {bad[part.place]}", "mend it or remove it")
