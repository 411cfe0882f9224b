"""A chat whose answer streams in, in a real terminal, with all that stands around it: ``python -m
benchmarks.proxy.drawn_screen FOLDER``. Prints a line once something of the answer is on the screen, and stops the
stream. Then each line that it reads, ``go`` or ``rest``, lets the stream go on or stops it, and is answered with the
frames that came since the one before."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

from benchmarks.goals.stream import Source
from benchmarks.sessions import home
from benchmarks.terminal import CTXTUI, Terminal

GO, REST = "go", "rest"
_TOGETHER = 0.004
"""Seconds between two pieces of one frame at most."""


def main() -> None:
    """Until standard input ends."""
    source = Source()
    # It says aloud when the screen goes away.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    env = {**home(Path(sys.argv[1])), "ANTHROPIC_API_KEY": "none"}
    command = [*CTXTUI, "chat", "--provider", "anthropic", "--base-url", source.url, "--model", "claude-opus-5-5"]
    with Terminal(command, env=env) as run:
        run.until_text(b" of 750k")  # the gauge: what the model may take
        run.settle(1.5)
        run.type(b"tell me\r")
        run.until_text(b"quick")
        source.pauses.set()
        run.settle(0.5)
        print("ready", flush=True)
        frames = 0
        while True:
            if select.select([sys.stdin], [], [], 0)[0]:
                asked = sys.stdin.readline().strip()
                if not asked:
                    return
                (source.pauses.clear if asked == GO else source.pauses.set)()
                print(frames, flush=True)
                frames = 0
            if run.read(0.05):
                frames += 1
                while run.read(_TOGETHER):
                    pass
                run.forget()


if __name__ == "__main__":
    main()
