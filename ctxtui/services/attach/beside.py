"""The inspector beside a program in tmux: a pane of its own, which shows the session from its first request on."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.attach.control import ask_all
from ctxtui.services.recordings.open import load

OUTSIDE: Final = (
    "--split opens the inspector beside the program inside tmux only: `ctxtui` in another terminal shows it"
)
_LOOK: Final = 0.2
"""Seconds between two looks whether anything is recorded."""
_TMUX: Final = 10.0
"""Seconds that tmux may take."""


def split(folder: Path, run: str, env: Mapping[str, str] = os.environ) -> str:
    """Open the inspector in a pane beside this one, for what `run` records into `folder`; why not, "" where it was. The
    program keeps the focus, and the pane ends with the inspector."""
    if not env.get("TMUX"):
        return OUTSIDE
    waits = [sys.executable, "-P", "-m", "ctxtui.services.attach.beside", str(folder), run, str(os.getpid())]
    # -e: tmux gives a new pane the environment of its server, not ours.
    kept = [f"{name}={text}" for name, text in env.items() if name.startswith(("CTXTUI_", "XDG_")) or name == "HOME"]
    set_ = [word for one in kept for word in ("-e", one)]
    home = str(Path(__file__).resolve().parents[3])
    path = f"{home}{os.pathsep}{env['PYTHONPATH']}" if env.get("PYTHONPATH") else home
    command = ["tmux", "split-window", "-d", "-h", "-e", f"PYTHONPATH={path}", *set_, shlex.join(waits)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_TMUX, text=True)
    except FileNotFoundError:
        return "--split: there is no tmux here"
    except subprocess.SubprocessError as error:
        said = (getattr(error, "stderr", "") or str(error)).strip()
        return f"--split: tmux says {said}"
    return ""


def recorded(folder: Path, run: str) -> Path | None:
    """The first recording of `run`, as it tells itself; None where there is none yet."""
    told = next((told for name, told in ask_all(folder, {"do": "list"}) if name == run), {})
    return next((folder / str(name) for name in told.get("files", ())), None)


def main(folder: str, run: str, pid: str) -> None:
    """Wait for the first request of a run, then become the inspector of its session; end where the run does."""
    sys.stdout.write("ctxtui: waiting for the program's first request\n")
    sys.stdout.flush()
    while (path := recorded(Path(folder), run)) is None or not _shows(path):
        if not _lives(int(pid)):
            return
        time.sleep(_LOOK)
    os.execv(sys.executable, [sys.executable, "-P", "-m", "ctxtui", "open", str(path)])


def _shows(path: Path) -> bool:
    """Whether there is anything in a recording yet: a request that was answered, or one that is held."""
    try:
        load(path, own="")
    except CtxtuiError:
        return False
    return True


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(*sys.argv[1:4])
