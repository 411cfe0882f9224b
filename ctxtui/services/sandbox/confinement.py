"""Choose how to confine programs.

The choices are bubblewrap or plain namespaces on Linux, sandbox-exec on macOS, else nothing.
"""

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

from ctxtui.services.sandbox.view import View, build_view

BWRAP: Final = "bwrap"
SEATBELT: Final = "sandbox-exec"
UNSHARE: Final = "unshare"
_ENTER_NAMESPACES: Final = Path(__file__).with_name("enter_namespaces.py")
_BWRAP_OPTIONS: Final = (
    "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--die-with-parent", "--new-session",
)  # fmt: skip
"""Options of bubblewrap that only it understands."""
_WITH_PARENT: Final = ("setpriv", "--pdeathsig", "KILL")
"""Ends the program with ctxtui, like bubblewrap's ``--die-with-parent``."""
_TRIAL_SECONDS: Final = 60.0
UNCONFINED: Final = "not confined: it can do whatever you can"


class Confinement(Struct, frozen=True):
    """A way to confine programs: ``bwrap``, ``sandbox-exec``, ``unshare``, or "" for none."""

    kind: str = ""

    def __bool__(self) -> bool:
        return bool(self.kind)

    def describe(self, *, network: bool = False) -> str:
        """Describe to the user what a confined program can do."""
        if not self.kind:
            return UNCONFINED
        reach = "the network" if network else "no network"
        return f"confined by {self.kind}: only this folder, {reach}"

    def wrap(self, argv: Sequence[str], view: View, *, network: bool = False) -> list[str]:
        """The command that runs `argv` confined to `view`. It must be started in the root of `view`."""
        network_options = [] if network else ["--unshare-net"]
        if self.kind == BWRAP:
            return [BWRAP, *view.options(), *network_options, *_BWRAP_OPTIONS, "--chdir", str(view.root), "--", *argv]
        if self.kind == UNSHARE:
            spaces = ["--user", "--map-current-user", "--keep-caps", "--mount", "--pid", "--ipc"]
            spaces += [] if network else ["--net"]
            inner_argv = [
                sys.executable,
                "-I",
                "-S",
                str(_ENTER_NAMESPACES),
                *view.options(),
                *network_options,
                "--",
                *argv,
            ]
            return [*_WITH_PARENT, UNSHARE, *spaces, "--fork", "--kill-child", "--mount-proc", *inner_argv]
        if self.kind == SEATBELT:
            return [SEATBELT, "-p", view.profile(network=network), *argv]
        return list(argv)


def find_confinement(root: Path | None = None) -> Confinement:
    """Find the confinement for programs in `root`; the machine's root folder has none.

    Blocks when first called: it is tried out once.
    """
    return Confinement() if root is not None and root.resolve() == Path("/") else _try_confinements()


@cache
def _try_confinements() -> Confinement:
    for kind in (BWRAP, SEATBELT, UNSHARE):
        if shutil.which(kind) and is_usable(kind):
            return Confinement(kind)
    return Confinement()


def is_usable(kind: str) -> bool:
    """True if `kind` can be used here: in many containers it is installed and does not work."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            trial = Confinement(kind).wrap(["true"], build_view(root, Path.home(), os.environ))
            done = subprocess.run(trial, cwd=root, capture_output=True, timeout=_TRIAL_SECONDS, check=False)
            return done.returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
