"""Checks of this machine for ``ctxtui doctor``."""

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
from ctxtui.services.config.clients import CLIENTS, KnownClient, requests_variable, user_home
from ctxtui.services.config.extras import EXTRAS, install_command, is_installed
from ctxtui.services.config.format_registry import make_format
from ctxtui.services.config.package_data import sample_paths, vocabulary
from ctxtui.services.config.paths import database
from ctxtui.services.config.plugins import GROUPS, POLICIES, READERS, plugins, troubles
from ctxtui.services.config.policy_registry import plugin_policy
from ctxtui.services.counting.labels import load_rules
from ctxtui.services.library.glances import read_glance
from ctxtui.services.recordings.body_folder import DEFAULT_FOLDER, SETTING
from ctxtui.services.recordings.discover import HERE, SAMPLES, FoundRecording, find_recordings, known_projects
from ctxtui.store.store import Store
from ctxtui.tokens.vocab import SHA256
from ctxtui.views.home.columns import format_age

_MINUTE_SECONDS: Final = 60
"""Age from which on "ago" follows: `format_age` calls younger sessions "now"."""

OK: Final = "ok"
WARNING: Final = "warning"
FAILED: Final = "failed"

PACKAGES: Final = (
    "textual", "click", "msgspec", "tiktoken", "sqlite-utils", "platformdirs", "genai-prices",
    "anthropic", "openai", "aiohttp",
)  # fmt: skip


class DoctorFinding(Struct, frozen=True):
    """The result of a check; `state` is ``ok``, ``warning`` or ``failed``."""

    name: str
    state: str
    text: str
    way_out: str = ""


class ClientFound(Struct, frozen=True, kw_only=True):
    """The sessions found of a client.

    - `on`: the settings do not switch it off.
    - `places`: the folders searched, including those that are `missing` or `closed` (not readable).
    - `newest`: time of the newest session in Unix seconds; None if there is none.
    - `projects`: number of folders with code that are searched, for a client that records there; else 0.
    - `here`: number of sessions of this directory.
    """

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
    """Run every check that needs no terminal, each when its result is requested."""
    yield DoctorFinding("ctxtui", OK, __version__)
    yield _check_python()
    yield _check_packages()
    yield _check_extras()
    yield from _check_vocabularies()
    yield _check_database(database(data_dir, env))
    yield from _check_sessions(cwd, env, clients)
    yield from _check_plugins()


def _check_python() -> DoctorFinding:
    text = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"
    return DoctorFinding("python", OK, text)


def _check_packages() -> DoctorFinding:
    versions = {name: installed_version(name) for name in PACKAGES}
    missing = [name for name, number in versions.items() if number is None]
    if missing:
        return DoctorFinding("packages", FAILED, f"missing: {', '.join(missing)}", "install ctxtui again")
    return DoctorFinding("packages", OK, ", ".join(f"{name} {number}" for name, number in versions.items()))


def installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _check_extras() -> DoctorFinding:
    missing = [f"{name} ({extra.use})" for name, extra in EXTRAS.items() if not is_installed(name)]
    text = ", ".join(name for name in EXTRAS if is_installed(name)) or "none"
    if missing:
        text += f"; not installed, optional: {', '.join(missing)}: {install_command('NAME')}"
    return DoctorFinding("extras", OK, text)


def _check_vocabularies() -> Iterator[DoctorFinding]:
    for name, expected in SHA256.items():
        try:
            digest = hashlib.sha256(lzma.decompress(vocabulary(name))).hexdigest()
        except (OSError, lzma.LZMAError, EOFError) as error:
            yield DoctorFinding(f"vocabulary {name}", FAILED, f"cannot be read: {error}", "install ctxtui again")
            continue
        state, way_out = (OK, "") if digest == expected else (FAILED, "install ctxtui again")
        yield DoctorFinding(f"vocabulary {name}", state, f"sha256 {digest[:16]}…", way_out)


def _try_open(path: Path) -> CtxtuiError | None:
    """The error of opening the database.

    None if it opens, does not exist yet, or only needs a migration.
    """
    try:
        if path.exists():
            Store.open(path, readonly=True).close()
    except Unreadable as error:
        return error
    except CtxtuiError:
        pass  # empty, or of an older schema: the next write migrates it
    return None


def _check_database(path: Path) -> DoctorFinding:
    if path.exists():
        text = f"{path}, {path.stat().st_size / 1e6:,.1f} MB"
        writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    else:
        text = f"{path}, not created yet"
        above = next(folder for folder in path.parents if folder.exists())
        writable = os.access(above, os.W_OK | os.X_OK)
    unusable = _try_open(path)
    if unusable is not None:
        return DoctorFinding("database", FAILED, f"{unusable.message} @ {path}", unusable.way_out)
    if writable:
        return DoctorFinding("database", OK, text)
    return DoctorFinding(
        "database",
        WARNING,
        f"{path} cannot be written",
        "set data_dir to a folder, or CTXTUI_DB to a file, of yours",
    )


def clients_found(cwd: Path, env: Mapping[str, str], clients: Mapping[str, bool]) -> list[ClientFound]:
    return _group_by_client(find_recordings(cwd, env, clients=clients), cwd, env, clients)


def _group_by_client(
    recordings: list[FoundRecording], cwd: Path, env: Mapping[str, str], clients: Mapping[str, bool]
) -> list[ClientFound]:
    by_source: dict[str, list[FoundRecording]] = {}
    for recording in recordings:
        by_source.setdefault(recording.source, []).append(recording)
    projects = len({*cwd.parents, cwd, *known_projects(env, (recording.cwd for recording in recordings))})
    rows = []
    for client in CLIENTS:
        on = clients.get(client.name, True)
        of_client = by_source.get(client.source, []) if on else []
        places = tuple(dict.fromkeys(place.folder for place in client.places(env)))
        rows.append(
            ClientFound(
                client=client,
                on=on,
                places=places,
                missing=tuple(place for place in places if not place.is_dir()),
                closed=tuple(place for place in places if place.is_dir() and not os.access(place, os.R_OK | os.X_OK)),
                projects=projects if client.beside is not None else 0,
                sessions=len(of_client),
                here=sum(recording.group == HERE for recording in of_client),
                newest=max((recording.mtime for recording in of_client), default=None),
            )
        )
    return rows


def _check_sessions(cwd: Path, env: Mapping[str, str], clients: Mapping[str, bool]) -> Iterator[DoctorFinding]:
    start = time.perf_counter()
    recordings = find_recordings(cwd, env, sample_paths(), clients)
    milliseconds = (time.perf_counter() - start) * 1000
    for client in _group_by_client(recordings, cwd, env, clients):
        yield _check_client(client, time.time())
        if client.on and client.sessions:
            newest = next(recording for recording in recordings if recording.source == client.client.source)
            yield from _advise_recording(newest, env)
    samples = sum(f.group == SAMPLES for f in recordings)
    yield DoctorFinding(
        "samples", OK if samples else WARNING, f"{samples} shipped", "" if samples else "install ctxtui again"
    )
    yield DoctorFinding("finding them", OK, f"took {milliseconds:.0f} ms for {len(recordings):,} sessions")


def _advise_recording(newest: FoundRecording, env: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Advise to record requests if the client's newest session is of a version that does not."""
    version = newest.version or read_glance(newest.path, newest.source).version
    variable = requests_variable(newest.source, version)
    if not variable or env.get(variable):
        return
    folder = user_home(env) / DEFAULT_FOLDER
    yield DoctorFinding(
        f"{newest.source} requests",
        WARNING,
        f"{version} does not record its requests",
        f'export {variable}=file:{folder} before it starts, and {SETTING} = "{folder}" in config.toml',
    )


def _check_client(client: ClientFound, now: float) -> DoctorFinding:
    name = client.client.source
    if not client.on:
        return DoctorFinding(name, OK, f"switched off: clients.{client.client.name} = false")
    if client.closed:
        place = client.closed[0]
        return DoctorFinding(name, WARNING, f"{place} may not be read", f"see `ls -ld {place}`")
    places = [str(place) for place in client.places if place not in client.missing]
    if client.projects:
        places.append(f"{client.projects:,} folders with code: this one, those above it, projects of other clients")
    if not places:
        return DoctorFinding(name, OK, f"no folder {' or '.join(map(str, client.places))}")
    text = f"{client.sessions:,} {'session' if client.sessions == 1 else 'sessions'} in {' and '.join(places)}"
    if client.newest is not None:
        ago = " ago" if now - client.newest >= _MINUTE_SECONDS else ""
        text += f", newest {format_age(now - client.newest)}{ago}"
    return DoctorFinding(name, OK, text + (f", {client.here:,} of this directory" if client.here else ""))


def _check_plugins() -> Iterator[DoctorFinding]:
    load_rules({})
    for group in GROUPS:
        loaded = plugins(group)
        for plugin in loaded:
            if group == READERS and not plugin.trouble:
                make_format(plugin)
            elif group == POLICIES:
                plugin_policy(plugin)
        faulty = dict(troubles())
        working = ", ".join(f"{plugin.name} from {plugin.place}" for plugin in loaded if plugin.place not in faulty)
        yield DoctorFinding(f"plug-ins: {group}", OK, working or "none")
        for plugin in loaded:
            if plugin.place in faulty:
                yield DoctorFinding(
                    f"plug-ins: {group}", WARNING, f"{plugin.place}: {faulty[plugin.place]}", "fix it or remove it"
                )
