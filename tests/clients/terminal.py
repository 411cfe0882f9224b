"""Runs a client that goes on with a session on a terminal only: `python terminal.py READY PROMPT COMMAND...`.

Once READY is on the screen the prompt is typed; once nothing more is drawn for a while the client is ended.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

_QUIET = 4.0
"""Seconds without a sign from the client after which it waits for a person: while it works it draws."""
_PATIENCE = 50.0


def main() -> int:
    ready, prompt, *command = sys.argv[1:]
    pid, terminal = pty.fork()
    if not pid:
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    until = time.monotonic() + _PATIENCE
    try:
        drawn = drawn_until_quiet(terminal, until)
        if ready.encode() not in drawn:
            print(f"{ready!r} is not on the screen:", drawn.decode(errors="replace"))
            return 1
        os.write(terminal, prompt.encode())
        drawn_until_quiet(terminal, until, 1)
        os.write(terminal, b"\r")
        print(drawn_until_quiet(terminal, until).decode(errors="replace"))
    finally:
        os.kill(pid, signal.SIGTERM)
    return 0


def drawn_until_quiet(terminal: int, until: float, quiet: float = _QUIET) -> bytes:
    """What the client draws until it is quiet, or has ended."""
    drawn = b""
    while time.monotonic() < until and select.select([terminal], [], [], quiet)[0]:
        try:
            drawn += os.read(terminal, 65536)
        except OSError:  # it has ended
            break
    return drawn


if __name__ == "__main__":
    sys.exit(main())
