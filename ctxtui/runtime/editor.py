"""A text in the user's editor: written to a file only its owner can read, and read back."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ctxtui.core.errors import CtxtuiError

FALLBACK = "vi"


class NoEditor(CtxtuiError):
    """The editor could not be started, or ended in an error."""


def editor_command(env: Mapping[str, str]) -> list[str]:
    """The editor as words: ``VISUAL``, ``EDITOR``, else vi. Raises `NoEditor` where it cannot be read."""
    told = env.get("VISUAL") or env.get("EDITOR") or FALLBACK
    try:
        return shlex.split(told) or [FALLBACK]
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
