"""What a screen that is drawn at 30 frames a second does to the chunks that go through our relay (goal G15).

The screen is a real one, `ctxtui chat` while an answer streams in; it, the relay, the raw relay, the provider behind
them and the client that takes the times are processes of their own, and so is what reads the screen's terminal and
streams the answer. Each pair of answers is one with the stream at rest and one with it going on, now this one first and
now the other; the chunks of all pairs are taken together, so that the p99 is made of dozens and not of five. What the
cores of the machine alone make of it is said by the raw relay, which is asked in turn with ours.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import IO, Final

from benchmarks.goals.relay import PARTS, Way, first_line, our_relay
from benchmarks.measure import Result, percentile, sure
from benchmarks.proxy.client import ask
from benchmarks.proxy.drawn_screen import GO, REST
from benchmarks.terminal import PYTHON

LIMIT: Final = 1.2
TAIL: Final = 0.99
ROUNDS: Final = 24
"""Pairs for each way at least: 12,000 chunks without the screen and 12,000 with it. Of 8 pairs the share of one p99 in
the other varied from 0.84 to 1.48 with nothing changed."""
_SETTLED: Final = 0.15
"""Seconds for which a screen that begins to draw, or stops, is left alone."""

Pair = tuple[list[float], list[float]]
"""Delays of chunks, in seconds: without the screen, and with it."""


class _Screen:
    """The chat in its own processes."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        command = [PYTHON, "-m", "benchmarks.proxy.drawn_screen", str(folder)]
        pipe = subprocess.PIPE
        process = stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        stack.callback(process.terminate)
        assert process.stdin is not None and process.stdout is not None
        self._asks: IO[str] = process.stdin
        self._says: IO[str] = process.stdout
        assert self._says.readline(), "the screen shows no answer"
        self.rates: list[float] = []
        """Frames a second while it drew."""

    def draw(self, *, whether: bool) -> int:
        """Let it draw, or rest; the frames since it was last asked."""
        self._asks.write(f"{GO if whether else REST}\n")
        self._asks.flush()
        return int(self._says.readline())


def results(folder: Path, runs: int) -> list[Result]:
    """The p99 of a chunk's delay with the screen, as a multiple of that without."""
    with ExitStack() as stack:
        upstream = int(first_line(stack, [PYTHON, str(PARTS / "upstream.py")]))
        ours = our_relay(stack, folder, upstream)
        raw = Way("raw", int(first_line(stack, [PYTHON, str(PARTS / "raw_relay.py"), str(upstream)])))
        screen = _Screen(stack, folder / "screen")
        got = asyncio.run(_pairs([ours, raw], screen, max(runs, ROUNDS)))
    own, floor = got["ours"], got["raw"]
    low, high = sure(_ratio, own)
    late = 1e3 * percentile([one for _, chunks in own for one in chunks], TAIL)
    note = f"{late:.2f} ms; 80 %: {low:.2f} to {high:.2f}; raw relay {_ratio(floor):.2f}x; "
    note += f"{sum(len(chunks) for _, chunks in own):,} chunks, {median(screen.rates):.0f} frames/s"
    turns = list(zip(own, floor, strict=True))
    least, most = sure(_beside, turns)
    share, peer = f"80 %: {least:.2f} to {most:.2f}; {len(turns)} rounds", "what it makes of the raw relay's"
    return [
        Result("G15", "a chunk, p99, while a screen is drawn", "the same without", _ratio(own), LIMIT, note=note),
        Result("G15", "what a drawn screen makes of a chunk's p99", peer, _beside(turns), LIMIT, note=share),
    ]


def _beside(turns: Sequence[tuple[Pair, Pair]]) -> float:
    """What the screen makes of our p99, as a multiple of what it makes of the raw relay's; each turn has a pair of
    both."""
    return _ratio([own for own, _ in turns]) / _ratio([raw for _, raw in turns])


def _ratio(pairs: Sequence[Pair]) -> float:
    """The p99 with the screen over that without, of all chunks together."""
    without, with_ = ([one for pair in pairs for one in pair[side]] for side in (0, 1))
    return percentile(with_, TAIL) / percentile(without, TAIL)


async def _pairs(ways: list[Way], screen: _Screen, rounds: int) -> dict[str, list[Pair]]:
    """Each way's delays without and with the screen, pair by pair; the first pair is a warm-up."""
    got: dict[str, list[Pair]] = {way.name: [] for way in ways}
    for number in range(rounds + 1):
        for way in ways:
            chunks: dict[bool, list[float]] = {}
            for drawn in (False, True) if number % 2 else (True, False):
                screen.draw(whether=drawn)
                await asyncio.sleep(_SETTLED)
                screen.draw(whether=drawn)
                begun = time.perf_counter()
                chunks[drawn] = (await ask(way.port, way.path, "sse")).chunks
                frames = screen.draw(whether=drawn)
                if drawn:
                    screen.rates.append(frames / (time.perf_counter() - begun))
            if number:
                got[way.name].append((chunks[False], chunks[True]))
    screen.draw(whether=False)
    return got
