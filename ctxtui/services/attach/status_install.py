"""Puts ctxtui's status line into Claude Code's settings, and takes it out: every other byte of the file stays.

What stood there before is kept in a file of ours, which says also whether the file was made by us.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct

from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.services.config.paths import data_dir

MEMBER: Final = "statusLine"
EVERY: Final = 15
"""Seconds after which the client asks again while nothing happens: the cache's life goes on."""
_SPACE: Final = " \t\n\r"


class Installed(NamedTuple):
    """What was done to `file`; `backup` is what it was before (None: it was not there), `replaced` the status line that
    stood in it ("": none)."""

    file: Path
    backup: Path | None
    replaced: str


class _Member(Struct, frozen=True):
    """Where a member of an object stands in a text: from its name on, its value, its end."""

    start: int
    value: int
    end: int


def settings_file(env: Mapping[str, str] | None = None) -> Path:
    """The user's settings of Claude Code."""
    own = os.environ if env is None else env
    named = own.get("CLAUDE_CONFIG_DIR")
    home = Path(named).expanduser() if named else Path(own.get("HOME") or os.path.expanduser("~")) / ".claude"
    return home / "settings.json"


def command() -> str:
    """What the client runs: this very ctxtui."""
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


def install(file: Path, *, replace: bool, setting: str = "") -> Installed | None:
    """Put the status line into `file`; None where it stands there already. `setting` is the user's ``data_dir``. Raises
    `BadConfig` where the file is no JSON object, `CtxtuiError` where another status line stands in it that is not to
    be replaced."""
    target = Path(os.path.realpath(file))
    before = _read(target)
    text = before if before is not None and before.strip() else "{}\n"
    known = _object(text, file)
    found = _find(text, MEMBER)
    old = text[found.value : found.end] if found is not None else ""
    own = json.dumps({"type": "command", "command": command(), "refreshInterval": EVERY})
    if found is not None:
        if is_ours(known[MEMBER]):
            return None
        if not replace:
            raise CtxtuiError("another status line stands there", place=str(file), way_out="--replace puts ours in its "
                              "place until `ctxtui statusline remove`")  # fmt: skip
        after = text[: found.value] + own + text[found.end :]
    else:
        after = _with_member(text, f"{json.dumps(MEMBER)}: {own}", empty=not known)
    _object(after, file)
    backup = None
    if before is not None:
        backup = file.with_name(file.name + ".before-ctxtui")
        _write(Path(os.path.realpath(backup)), before, target)
    _remember(
        setting, file, {"old": old, "made": before is None, "backup": str(backup or ""), "digest": _digest(after)}
    )
    _write(target, after, target)
    return Installed(file, backup, old)


def remove(file: Path, *, setting: str = "") -> Installed | None:
    """Take the status line out of `file` and put back what stood there before; None where it is not there."""
    target = Path(os.path.realpath(file))
    text, kept = _read(target), _remembered(setting).get(str(file), {})
    if text is None or not text.strip():
        _remember(setting, file, None)
        return None
    known = _object(text, file)
    found = _find(text, MEMBER)
    if found is None or not is_ours(known[MEMBER]):
        _remember(setting, file, None)
        return None
    backup = Path(kept["backup"]) if kept.get("backup") else None
    whole = _read(backup) if backup is not None and kept.get("digest") == _digest(text) else None
    old = str(kept.get("old", ""))
    if kept.get("made") and kept.get("digest") == _digest(text):
        target.unlink()
    else:
        after = text[: found.value] + old + text[found.end :] if old else _without(text, found)
        _write(target, whole if whole is not None else after, target)
    if whole is not None and backup is not None:
        # It is the file itself again.
        backup.unlink()
    _remember(setting, file, None)
    return Installed(file, None if whole is not None else backup, old)


def remove_everywhere(setting: str = "") -> list[Path]:
    """Take the status line out of every file that it was put into; those files. Nothing is done where it is in none."""
    removed = [remove(Path(name), setting=setting) for name in _remembered(setting)]
    return [one.file for one in removed if one is not None]


def _with_member(text: str, member: str, *, empty: bool) -> str:
    """`text`, an object, with `member` in front of its others, set off as these are."""
    open_ = text.index("{") + 1
    ink = next(n for n in range(open_, len(text)) if text[n] not in _SPACE)
    if empty:
        return f"{text[:open_]}\n  {member}\n{text[ink:]}"
    gap = text[open_:ink]
    return f"{text[:open_]}{gap}{member},{gap or ' '}{text[ink:]}"


def _without(text: str, found: _Member) -> str:
    """`text` less a member: with the comma and the blanks behind it, or before it where it is the last one."""
    end = next(n for n in range(found.end, len(text)) if text[n] not in _SPACE)
    if text[end] == ",":
        rest = next(n for n in range(end + 1, len(text)) if text[n] not in _SPACE)
        return text[: found.start] + text[rest:]
    start = found.start
    while start and text[start - 1] in _SPACE:
        start -= 1
    return text[: start - 1] + text[found.end :] if text[start - 1] == "," else text[:start] + text[end:]


def _find(text: str, name: str) -> _Member | None:
    """Where the member `name` of an object stands in its `text`, which is JSON; of several the last, which counts."""
    decoder = json.JSONDecoder()
    at, found = _ink(text, text.index("{") + 1), None
    while text[at] != "}":
        key, after = decoder.raw_decode(text, at)
        value = _ink(text, _ink(text, after) + 1)
        _, end = decoder.raw_decode(text, value)
        if key == name:
            found = _Member(at, value, end)
        at = _ink(text, end)
        at = _ink(text, at + 1) if text[at] == "," else at
    return found


def _ink(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at


def _object(text: str, file: Path) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadConfig(
            f"the client's settings are no JSON: {error}", place=str(file), way_out="mend the file"
        ) from None
    if not isinstance(found, dict):
        raise BadConfig("the client's settings are no JSON object", place=str(file), way_out="mend the file")
    return found


def _read(path: Path) -> str | None:
    try:
        # As bytes: line ends stay what they are.
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise BadConfig(f"the client's settings are no UTF-8: {error}", place=str(path)) from None
    except OSError as error:
        raise CtxtuiError(f"cannot be read: {error.strerror}", place=str(path)) from None


def _write(path: Path, text: str, like: Path) -> None:
    """Write `path` at once or not at all, with the mode of `like`."""
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    half = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(text.encode("utf-8"))
        half.chmod(mode)
        half.replace(path)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise CtxtuiError(f"cannot be written: {error.strerror}", place=str(path)) from None


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()


def _place(setting: str) -> Path:
    return data_dir(setting) / "status-lines.json"


def _remembered(setting: str) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(_place(setting).read_bytes())
    except (OSError, ValueError):
        return {}
    own = found if isinstance(found, dict) else {}
    return {name: held for name, held in own.items() if isinstance(held, dict)}


def _remember(setting: str, file: Path, what: dict[str, Any] | None) -> None:
    known = _remembered(setting)
    after = {name: held for name, held in known.items() if name != str(file)}
    after |= {str(file): what} if what is not None else {}
    if after != known:
        place = _place(setting)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(place, json.dumps(after), place)
