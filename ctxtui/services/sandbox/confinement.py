"""How a program is confined on this machine: bubblewrap or plain namespaces on Linux, sandbox-exec on macOS, else not
at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.services.sandbox.view import View, view_of

BWRAP: Final = "bwrap"
SEATBELT: Final = "sandbox-exec"
UNSHARE: Final = "unshare"
_INSIDE: Final = Path(__file__).with_name("inside.py")
_BWRAP_OWN: Final = (
    "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--die-with-parent", "--new-session",
)  # fmt: skip
_WITH_PARENT: Final = ("setpriv", "--pdeathsig", "KILL")
"""It ends when ctxtui does, as bubblewrap does with ``--die-with-parent``."""
_TRIAL: Final = 60.0
"""Seconds in which a program that does nothing has ended, also on a busy machine."""
UNCONFINED: Final = "not confined: it can do whatever you can"


class Confinement(Struct, frozen=True):
    """The way in which programs are confined: `kind` is ``bwrap``, ``sandbox-exec``, ``unshare``, or "" for not at
    all."""

    kind: str = ""

    def __bool__(self) -> bool:
        return bool(self.kind)

    def told(self, *, network: bool = False) -> str:
        """What a program can do, for whoever answers for it."""
        if not self.kind:
            return UNCONFINED
        reach = "the network" if network else "no network"
        return f"confined by {self.kind}: only this folder, {reach}"

    def wrapped(self, argv: Sequence[str], view: View, *, network: bool = False) -> list[str]:
        """The command that runs `argv` in the root of `view`, from which it is to be started, and sees nothing else."""
        closed = [] if network else ["--unshare-net"]
        if self.kind == BWRAP:
            own = [*_BWRAP_OWN, "--chdir", str(view.root)]
            return [BWRAP, *view.options(), *closed, *own, "--", *argv]
        if self.kind == UNSHARE:
            spaces = ["--user", "--map-current-user", "--keep-caps", "--mount", "--pid", "--ipc"]
            spaces += [] if network else ["--net"]
            inside = [sys.executable, "-I", "-S", str(_INSIDE), *view.options(), *closed, "--", *argv]
            return [*_WITH_PARENT, UNSHARE, *spaces, "--fork", "--kill-child", "--mount-proc", *inside]
        if self.kind == SEATBELT:
            return [SEATBELT, "-p", view.profile(network=network), *argv]
        return list(argv)


def confinement(root: Path | None = None) -> Confinement:
    """What this machine has and lets us use for a program in `root`; for a worker thread, it is tried out once. The
    whole machine as a folder is no confinement."""
    return Confinement() if root is not None and root.resolve() == Path("/") else _found()


@cache
def _found() -> Confinement:
    for kind in (BWRAP, SEATBELT, UNSHARE):
        if shutil.which(kind) and works(kind):
            return Confinement(kind)
    return Confinement()


def works(kind: str) -> bool:
    """Whether it can be used here: in many containers it is there and cannot."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            trial = Confinement(kind).wrapped(["true"], view_of(root, Path.home(), os.environ))
            return subprocess.run(trial, cwd=root, capture_output=True, timeout=_TRIAL, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
