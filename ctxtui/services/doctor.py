"""Checks of this machine, one by one, for ``ctxtui doctor``."""

from __future__ import annotations

import hashlib
import lzma
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui import __version__
from ctxtui.core.errors import CtxtuiError, Unreadable
from ctxtui.services.config.clients import CLIENTS, KnownClient, user_home, whole_requests_by
from ctxtui.services.config.format_registry import format_of
from ctxtui.services.config.package_data import sample_paths, vocabulary
from ctxtui.services.config.paths import database
from ctxtui.services.config.plugins import GROUPS, POLICIES, READERS, plugins, troubles
from ctxtui.services.config.policy_registry import policy_of
from ctxtui.services.counting.labels import rules_in_force
from ctxtui.services.library.glances import glance
from ctxtui.services.recordings.body_folder import BESIDE, SETTING
from ctxtui.services.recordings.discover import HERE, SAMPLES, FoundRecording, find, known_projects
from ctxtui.store.store import Store
from ctxtui.tokens.vocab import SHA256
from ctxtui.views.home.columns import format_age

_MINUTE: Final = 60

OK: Final = "ok"
WARNING: Final = "warning"
FAILED: Final = "failed"

PACKAGES: Final = (
    "textual", "click", "msgspec", "tiktoken", "sqlite-utils", "zstandard", "platformdirs", "genai-prices",
    "tree-sitter", "anthropic", "openai", "aiohttp",
)  # fmt: skip


class DoctorFinding(Struct, frozen=True):
    """One finding: `state` is ``ok``, ``warning`` or ``failed``; `way_out` says what to do about it."""

    name: str
    state: str
    text: str
    way_out: str = ""


class ClientFound(Struct, frozen=True, kw_only=True):
    """What was found of a client: `places` are where it was looked, those that are `missing` or `closed` (may not be
    read) among them; `newest` in Unix seconds, `here` how many ran in this directory."""

    client: KnownClient
    on: bool
    places: tuple[Path, ...] = ()
    missing: tuple[Path, ...] = ()
    closed: tuple[Path, ...] = ()
    projects: int = 0
    sessions: int = 0
    here: int = 0
    newest: float | None = None


def checks(cwd: Path, data_dir: str, env: Mapping[str, str], clients: Mapping[str, bool]) -> Iterator[DoctorFinding]:
    """Every check that needs no terminal; each is done when it is asked for. `clients` is the setting."""
    yield DoctorFinding("ctxtui", OK, __version__)
    yield _python()
    yield _packages()
    yield from _vocabularies()
    yield _database(database(data_dir, env))
    yield from _sessions(cwd, env, clients)
    yield from _plugins(env)


def _python() -> DoctorFinding:
    words = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"
    return DoctorFinding("python", OK, words)


def _packages() -> DoctorFinding:
    found, missing = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        return DoctorFinding("packages", FAILED, f"missing: {', '.join(missing)}", "install ctxtui again")
    return DoctorFinding("packages", OK, ", ".join(found))


def _vocabularies() -> Iterator[DoctorFinding]:
    for name, wanted in SHA256.items():
        try:
            got = hashlib.sha256(lzma.decompress(vocabulary(name))).hexdigest()
        except (OSError, lzma.LZMAError, EOFError) as error:
            yield DoctorFinding(f"vocabulary {name}", FAILED, f"cannot be read: {error}", "install ctxtui again")
            continue
        right = got == wanted
        words = f"sha256 {got[:16]}…"
        yield DoctorFinding(
            f"vocabulary {name}", OK if right else FAILED, words, "" if right else "install ctxtui again"
        )


def _unusable(path: Path) -> CtxtuiError | None:
    """Why the database cannot be opened; None where it can, or is not made yet."""
    try:
        if path.exists():
            Store.open(path, readonly=True).close()
    except Unreadable as error:
        return error
    except CtxtuiError:
        # Empty or an older one: whoever writes to it next brings it up to date.
        pass
    return None


def _database(path: Path) -> DoctorFinding:
    if path.exists():
        words = f"{path}, {path.stat().st_size / 1e6:,.1f} MB"
        writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    else:
        words = f"{path}, not made yet"
        above = next(folder for folder in path.parents if folder.exists())
        writable = os.access(above, os.W_OK | os.X_OK)
    unusable = _unusable(path)
    if unusable is not None:
        return DoctorFinding("database", FAILED, f"{unusable.message} @ {path}", unusable.way_out)
    if writable:
        return DoctorFinding("database", OK, words)
    return DoctorFinding(
        "database", WARNING, f"{path} cannot be written", "set CTXTUI_DB or data_dir to a place of yours"
    )


def clients_found(cwd: Path, env: Mapping[str, str], clients: Mapping[str, bool]) -> list[ClientFound]:
    """Each client: where it was looked, what was found."""
    return _told(find(cwd, env, clients=clients), cwd, env, clients)


def _told(
    found: list[FoundRecording], cwd: Path, env: Mapping[str, str], clients: Mapping[str, bool]
) -> list[ClientFound]:
    by_source: dict[str, list[FoundRecording]] = {}
    for one in found:
        by_source.setdefault(one.source, []).append(one)
    projects = len({*cwd.parents, cwd, *known_projects(env, (one.cwd for one in found))})
    told = []
    for client in CLIENTS:
        on = clients.get(client.name, True)
        mine = by_source.get(client.source, []) if on else []
        places = tuple(dict.fromkeys(place.folder for place in client.places(env)))
        told.append(
            ClientFound(
                client=client,
                on=on,
                places=places,
                missing=tuple(place for place in places if not place.is_dir()),
                closed=tuple(place for place in places if place.is_dir() and not os.access(place, os.R_OK | os.X_OK)),
                projects=projects if client.beside is not None else 0,
                sessions=len(mine),
                here=sum(one.group == HERE for one in mine),
                newest=max((one.mtime for one in mine), default=None),
            )
        )
    return told


def _sessions(cwd: Path, env: Mapping[str, str], clients: Mapping[str, bool]) -> Iterator[DoctorFinding]:
    start = time.perf_counter()
    found = find(cwd, env, sample_paths(), clients)
    took = (time.perf_counter() - start) * 1000
    for one in _told(found, cwd, env, clients):
        yield _client(one, time.time())
        if one.on and one.sessions:
            newest = next(each for each in found if each.source == one.client.source)
            yield from _whole(newest, env)
    samples = sum(f.group == SAMPLES for f in found)
    yield DoctorFinding(
        "samples", OK if samples else WARNING, f"{samples} shipped", "" if samples else "install ctxtui again"
    )
    yield DoctorFinding("finding them", OK, f"took {took:.0f} ms for {len(found):,} sessions")


def _whole(newest: FoundRecording, env: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """What to tell a client whose newest session is of a version that does not record its requests."""
    version = newest.version or glance(newest.path, newest.source).version
    variable = whole_requests_by(newest.source, version)
    if not variable or env.get(variable):
        return
    folder = user_home(env) / BESIDE
    yield DoctorFinding(
        f"{newest.source} requests",
        WARNING,
        f"{version} does not record its requests",
        f'export {variable}=file:{folder} before it starts, and {SETTING} = "{folder}" in config.toml',
    )


def _client(one: ClientFound, now: float) -> DoctorFinding:
    name = one.client.source
    if not one.on:
        return DoctorFinding(name, OK, f"switched off: clients.{one.client.name} = false")
    if one.closed:
        place = one.closed[0]
        return DoctorFinding(name, WARNING, f"{place} may not be read", f"see `ls -ld {place}`")
    there = [str(place) for place in one.places if place not in one.missing]
    if one.projects:
        there.append(f"{one.projects:,} folders with code: this one, those above it, projects of other clients")
    if not there:
        return DoctorFinding(name, OK, f"no folder {' or '.join(map(str, one.places))}")
    words = f"{one.sessions:,} {'session' if one.sessions == 1 else 'sessions'} in {' and '.join(there)}"
    if one.newest is not None:
        words += f", newest {format_age(now - one.newest)}" + (" ago" if now - one.newest >= _MINUTE else "")
    return DoctorFinding(name, OK, words + (f", {one.here:,} of this directory" if one.here else ""))


def _plugins(env: Mapping[str, str]) -> Iterator[DoctorFinding]:
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
        yield DoctorFinding(f"plug-ins: {group}", OK, good or "none")
        for part in found:
            if part.place in bad:
                yield DoctorFinding(
                    f"plug-ins: {group}", WARNING, f"{part.place}: {bad[part.place]}", "mend it or remove it"
                )
