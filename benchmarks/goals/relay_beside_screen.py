"""What a screen that is drawn at 30 frames a second does to the chunks that go through our relay (goal G15).

The screen is a real one, `ctxtui chat` while an answer streams in, in a process of its own as the relay is. Each pair
of rounds is one with the screen stopped (SIGSTOP) and one with it going on; the figure of the raw relay beside ours
says what of it the cores of the machine alone make.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.goals.relay import PARTS, Way, first_line, our_relay
from benchmarks.goals.stream import Source
from benchmarks.measure import Result, percentile
from benchmarks.proxy.client import ask
from benchmarks.sessions import home
from benchmarks.terminal import CTXTUI, PYTHON, Terminal

LIMIT: Final = 1.2
TAIL: Final = 0.99


class _Drawn:
    """A terminal that is read all the time; counts what is written to it in one go."""

    def __init__(self, run: Terminal) -> None:
        self.frames = 0
        self._run = run
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._stop.is_set():
            if self._run.read(0.1):
                self.frames += 1
                # A frame comes in several pieces.
                while self._run.read(0.004):
                    self._run.forget()

    def close(self) -> None:
        """Read no more."""
        self._stop.set()
        self._thread.join()


def results(folder: Path, runs: int) -> list[Result]:
    """The p99 of a chunk's delay with the screen, as a multiple of that without."""
    with ExitStack() as stack:
        upstream = int(first_line(stack, [PYTHON, str(PARTS / "upstream.py")]))
        ours = our_relay(stack, folder, upstream)
        raw = Way("raw", int(first_line(stack, [PYTHON, str(PARTS / "raw_relay.py"), str(upstream)])))
        source = first_line(stack, [PYTHON, "-m", "benchmarks.goals.relay_beside_screen"]).strip()
        env = {**home(folder / "screen"), "ANTHROPIC_API_KEY": "none"}
        command = [*CTXTUI, "chat", "--provider", "anthropic", "--base-url", source, "--model", "claude-opus-5-5"]
        run = stack.enter_context(Terminal(command, env=env))
        run.until_text(b" of 750k")
        run.settle(1.5)
        run.type(b"tell me\r")
        run.until_text(b"quick")
        drawn = _Drawn(run)
        try:
            pairs, rate = asyncio.run(_pairs([ours, raw], run.pid, drawn, runs))
        finally:
            os.kill(run.pid, signal.SIGCONT)
            drawn.close()
    share = {name: median(with_ / without for without, with_ in got) for name, got in pairs.items()}
    note = f"{1e3 * median(b for _, b in pairs['ours']):.2f} ms; raw relay {share['raw']:.2f}x; {rate:.0f} frames/s"
    return [Result("G15", "a chunk, p99, while a screen is drawn", "the same without", share["ours"], LIMIT, note=note)]


async def _pairs(
    ways: list[Way], screen: int, drawn: _Drawn, runs: int
) -> tuple[dict[str, list[tuple[float, float]]], float]:
    """Each way's p99 without and with the screen, pair by pair, and the screen's frames a second; the first pair is a
    warm-up."""
    got: dict[str, list[tuple[float, float]]] = {way.name: [] for way in ways}
    frames, seconds = 0, 0.0
    for number in range(runs + 1):
        for way in ways:
            os.kill(screen, signal.SIGSTOP)
            without = percentile((await ask(way.port, way.path, "sse")).chunks, TAIL)
            os.kill(screen, signal.SIGCONT)
            before, begun = drawn.frames, time.perf_counter()
            with_ = percentile((await ask(way.port, way.path, "sse")).chunks, TAIL)
            frames, seconds = frames + drawn.frames - before, seconds + time.perf_counter() - begun
            if number:
                got[way.name].append((without, with_))
    return got, frames / seconds


def main() -> None:
    """The provider of the screen, in a process of its own: prints its address."""
    print(Source().url, flush=True)
    # It says aloud when the screen goes away.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    signal.pause()


if __name__ == "__main__":
    main()
