"""Writes the log file of a crash: error, traceback, versions.

It has no variables, so that nothing of a recording is in it except for quotes in the error's message.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from ctxtui import __version__
from ctxtui.services.config.paths import log_dir


def write_crash(error: BaseException, arguments: Sequence[str] = (), *, session: str = "") -> Path:
    """Write `error` with its traceback to a new file of mode 0600 and return its path.

    `arguments` are the command line's, `session` names the open session. Raises `OSError` if no file can be created.
    """
    folder = log_dir()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    path = folder / f"crash-{stamp}-{os.getpid()}.log"
    head = [
        f"ctxtui {__version__}, Python {sys.version.split()[0]}, {sys.platform}",
        f"arguments: {list(arguments)!r}",
        f"session: {session or 'none'}",
        "",
    ]
    text = "\n".join(head) + "".join(traceback.format_exception(error))
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return path
