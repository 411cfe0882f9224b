"""A network namespace with loopback only, in which clients and the offline provider run: nothing can leave it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REFUSED = (
    "clients run in a network namespace of their own, and `unshare -rn` is not permitted here: {why}\n"
    "allow it (sysctl kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0; in a "
    "container --security-opt seccomp=unconfined), or leave these tests out with CLIENTS=none"
)


class ClientFailed(AssertionError):
    """A process ended with an error, or took longer than it may."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace that is held by the process `pid`."""

    pid: int

    def start(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        log: Path,
        out: Path | None = None,
        open_: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Start `command` inside; what it prints goes to `log`, or its output to `out`. `open_` leaves its input open,
        else it has nothing to read."""
        inside = ["nsenter", "--preserve-credentials", "-U", "-n", "-t", str(self.pid), "--", *command]
        reads = subprocess.PIPE if open_ else subprocess.DEVNULL
        with log.open("ab") as printed, (out or Path(os.devnull)).open("wb") as result:
            to = result if out else printed
            return subprocess.Popen(inside, cwd=cwd, env=dict(env), stdin=reads, stdout=to, stderr=printed)

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        log: Path,
        out: Path | None = None,
        seconds: float,
    ) -> None:
        """Run `command` inside to its end; fails, with what it printed, unless it ends well and in time."""
        finish(self.start(command, cwd=cwd, env=env, log=log, out=out), log, seconds)


def finish(running: subprocess.Popen[bytes], log: Path, seconds: float) -> None:
    """Wait until `running` has ended; fails, with what it printed, unless it ends well and in time."""
    code = ended(running, log, seconds)
    if code:
        raise ClientFailed(f"ended with {code}: {running.args!r}\n{tail(log)}")


def ended(running: subprocess.Popen[bytes], log: Path, seconds: float) -> int:
    """What `running` ends with; fails, with what it printed, where it does not in time."""
    try:
        return running.wait(seconds)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait()
        raise ClientFailed(f"not ended after {seconds} s: {running.args!r}\n{tail(log)}") from None


def tail(log: Path) -> str:
    """The end of what was printed."""
    return log.read_text(errors="replace")[-4000:]


@contextmanager
def namespace() -> Iterator[Namespace]:
    """A namespace; when it is left every process in it is ended."""
    command = ["unshare", "-rn", sys.executable, "-P", str(Path(__file__).with_name("inside.py"))]
    try:
        holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError as error:
        raise ClientFailed(REFUSED.format(why=error)) from None
    assert holder.stdin is not None and holder.stdout is not None and holder.stderr is not None
    if holder.stdout.readline() != b"up\n":
        why = holder.stderr.read().decode(errors="replace").strip()
        holder.wait(10)
        raise ClientFailed(REFUSED.format(why=why))
    try:
        yield Namespace(holder.pid)
    finally:
        holder.stdin.close()
        holder.wait(20)
        holder.stdout.close()
        holder.stderr.close()
