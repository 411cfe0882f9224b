"""Runs a client that goes on with a session on a terminal only: `python terminal.py READY PROMPT COMMAND...`.

Once READY, which stands in its empty input, is on the screen and nothing moves, the prompt is typed and sent; once
READY is back and nothing moves the client is ended.
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

import pyte

_SIZE = 40, 120
_QUIET = 4.0
"""Seconds without a sign from the client after which it waits for a person: while it works it draws."""
_PATIENCE = 55.0


class Terminal:
    """A client on a terminal, and what a person sees of it."""

    def __init__(self, command: list[str]) -> None:
        self.pid, self._file = pty.fork()
        if not self.pid:
            os.execvp(command[0], command)
        fcntl.ioctl(self._file, termios.TIOCSWINSZ, struct.pack("HHHH", *_SIZE, 0, 0))
        self._cells = pyte.Screen(_SIZE[1], _SIZE[0])
        self._stream = pyte.ByteStream(self._cells)
        self._until = time.monotonic() + _PATIENCE

    @property
    def screen(self) -> str:
        return "\n".join(self._cells.display)

    def send(self, text: str) -> None:
        os.write(self._file, text.encode())

    def wait(self, text: str, quiet: float = _QUIET) -> None:
        """Wait until `text` is on the screen and nothing was drawn for `quiet` seconds."""
        while text not in self.screen or self._draws(quiet):
            if time.monotonic() > self._until:
                sys.exit(f"{text!r} is not on the screen, or it does not come to rest:\n{self.screen}")
            self._draws(0.5)

    def _draws(self, seconds: float) -> bool:
        """Whether something is drawn within `seconds`."""
        if not select.select([self._file], [], [], seconds)[0]:
            return False
        try:
            self._stream.feed(os.read(self._file, 65536))
        except OSError:
            sys.exit(f"it has ended:\n{self.screen}")
        return True


def main() -> None:
    ready, prompt, *command = sys.argv[1:]
    terminal = Terminal(command)
    try:
        terminal.wait(ready)
        terminal.send(prompt)
        terminal.wait(prompt, 1)
        terminal.send("\r")
        terminal.wait(ready)
        print(terminal.screen)
    finally:
        os.kill(terminal.pid, signal.SIGTERM)


if __name__ == "__main__":
    main()
