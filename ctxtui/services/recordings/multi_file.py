"""Reads recordings that consist of many small files as one stream.

They are OpenCode's JSON storage, OpenHands' request logs and its events before the SDK, and the numbered files of jobs
with the logs of their turns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final

from ctxtui.core.errors import Unreadable
from ctxtui.services.recordings.file_tail import is_file, list_entries
from ctxtui.transcripts.kit.readers import JOB, LOGS, TABLES_KEY

_LOG: Final = re.compile(r".+-(\d{9,}\.\d+)(?:-[0-9a-f]{4,8})?(?:-error)?\.json")
"""OpenHands names the log of a request by model and time of the answer."""
_EVENT: Final = re.compile(r"(\d+)\.json")
"""OpenHands' events before the SDK are numbered files."""
_JOB: Final = re.compile(r"\d+-(?:prompt\.txt|response\.txt|tool-calls\.json|tool-results\.json)")
_TURN: Final = re.compile(r"turn_\d+\.json")
_TURNS: Final = "logs"
WHOLE: Final = "session.jsonl"
"""The whole session, in folders that ctxtui wrote."""
_TABLES: Final = ("session", "message", "part")


def is_multi_file(folder: str, names: Collection[str]) -> bool:
    return _find_reader(folder, names) is not None


def _find_reader(folder: str, names: Collection[str]) -> Callable[[Path], Iterator[bytes]] | None:
    if is_job(names):
        return _read_job if WHOLE not in names else None
    json_names = [name for name in names if name.endswith(".json")]
    if not json_names:
        return None
    # The folder of turn logs may also hold a program's text log.
    if all(map(_TURN.fullmatch, json_names)):
        return _read_job
    pattern, read = (_EVENT, _read_events) if folder == "events" else (_LOG, _read_logs)
    return read if all(map(pattern.fullmatch, json_names)) else None


def is_job(names: Collection[str]) -> bool:
    return any(name.endswith("-prompt.txt") and _JOB.fullmatch(name) for name in names)


def read_multi_file(path: Path) -> Iterator[bytes] | None:
    """Read a recording of many files as one stream; None if `path` is none.

    `path` is its folder, or the session's file in OpenCode's storage. Reading raises `Unreadable`.
    """
    read = _find_reader(path.absolute().name, [entry.name for entry in list_entries(path) if is_file(entry)])
    if read is None and path.parent.parent.name == "session" and (path.parents[2] / "message").is_dir():
        read = _read_opencode
    return read(path) if read is not None else None


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}", place=str(path)) from error


def _sort_by_number(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    numbered = [(match[1], path) for path in folder.iterdir() if (match := pattern.fullmatch(path.name))]
    return [path for _, path in sorted(numbered, key=lambda part: (float(part[0]), part[1].name))]


def _read_events(folder: Path) -> Iterator[bytes]:
    for path in _sort_by_number(folder, _EVENT):
        yield _read_bytes(path) + b"\n"


def _read_job(folder: Path) -> Iterator[bytes]:
    """Yield a list of the job's files by number, then the logs of its turns."""
    yield b"[" + json.dumps(JOB).encode()
    files = [path for path in folder.iterdir() if _JOB.fullmatch(path.name)]
    turns = [path for at in (folder, folder / _TURNS) if at.is_dir() for path in at.glob("turn_*.json")]
    numbered = [
        *sorted(files, key=_number_in_name),
        *sorted((turn for turn in turns if _TURN.fullmatch(turn.name)), key=_number_in_name),
    ]
    for path in numbered:
        entry: dict[str, Any] = {"name": path.name}
        text = _read_bytes(path).decode("utf-8", "replace")
        try:
            entry["value"] = json.loads(text) if path.suffix == ".json" else text
        except (ValueError, RecursionError) as error:
            entry["trouble"] = str(error)
        yield b",\n" + json.dumps(entry).encode()
    yield b"]"


def _number_in_name(path: Path) -> tuple[int, str]:
    match = re.search(r"\d+", path.name)
    return int(match[0]) if match else 0, path.name


def _read_logs(folder: Path) -> Iterator[bytes]:
    """Yield a list of logs by time; a damaged one is replaced by its name and the error."""
    yield b"[" + json.dumps(LOGS).encode()
    for path in _sort_by_number(folder, _LOG):
        data = _read_bytes(path)
        try:
            json.loads(data)
        except (ValueError, RecursionError) as error:
            data = json.dumps(f"{path.name}: {error}").encode()
        yield b",\n" + data
    yield b"]"


def _read_opencode(path: Path) -> Iterator[bytes]:
    """Yield the session in `path` and its subsessions as rows of OpenCode's database tables."""
    storage = path.parents[2]
    yield json_line({TABLES_KEY: _TABLES})
    for session, parent in _list_descendants(path):
        yield from _read_row("session", session, lambda value, parent=parent: _session_fields(value, parent))
        for message in _json_files(storage / "message" / session.stem):
            yield from _read_row("message", message, lambda value, of=session.stem: {"session_id": of, "data": value})
            for part in _json_files(storage / "part" / message.stem):
                yield from _read_row("part", part, lambda value, of=message.stem: {"message_id": of, "data": value})


def _list_descendants(path: Path) -> list[tuple[Path, str]]:
    """The session in `path` and its descendants, each with its parent's id."""
    children: dict[str, list[Path]] = {}
    for session in _json_files(path.parent):
        children.setdefault(_parent_id(session), []).append(session)
    family = [(path, "")]
    for session, _ in family:
        family += [(child, session.stem) for child in children.get(session.stem, []) if child != path]
    return family


def _parent_id(path: Path) -> str:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    parent = value.get("parentID") if isinstance(value, dict) else None
    return parent if isinstance(parent, str) else ""


def _json_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json")) if folder.is_dir() else []


def _read_row(table: str, path: Path, make_fields: Any) -> Iterator[bytes]:
    """Yield the row of a file, or its bytes if they are damaged, which the reader reports."""
    data = _read_bytes(path)
    try:
        value = json.loads(data)
        time = value.get("time") or {}
        row = {"id": path.stem, "time_created": time.get("created"), **make_fields(value)}
    except (ValueError, RecursionError, AttributeError):
        yield data.replace(b"\n", b" ") + b"\n"
        return
    yield json_line({"table": table, "row": row})


def _session_fields(value: dict[str, Any], parent: str) -> dict[str, Any]:
    fields = {key: value.get(key) for key in ("title", "directory", "version")}
    return {**fields, "parent_id": parent or None, "time_updated": (value.get("time") or {}).get("updated")}


def json_line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
