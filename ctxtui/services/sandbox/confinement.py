"""How a program is confined on this machine: bubblewrap or plain namespaces on Linux, sandbox-exec on macOS, else not
at all."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from ctxtui.dataclasses import dataclass

BWRAP: Final = "bwrap"
SEATBELT: Final = "sandbox-exec"
UNSHARE: Final = "unshare"
_INSIDE: Final = Path(__file__).with_name("inside.py")
_FRESH: Final = (Path("/tmp"), Path("/dev/shm"))
"""Folders that a confined program gets empty, of its own."""
UNCONFINED: Final = "not confined: it can do whatever you can"
_SECRETS: Final = (".ssh", ".aws", ".gnupg", ".kube", ".docker", ".config/gh", ".config/gcloud", ".netrc", ".npmrc")
"""Below the home folder; what is there is not seen by a confined program."""
_KEPT: Final = (
    ".git/hooks", ".git/config", ".github", ".gitlab-ci.yml", ".claude", ".mcp.json", ".vscode", ".envrc",
    "ctxtui.toml", "CLAUDE.md", "AGENTS.md",
)  # fmt: skip
"""In the folder, where they are: other programs obey them, so a confined program does not write them."""


@dataclass(frozen=True, slots=True)
class Confinement:
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
        return f"confined by {self.kind}: writes in this folder only, {reach}"

    def wrapped(self, argv: Sequence[str], root: Path, home: Path, *, network: bool = False) -> list[str]:
        """The command that runs `argv` in the folder `root`: it reads what the user reads, but for secrets below
        `home`, and writes in `root` alone."""
        if self.kind == BWRAP:
            return [*_bwrap(root, home, network), "--", *argv]
        if self.kind == SEATBELT:
            return [SEATBELT, "-p", _seatbelt(root, home, network), *argv]
        if self.kind == UNSHARE:
            return [*_unshare(root, home, network), *argv]
        return list(argv)


def _interpreter(root: Path) -> list[Path]:
    """Folders of the running Python below those that a confined program gets fresh and empty, unless inside `root`.
    Without them a checkout or virtual environment below /tmp could not run a script of its own."""
    prefixes = {Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)}
    hidden = (prefix for prefix in prefixes if any(prefix.is_relative_to(fresh) for fresh in _FRESH))
    return sorted(prefix for prefix in hidden if not prefix.is_relative_to(root))


def _unshare(root: Path, home: Path, network: bool) -> list[str]:
    """User, mount and process namespaces, and one of the network; the rest is done inside of them."""
    plan = {
        "root": str(root),
        "fresh": [str(path) for path in _FRESH],
        "readable": [str(path) for path in _interpreter(root)],
        "hidden": [str(home / name) for name in _SECRETS],
        "kept": [str(root / name) for name in _KEPT],
        "network": network,
    }
    spaces = ["--user", "--map-current-user", "--keep-caps", "--mount", "--pid", "--ipc"]
    spaces += [] if network else ["--net"]
    inside = [sys.executable, "-I", "-S", str(_INSIDE), json.dumps(plan)]
    return [UNSHARE, *spaces, "--fork", "--kill-child", "--mount-proc", *inside]


def _bwrap(root: Path, home: Path, network: bool) -> list[str]:
    found = [BWRAP, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    for path in _interpreter(root):
        found += ["--ro-bind", str(path), str(path)]
    for name in _SECRETS:
        path = home / name
        if path.is_dir():
            found += ["--tmpfs", str(path)]
        elif path.is_file():
            found += ["--ro-bind", "/dev/null", str(path)]
    found += ["--bind", str(root), str(root)]
    for name in _KEPT:
        if (root / name).exists():
            found += ["--ro-bind", str(root / name), str(root / name)]
    found += [] if network else ["--unshare-net"]
    return [*found, "--unshare-pid", "--die-with-parent", "--new-session", "--chdir", str(root)]


def _seatbelt(root: Path, home: Path, network: bool) -> str:
    """A profile in the language of sandbox-exec: the last rule that fits decides."""

    def paths(kind: str, found: Sequence[Path]) -> str:
        return " ".join(f'({kind} "{_quoted(path)}")' for path in found)

    rules = ["(version 1)", "(allow default)", "(deny file-write*)", '(allow file-write* (subpath "/dev"))']
    rules.append(f"(allow file-write* {paths('subpath', [root, Path('/private/tmp'), Path('/private/var/folders')])})")
    rules.append(f"(deny file-write* {paths('subpath', [root / name for name in _KEPT])})")
    rules.append(f"(deny file-read* {paths('subpath', [home / name for name in _SECRETS])})")
    return "".join([*rules, *([] if network else ["(deny network*)"])])


def _quoted(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace('"', '\\"')


@cache
def confinement() -> Confinement:
    """What this machine has and lets us use; for a worker thread, it is tried out once."""
    for kind in (BWRAP, SEATBELT, UNSHARE):
        if shutil.which(kind) and _works(kind):
            return Confinement(kind)
    return Confinement()


def _works(kind: str) -> bool:
    """Whether it can be used here: in many containers it is there and cannot."""
    home = Path.home()
    try:
        trial = Confinement(kind).wrapped(["true"], Path("/tmp") if kind == SEATBELT else home, home)
        return subprocess.run(trial, capture_output=True, timeout=5, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
