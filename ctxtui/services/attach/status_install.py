"""Installs ctxtui's status line in Claude Code's settings, and removes it.

All other bytes of the file stay.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct

from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.services.attach.program import find_home
from ctxtui.services.config.file_writing import mode_of, replace_file
from ctxtui.services.config.paths import data_dir

MEMBER: Final = "statusLine"
REFRESH_SECONDS: Final = 15
"""Seconds between two refreshes of the line in an idle client: the cache's remaining time changes."""
_SPACE: Final = " \t\n\r"


class StatusLineChange(NamedTuple):
    """A change of `file`: its `backup`, and the status line that was `replaced` ("": none)."""

    file: Path
    backup: Path | None
    replaced: str


class _Member(Struct, frozen=True):
    """Offsets of a member in the text of a JSON object: name, value, end."""

    start: int
    value: int
    end: int


def settings_file(env: Mapping[str, str] = os.environ) -> Path:
    """The path of the user's Claude Code settings."""
    return find_home(env, "CLAUDE_CONFIG_DIR", ".claude") / "settings.json"


def command() -> str:
    script = Path(sys.executable).parent / "ctxtui"
    words = [str(script)] if script.is_file() else [sys.executable, "-P", "-m", "ctxtui"]
    return shlex.join([*words, "statusline"])


def is_ours(value: object) -> bool:
    """Whether a status line of the settings is ctxtui's."""
    run = value.get("command") if isinstance(value, dict) else None
    try:
        words = shlex.split(run) if isinstance(run, str) else []
    except ValueError:
        return False
    return bool(words) and words[-1] == "statusline" and ("ctxtui" in words or Path(words[0]).name == "ctxtui")


def install(file: Path, *, replace: bool, setting: str = "") -> StatusLineChange | None:
    """Install the status line in `file`; None if one that can be started is installed already.

    `setting` is the user's ``data_dir``, whose ``status-lines.json`` keeps the previous value. Raises `BadConfig` if
    the file is no JSON object, `CtxtuiError` if it has another status line and `replace` is false.
    """
    target = Path(os.path.realpath(file))
    before = _read(target)
    text = before if before is not None and before.strip() else "{}\n"
    settings = _object(text, file)
    member = _find(text, MEMBER)
    old = text[member.value : member.end] if member is not None else ""
    value = json.dumps({"type": "command", "command": command(), "refreshInterval": REFRESH_SECONDS})
    if member is not None:
        after = text[: member.value] + value + text[member.end :]
        if is_ours(settings[MEMBER]):
            if shutil.which(shlex.split(settings[MEMBER]["command"])[0]) is not None:
                return None
            # It would start a ctxtui that is gone. The record keeps the line from before the installation.
            _store_record(setting, file, {**_load_records(setting).get(str(file), {}), "digest": ""})
            _write(target, after, target)
            return StatusLineChange(file, None, "")
        if not replace:
            way_out = "--replace replaces it until `ctxtui statusline remove`"
            raise CtxtuiError("another status line is installed", place=str(file), way_out=way_out)
    else:
        after = _with_member(text, f"{json.dumps(MEMBER)}: {value}", empty=not settings)
    _object(after, file)
    backup = None
    if before is not None:
        backup = file.with_name(file.name + ".before-ctxtui")
        _write(Path(os.path.realpath(backup)), before, target)
    _store_record(
        setting, file, {"old": old, "made": before is None, "backup": str(backup or ""), "digest": _digest(after)}
    )
    _write(target, after, target)
    return StatusLineChange(file, backup, old)


def remove(file: Path, *, setting: str = "") -> StatusLineChange | None:
    """Remove the status line from `file` and restore the one before; None if not installed.

    A file that has not changed since the installation is restored byte for byte (or deleted, if ctxtui created it).
    """
    target = Path(os.path.realpath(file))
    text, record = _read(target), _load_records(setting).get(str(file), {})
    if text is None or not text.strip():
        _store_record(setting, file, None)
        return None
    settings = _object(text, file)
    member = _find(text, MEMBER)
    if member is None or not is_ours(settings[MEMBER]):
        _store_record(setting, file, None)
        return None
    backup = Path(record["backup"]) if record.get("backup") else None
    restored = _read(backup) if backup is not None and record.get("digest") == _digest(text) else None
    old = str(record.get("old", ""))
    if record.get("made") and record.get("digest") == _digest(text):
        target.unlink()
    else:
        after = text[: member.value] + old + text[member.end :] if old else _without(text, member)
        _write(target, restored if restored is not None else after, target)
    if restored is not None and backup is not None:
        # The file is restored completely, so the backup is not needed.
        backup.unlink()
    _store_record(setting, file, None)
    return StatusLineChange(file, None if restored is not None else backup, old)


def remove_everywhere(setting: str = "") -> list[Path]:
    """Remove the status line from every file that it was installed in; return those files."""
    removed = [remove(Path(name), setting=setting) for name in _load_records(setting)]
    return [removal.file for removal in removed if removal is not None]


def _with_member(text: str, member: str, *, empty: bool) -> str:
    """Insert `member` first in the object `text`, indented like the others (`empty`: by 2)."""
    open_ = text.index("{") + 1
    first_token = _skip_blanks(text, open_)
    if empty:
        return f"{text[:open_]}\n  {member}\n{text[first_token:]}"
    gap = text[open_:first_token]
    return f"{text[:open_]}{gap}{member},{gap or ' '}{text[first_token:]}"


def _without(text: str, member: _Member) -> str:
    """Remove a member from `text`, with the comma after it or, if it is the last, before it."""
    end = _skip_blanks(text, member.end)
    if text[end] == ",":
        return text[: member.start] + text[_skip_blanks(text, end + 1) :]
    start = member.start
    while start and text[start - 1] in _SPACE:
        start -= 1
    return text[: start - 1] + text[member.end :] if text[start - 1] == "," else text[:start] + text[end:]


def _find(text: str, name: str) -> _Member | None:
    """Find the last member `name` in the JSON `text` of an object; None if it has none."""
    decoder = json.JSONDecoder()
    at, member = _skip_blanks(text, text.index("{") + 1), None
    while text[at] != "}":
        key, after = decoder.raw_decode(text, at)
        value = _skip_blanks(text, _skip_blanks(text, after) + 1)
        _, end = decoder.raw_decode(text, value)
        if key == name:
            member = _Member(at, value, end)
        at = _skip_blanks(text, end)
        at = _skip_blanks(text, at + 1) if text[at] == "," else at
    return member


def _skip_blanks(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at


def _object(text: str, file: Path) -> dict[str, Any]:
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadConfig(
            f"the client's settings are not JSON: {error}", place=str(file), way_out="fix the file"
        ) from None
    if not isinstance(settings, dict):
        raise BadConfig("the client's settings are not a JSON object", place=str(file), way_out="fix the file")
    return settings


def _read(path: Path) -> str | None:
    try:
        # Read as bytes to keep the line ends.
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise BadConfig(f"the client's settings are not UTF-8: {error}", place=str(path)) from None
    except OSError as error:
        raise CtxtuiError(f"cannot be read: {error.strerror}", place=str(path)) from None


def _write(path: Path, text: str, like: Path) -> None:
    """Write `path` atomically, with the mode of `like`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode("utf-8"), mode_of(like))
    except OSError as error:
        raise CtxtuiError(f"cannot be written: {error.strerror}", place=str(path)) from None


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()


def _records_path(setting: str) -> Path:
    return data_dir(setting) / "status-lines.json"


def _load_records(setting: str) -> dict[str, dict[str, Any]]:
    try:
        content = json.loads(_records_path(setting).read_bytes())
    except (OSError, ValueError):
        return {}
    records = content if isinstance(content, dict) else {}
    return {name: record for name, record in records.items() if isinstance(record, dict)}


def _store_record(setting: str, file: Path, record: dict[str, Any] | None) -> None:
    records = _load_records(setting)
    after = {name: other for name, other in records.items() if name != str(file)}
    after |= {str(file): record} if record is not None else {}
    if after != records:
        place = _records_path(setting)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(place, json.dumps(after), place)
