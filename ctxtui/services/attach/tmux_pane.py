"""Opens the inspector in a tmux pane next to a program."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.attach.control import ask_all
from ctxtui.services.recordings.open import load

NEEDS_TMUX: Final = "--split works inside tmux only; run `ctxtui` in another terminal to see the session"
_POLL_S: Final = 0.2
_TMUX_TIMEOUT_S: Final = 10.0


def split(folder: Path, run: str) -> str:
    """Open a pane that waits for the first recording of `run` in `folder`, then shows it.

    Return an error or "".
    """
    env = os.environ
    if not env.get("TMUX"):
        return NEEDS_TMUX
    waiter = [sys.executable, "-P", "-m", "ctxtui.services.attach.tmux_pane", str(folder), run, str(os.getpid())]
    # -e: tmux gives a new pane the environment of its server, not ours.
    variables = [
        f"{name}={text}" for name, text in env.items() if name.startswith(("CTXTUI_", "XDG_")) or name == "HOME"
    ]
    variable_options = [word for variable in variables for word in ("-e", variable)]
    package_root = str(Path(__file__).resolve().parents[3])
    path = f"{package_root}{os.pathsep}{env['PYTHONPATH']}" if env.get("PYTHONPATH") else package_root
    command = ["tmux", "split-window", "-d", "-h", "-e", f"PYTHONPATH={path}", *variable_options, shlex.join(waiter)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_TMUX_TIMEOUT_S, text=True)
    except FileNotFoundError:
        return "--split: tmux is not installed"
    except subprocess.TimeoutExpired:
        return f"--split: tmux did not answer within {_TMUX_TIMEOUT_S:g} s"
    except subprocess.SubprocessError as error:
        message = (getattr(error, "stderr", "") or str(error)).strip()
        return f"--split: tmux says {message}"
    return ""


def find_recording(folder: Path, run: str) -> Path | None:
    """The recording of `run` that is first by name, according to the run's process.

    None if there is none yet, or no answer.
    """
    answer = next((answer for name, answer in ask_all(folder, {"do": "list"}) if name == run), {})
    return next((folder / str(name) for name in answer.get("files", ())), None)


def main(folder: str, run: str, pid: str) -> None:
    """Wait until the run has a recording with content, then become its inspector.

    Return if the process `pid` ends before.
    """
    sys.stdout.write("ctxtui: waiting for the program's first request\n")
    sys.stdout.flush()
    while (path := find_recording(Path(folder), run)) is None or not _has_content(path):
        if not _is_alive(int(pid)):
            return
        time.sleep(_POLL_S)
    os.execv(sys.executable, [sys.executable, "-P", "-m", "ctxtui", "open", str(path)])


def _has_content(path: Path) -> bool:
    """Whether a recording has content yet: an answered or a held request."""
    try:
        load(path, own="")
    except CtxtuiError:
        return False
    return True


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(*sys.argv[1:4])
