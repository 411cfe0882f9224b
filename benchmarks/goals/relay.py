"""What a relay that records adds to an answer (goals G14, G15): to its first chunk, to each chunk, to a burst.

`ctxtui proxy` in a process of its own beside a raw TCP relay in Python, and beside mitmproxy with an addon that streams
where it is installed. Each round asks all in turn; what is added is the time less that without a relay.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from benchmarks.measure import Result, not_run, percentile
from benchmarks.peers import missing, peer
from benchmarks.proxy.client import Timed, ask
from benchmarks.sessions import home
from benchmarks.subject import answered
from benchmarks.terminal import CTXTUI, PYTHON

PARTS: Final = Path(__file__).resolve().parent.parent / "proxy"
PATH: Final = "/v1/chat/completions"
FIRST, CHUNK, TAIL, BURST = (
    "first chunk, added",
    "a chunk, p50, added",
    "a chunk, p99, added",
    "burst of 500 chunks, added",
)
LIMITS: Final = {FIRST: 0.30, CHUNK: 1.6, TAIL: 1.5, BURST: 0.1}


class Way(NamedTuple):
    """Where a request is sent to."""

    name: str
    port: int
    path: str = PATH


def results(folder: Path, runs: int) -> list[Result]:
    """Our relay's share of mitmproxy's delay and of the raw relay's."""
    with ExitStack() as stack:
        upstream = int(first_line(stack, [PYTHON, str(PARTS / "upstream.py")]))
        direct = Way("direct", upstream)
        raw = Way("raw", int(first_line(stack, [PYTHON, str(PARTS / "raw_relay.py"), str(upstream)])))
        ours = our_relay(stack, folder, upstream)
        mitm = _mitm(stack, folder, upstream)
        ways = [direct, raw, ours, *([mitm] if mitm else [])]
        got = asyncio.run(_rounds(ways, runs))
    return list(_held(got, mitm is not None))


def _held(got: dict[str, list[tuple[Timed, Timed]]], mitm: bool) -> list[Result]:
    def chunk(share: float) -> Callable[[Timed], float]:
        return lambda timed: percentile(timed.chunks, share)

    def added(name: str, of: Callable[[tuple[Timed, Timed]], float]) -> list[float]:
        return [of(one) - of(none) for one, none in zip(got[name], got["direct"], strict=True)]

    found = []
    for what, goal, share in ((CHUNK, "G15", 0.5), (TAIL, "G15", 0.99)):
        late = chunk(share)
        rounds = zip(got["ours"], got["raw"], got["direct"], strict=True)
        pairs = [(late(a[0]) - late(c[0]), max(late(b[0]) - late(c[0]), 1e-6)) for a, b, c in rounds]
        note = f"{1e3 * median(a for a, _ in pairs):.3f} / {1e3 * median(b for _, b in pairs):.3f} ms"
        found.append(Result(goal, what, "raw TCP relay", median(a / b for a, b in pairs), LIMITS[what], note=note))
    for what, goal, of in (
        (FIRST, "G14", lambda both: both[0].first),
        (BURST, "G15", lambda both: both[1].whole),
    ):
        own = median(added("ours", of))
        if not mitm:
            found.append(not_run(goal, what, "mitmproxy, streaming", missing("mitmdump"), LIMITS[what]))
            raw = median(added("raw", of))
            note = f"{1e3 * own:.2f} / {1e3 * raw:.2f} ms"
            found.append(Result(goal, what, "raw TCP relay", max(0.0, own) / max(raw, 1e-5), note=note))
            continue
        theirs = median(added("mitm", of))
        note = f"{1e3 * own:.2f} / {1e3 * theirs:.2f} ms"
        found.append(Result(goal, what, "mitmproxy, streaming", own / theirs, LIMITS[what], note=note))
    return sorted(found, key=lambda one: one.goal)


async def _rounds(ways: list[Way], runs: int) -> dict[str, list[tuple[Timed, Timed]]]:
    """Each way's paced and unpaced answer, round by round; the first round is a warm-up."""
    got: dict[str, list[tuple[Timed, Timed]]] = {way.name: [] for way in ways}
    for number in range(runs + 1):
        for way in ways:
            both = await ask(way.port, way.path, "sse"), await ask(way.port, way.path, "fast")
            if number:
                got[way.name].append(both)
    return got


def first_line(stack: ExitStack, command: list[str], env: dict[str, str] | None = None) -> str:
    """The first line that a process says, which goes on until the measuring is done."""
    process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env))
    stack.callback(process.terminate)
    assert process.stdout is not None
    return process.stdout.readline()


def our_relay(stack: ExitStack, folder: Path, upstream: int) -> Way:
    """`ctxtui proxy` in a process of its own, recording."""
    env = {**os.environ, **home(folder / "home")}
    given = ["proxy", "--port", "0", "--upstream", f"bench=http://127.0.0.1:{upstream}", "--json"]
    process = stack.enter_context(
        subprocess.Popen([*CTXTUI, *given], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
    )
    stack.callback(process.terminate)
    assert process.stdout is not None
    text = b""
    while True:
        text += os.read(process.stdout.fileno(), 65536)
        try:
            said = json.loads(text)
        except json.JSONDecodeError:
            continue
        url = answered(said, "ctxtui proxy")["urls"]["bench"]
        parts = urlsplit(url)
        assert parts.port is not None
        return Way("ours", parts.port, parts.path + PATH)


def _mitm(stack: ExitStack, folder: Path, upstream: int) -> Way | None:
    found = peer("mitmdump")
    if found is None:
        return None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [found, "--mode", f"reverse:http://127.0.0.1:{upstream}", "--listen-host", "127.0.0.1", "-q"]
    command += ["--listen-port", str(port), "--set", f"confdir={folder / 'mitm'}", "-s", str(PARTS / "mitm_stream.py")]
    process = stack.enter_context(subprocess.Popen(command))
    stack.callback(process.terminate)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return Way("mitm", port)
        except OSError:
            time.sleep(0.1)
    return None
