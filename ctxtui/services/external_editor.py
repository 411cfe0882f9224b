"""A text in the user's editor or pager, as a file that only its owner can read."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from ctxtui.core.errors import CtxtuiError

EDITOR = "vi"


class NoEditor(CtxtuiError):
    """The editor could not be started, or ended in an error."""


def editor_command(env: Mapping[str, str]) -> list[str]:
    """The editor as words: ``VISUAL``, ``EDITOR``, else vi. Raises `NoEditor` where it cannot be read."""
    told = env.get("VISUAL") or env.get("EDITOR") or EDITOR
    try:
        return shlex.split(told) or [EDITOR]
    except ValueError as error:
        raise NoEditor(f"cannot read the editor's command {told!r}: {error}", way_out="set $EDITOR") from None


def edited_text(text: str, env: Mapping[str, str] | None = None) -> str | None:
    """`text` as the user leaves it; None where the file was not changed. The file is removed after it.

    Raises `NoEditor`.
    """
    env = os.environ if env is None else env
    words = editor_command(env)
    with tempfile.TemporaryDirectory(prefix="ctxtui-") as folder:
        path = Path(folder) / "block.md"
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        path.chmod(0o600)
        before = path.read_bytes()
        try:
            done = subprocess.run([*words, str(path)], env=dict(env), check=False)
        except OSError as error:
            raise NoEditor(f"cannot start {words[0]}: {error.strerror}", way_out="set $EDITOR") from error
        if done.returncode:
            raise NoEditor(f"{words[0]} ended with exit code {done.returncode}; nothing was changed")
        after = path.read_bytes()
    if after == before:
        return None
    new = after.decode("utf-8", "replace")
    # Most editors end a file with a line end that was not there.
    return new.removesuffix("\n") if not text.endswith("\n") else new


PAGER = "less"


class NoPager(CtxtuiError):
    """The pager could not be started."""


def pager_command(setting: str, env: Mapping[str, str]) -> list[str]:
    """The pager as words: the setting, else ``PAGER``, else less. Raises `NoPager` where it cannot be read."""
    told = setting or env.get("PAGER") or PAGER
    try:
        words = shlex.split(told)
    except ValueError as error:
        raise NoPager(f"cannot read the pager's command {told!r}: {error}", way_out="set `pager` or $PAGER") from None
    return words or [PAGER]


def page(lines: Iterable[str], setting: str = "", env: Mapping[str, str] | None = None) -> None:
    """Show `lines` (safe to draw: see `safe_text`) in the pager and wait for it. The file is removed after it.

    Raises `NoPager`. less gets no ``-R`` from the environment: what is in the text is shown and never obeyed.
    """
    env = os.environ if env is None else env
    words = pager_command(setting, env)
    with tempfile.TemporaryDirectory(prefix="ctxtui-") as folder:
        path = Path(folder) / "block.txt"
        with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(line + "\n" for line in lines)
        path.chmod(0o600)
        try:
            subprocess.run([*words, str(path)], env={**env, "LESS": "", "LESSSECURE": "1"}, check=False)
        except OSError as error:
            raise NoPager(f"cannot start {words[0]}: {error.strerror}", way_out="set `pager` or $PAGER") from error
