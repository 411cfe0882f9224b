"""The file for a bug report: versions, settings, counts, a session's shape; no content.

A text gets in only if it is ctxtui's own, names installed code or the system, or is one of a known list. Every id is
replaced by a hash with a salt that is made for this file and not kept, so that equal ids stay equal and nothing can be
looked up.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from ctxtui import __version__
from ctxtui.analysis.cache import miss as misses
from ctxtui.analysis.figures import BlockFigure
from ctxtui.cache import explain
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import COUNTS
from ctxtui.services.config.config import PREFIX, Config
from ctxtui.services.config.crash_log import describe_places, last_crash
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.paths import DATABASE, HOME, database
from ctxtui.services.config.plugins import GROUPS, plugins
from ctxtui.services.config.settings import FIELDS
from ctxtui.services.doctor import PACKAGES, clients_found, installed_version
from ctxtui.services.opened_session import OpenedSession, SessionCall, open_session
from ctxtui.store.schema.database_file import open_to_read, schema_version
from ctxtui.store.store import Store
from ctxtui.transcripts.registry import FORMATS

OTHER: Final = "other"
KINDS: Final = frozenset(
    "header text tool tool_use tool_result thinking redacted_thinking reasoning image image_url input_image input_text "
    "output_text document file input_file search_result refusal function_call function_call_output custom_tool_call "
    "custom_tool_call_output function_response server_tool_use web_search_call compaction not_recorded "
    "unreadable".split()
)
ROLES: Final = frozenset(["", "system", "developer", "user", "assistant", "model", "tool", "function"])
CAUSES: Final = frozenset(
    value
    for module in (misses, explain)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, str)
)
TERMINALS: Final = frozenset(
    "xterm xterm-256color xterm-kitty xterm-ghostty xterm-direct screen screen-256color tmux tmux-256color linux vt100 "
    "vt220 dumb rxvt-unicode-256color alacritty foot wezterm konsole ghostty kitty iTerm.app Apple_Terminal vscode "
    "WezTerm Hyper WarpTerminal truecolor 24bit".split()
)
_ID_DIGITS: Final = 12


def make_report(
    config: Config | None, cwd: Path, env: Mapping[str, str], name: str = "", size: tuple[int, int] = (0, 0)
) -> dict[str, Any]:
    """The contents of the file.

    `config` is None if the settings cannot be read, `name` a session ("": none), `size` the terminal's columns and
    rows.
    """
    settings = config.settings if config is not None else None
    return {
        "versions": _versions(),
        "platform": _platform(),
        "terminal": _terminal(env, size),
        "settings": None if config is None else _changed_settings(config),
        "variables": sorted(_known_variables(env)),
        "plugins": {group: len(plugins(group)) for group in GROUPS},
        "clients": {
            client.client.name: client.sessions
            for client in clients_found(cwd, env, settings.clients if settings is not None else {})
        },
        "database": _database(database(settings.data_dir if settings is not None else "", env)),
        "crash": last_crash(),
        "session": _session(name, cwd) if name else None,
    }


def _versions() -> dict[str, Any]:
    return {
        "ctxtui": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "packages": {name: installed_version(name) for name in PACKAGES},
    }


def _platform() -> dict[str, str]:
    release = re.match(r"[\d.]*", platform.release())
    return {
        "system": platform.system(),
        "release": release[0] if release is not None else "",
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()).strip(),
        "implementation": sys.implementation.name,
    }


def _terminal(env: Mapping[str, str], size: tuple[int, int]) -> dict[str, Any]:
    named = {name: env[name] for name in ("TERM", "TERM_PROGRAM", "COLORTERM") if name in env}
    values = {name: value if value in TERMINALS else OTHER for name, value in named.items()}
    flags = {name: name in env for name in ("TMUX", "STY", "SSH_CONNECTION", "NO_COLOR")}
    return {"columns": size[0], "rows": size[1], **values, **flags}


def _changed_settings(config: Config) -> list[dict[str, Any]]:
    """The settings that a file, a variable or a flag sets, with their origins.

    For a table, a list or a text that is no fixed choice, the value is its size.
    """
    rows = []
    for name, setting in FIELDS.items():
        kinds = {origin.kind for key, origin in config.origins.items() if key == name or key.startswith(f"{name}.")}
        if kinds:
            value = getattr(config.settings, name)
            choices = setting.metadata["schema"].get("enum", ())
            rows.append({"name": name, "value": _describe_value(value, choices), "origins": sorted(kinds)})
    return rows


def _describe_value(value: Any, choices: Any) -> Any:
    if isinstance(value, bool | int | float) or (isinstance(value, str) and value in choices):
        return value
    kind = "text" if isinstance(value, str) else "table" if isinstance(value, Mapping) else "list"
    return f"{kind} of {len(value)}"


def _known_variables(env: Mapping[str, str]) -> Iterator[str]:
    names = {HOME, DATABASE, f"{PREFIX}CONFIG", *(f"{PREFIX}{name.upper()}" for name in FIELDS)}
    return (name for name in names if name in env)


def _database(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {"exists": False}
    try:
        with Store.open(path, readonly=True) as store:
            info = store.info()
    except CtxtuiError as error:
        return {"exists": True, "schema": _read_schema(path), "error": type(error).__name__}
    return {
        "exists": True,
        "schema": info.schema_version,
        "bytes": info.size,
        "journal": info.journal,
        "rows": dict(info.rows),
    }


def _read_schema(path: Path) -> int | None:
    try:
        with closing(open_to_read(path)) as conn:
            return schema_version(conn)
    except (CtxtuiError, sqlite3.Error):
        return None


def _session(name: str, cwd: Path) -> dict[str, Any]:
    salt = secrets.token_bytes(16)

    def hide(id_: str) -> str:
        digest = blake2b(id_.encode("utf-8", "surrogatepass"), key=salt).hexdigest()
        return digest[:_ID_DIGITS]

    try:
        with open_session(name, cwd=cwd) as session:
            return _shape(session, hide)
    except CtxtuiError as error:
        return {"error": type(error).__name__}
    except Exception as error:  # noqa: BLE001 - a session that crashes ctxtui is what the report may be about
        errors = describe_places(error)
        return {"error": errors[0]["type"], "errors": errors}


def _shape(session: OpenedSession, hide: Callable[[str], str]) -> dict[str, Any]:
    recording = session.recording
    formats = {format_.name for format_ in FORMATS}
    return {
        "format": recording.about.source if recording.about.source in formats else OTHER,
        "window": recording.about.window,
        "skipped": [skipped.line for skipped in recording.skipped],
        "happenings": len(recording.happenings),
        "threads": [
            {
                "id": hide(thread.id),
                "parent": hide(thread.parent) if thread.parent else "",
                "calls": list(_calls(session, thread.id, hide)),
                "last_context": [_block(figure, hide) for figure in session.blocks(thread=thread.id)],
            }
            for thread in recording.threads.values()
        ],
    }


def _calls(session: OpenedSession, thread: str, hide: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    tree, first, before = session.recording.tree, None, ROOT
    for call in session.calls(thread):
        first = first if first is not None else call.call.started
        head = call.call.sent_head
        yield {
            "number": call.number,
            "id": hide(call.call.id),
            "model": hide(call.call.model),
            "encoding": model_table().card(call.call.model).encoding,
            "seconds": None if call.call.started is None or first is None else round(call.call.started - first, 1),
            "fidelity": str(call.call.fidelity),
            "blocks": tree[head].depth,
            "blocks_as_before": tree[tree.common(head, before)].depth,
            **_figures(call),
        }
        before = head


def _figures(call: SessionCall) -> dict[str, Any]:
    usage = call.call.usage
    return {
        "context_tokens": call.figures.context_tokens,
        "method": call.figures.method,
        "categories": call.figures.categories,
        "not_recorded": call.figures.not_recorded,
        "residual": call.figures.residual,
        "usage": None if usage is None else {name: getattr(usage, name) for name in COUNTS},
        "cost_usd": call.cost_usd,
        "miss": None if call.miss is None else call.miss.cause if call.miss.cause in CAUSES else OTHER,
    }


def _block(figure: BlockFigure, hide: Callable[[str], str]) -> dict[str, Any]:
    return {
        "id": hide(figure.block.digest),
        "kind": figure.block.kind if figure.block.kind in KINDS else OTHER,
        "category": figure.category,
        "role": figure.role if figure.role in ROLES else OTHER,
        "bytes": len(figure.block.body),
        "tokens": figure.tokens,
        "method": figure.method,
        "read": figure.read,
    }


def terminal_size() -> tuple[int, int]:
    """Columns and rows of the terminal of standard error; (0, 0) if it is none."""
    try:
        size = os.get_terminal_size(2)
    except OSError:
        return 0, 0
    return size.columns, size.lines
