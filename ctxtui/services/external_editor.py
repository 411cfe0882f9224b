"""Show a text in the user's editor or pager, through a file that only its owner can read."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ctxtui.core.errors import CtxtuiError

EDITOR = "vi"


class NoEditor(CtxtuiError):
    """The editor could not be started."""


def _editor_command() -> list[str]:
    """The editor's command as arguments: ``VISUAL``, ``EDITOR``, else vi.

    Raises `NoEditor` if malformed.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or EDITOR
    try:
        return shlex.split(command) or [EDITOR]
    except ValueError as error:
        raise NoEditor(f"cannot read the editor's command {command!r}: {error}", way_out="set $VISUAL") from None


def edit_text(text: str) -> str | None:
    """Open `text` in the editor and return the new text; None if it was not changed.

    Raises `NoEditor`, or another `CtxtuiError` if the editor failed.
    """
    command = _editor_command()
    with tempfile.TemporaryDirectory(prefix="ctxtui-") as folder:
        path = Path(folder) / "block.md"
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        path.chmod(0o600)
        before = path.read_bytes().decode()
        try:
            result = subprocess.run([*command, str(path)], check=False)
        except OSError as error:
            raise NoEditor(f"cannot start {command[0]}: {error.strerror}", way_out="set $VISUAL") from error
        if result.returncode:
            raise CtxtuiError(f"{command[0]} ended with exit code {result.returncode}; nothing was changed")
        new = path.read_bytes().decode("utf-8", "replace")
    # Most editors add a final newline.
    new = new if text.endswith("\n") else new.removesuffix("\n")
    return new if new != before else None


PAGER = "less"


class NoPager(CtxtuiError):
    """The pager could not be started."""


def _pager_command(setting: str) -> list[str]:
    """The pager's command as arguments: the setting, ``PAGER``, else less.

    Raises `NoPager` if malformed.
    """
    command = setting or os.environ.get("PAGER") or PAGER
    try:
        return shlex.split(command) or [PAGER]
    except ValueError as error:
        way_out = "set `pager` or $PAGER"
        raise NoPager(f"cannot read the pager's command {command!r}: {error}", way_out=way_out) from None


def show_in_pager(lines: Iterable[str], setting: str = "") -> None:
    """Show `lines`, which are safe to draw, in the pager and wait for it to end.

    Raises `NoPager`. less gets no ``-R`` from the environment: control sequences in the text are shown, not obeyed.
    """
    command = _pager_command(setting)
    with tempfile.TemporaryDirectory(prefix="ctxtui-") as folder:
        path = Path(folder) / "block.txt"
        with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(line + "\n" for line in lines)
        path.chmod(0o600)
        try:
            subprocess.run([*command, str(path)], env={**os.environ, "LESS": "", "LESSSECURE": "1"}, check=False)
        except OSError as error:
            raise NoPager(f"cannot start {command[0]}: {error.strerror}", way_out="set `pager` or $PAGER") from error
