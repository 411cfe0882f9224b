"""What a relay that records adds to an answer: to its first chunk, to each chunk, to a burst.

`ctxtui proxy` in a process of its own, beside a raw TCP relay in Python and, where it is installed, mitmproxy with an
addon that streams. Each round asks all in turn; what is added is the time less that without a relay, and ratios are
taken round by round. The relay's home has a database, as that of everybody has who has opened ctxtui once.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from benchmarks.measure import Result, not_run, sure
from benchmarks.peers import missing, peer
from benchmarks.proxy.client import Timed, ask
from benchmarks.sessions import home
from benchmarks.terminal import CTXTUI, PYTHON
from ctxtui.services.config.paths import database
from ctxtui.store.store import Store

PARTS: Final = Path(__file__).resolve().parent.parent / "proxy"
PATH: Final = "/v1/chat/completions"
FIRST, CHUNK, BURST = (
    "first chunk, added",
    "a chunk, p50, added",
    "burst of 500 chunks, added",
)
ROUNDS: Final = 20
"""Rounds at least; of chunks, 10,000 of each way."""
_PAUSE: Final = 0.1
"""Seconds before each answer that is asked for by itself."""
LIMITS: Final = {FIRST: 0.30, CHUNK: 1.6, BURST: 0.1}


class Way(NamedTuple):
    """Where a request is sent to."""

    name: str
    port: int
    path: str = PATH
    headers: str = ""


def results(folder: Path, runs: int) -> list[Result]:
    """Our relay's share of mitmproxy's delay and of the raw relay's."""
    with ExitStack() as stack:
        upstream = int(first_line(stack, [PYTHON, str(PARTS / "upstream.py")]))
        direct = Way("direct", upstream)
        raw = Way("raw", int(first_line(stack, [PYTHON, str(PARTS / "raw_relay.py"), str(upstream)])))
        ours = our_relay(stack, folder, upstream)
        paced = asyncio.run(_paced([direct, raw, ours], max(runs, ROUNDS)))
        mitm = _mitm(stack, folder, upstream)
        ways = [direct, ours, *([mitm] if mitm else [])]
        firsts, bursts = (asyncio.run(_rounds(ways, max(runs, ROUNDS), mode)) for mode in ("one", "fast"))
    return [
        _beside(firsts, FIRST, lambda timed: timed.first),
        _usual(paced),
        _beside(bursts, BURST, lambda timed: timed.whole),
    ]


_Rounds = dict[str, list[Timed]]
"""By way, the answer of each round."""
_PEER: Final = "mitmproxy, streaming"


Round = tuple[list[float], list[float], list[float]]
"""Delays of the chunks of one round, in seconds: without a relay, through the raw one, through ours."""


def _usual(rounds: list[Round]) -> Result:
    """The p50 through each relay less that without one, round by round."""
    pairs = [(median(ours) - median(none), max(median(raw) - median(none), 1e-6)) for none, raw, ours in rounds]
    note = f"{1e3 * median(a for a, _ in pairs):.3f} / {1e3 * median(b for _, b in pairs):.3f} ms"
    return Result("relay", CHUNK, "raw TCP relay", median(a / b for a, b in pairs), LIMITS[CHUNK], note=note)


def _beside(got: _Rounds, what: str, of: Callable[[Timed], float]) -> Result:
    """What ours adds as a share of what mitmproxy adds, round by round."""
    limit = LIMITS[what]
    if "mitm" not in got:
        return not_run("relay", what, _PEER, missing("mitmdump"), limit)
    added = [(of(ours) - of(none), max(of(theirs) - of(none), 1e-5))
             for ours, theirs, none in zip(got["ours"], got["mitm"], got["direct"], strict=True)]  # fmt: skip

    def share(some: Sequence[tuple[float, float]]) -> float:
        return median(ours / theirs for ours, theirs in some)

    low, high = sure(share, added)
    note = f"{1e3 * median(a for a, _ in added):.2f} / {1e3 * median(b for _, b in added):.2f} ms"
    note += f"; 80 %: {low:.3f} to {high:.3f}; {len(added)} rounds"
    return Result("relay", what, _PEER, share(added), limit, note=note)


async def _rounds(ways: list[Way], rounds: int, mode: str) -> _Rounds:
    """Each way's answer, round by round, now this way first and now another; the first round is a warm-up. Each comes
    after a pause, as a program's do: right behind another one, all of it is still in the processor's caches."""
    got: _Rounds = {way.name: [] for way in ways}
    for number in range(rounds + 1):
        for n in range(len(ways)):
            way = ways[(n + number) % len(ways)]
            await asyncio.sleep(_PAUSE)
            timed = await ask(way.port, way.path, mode, way.headers)
            if number:
                got[way.name].append(timed)
    return got


async def _paced(ways: list[Way], rounds: int) -> list[Round]:
    """The delays of the chunks of each way's paced answer, round by round, now this way first and now another."""
    found: list[Round] = []
    for number in range(rounds):
        chunks: dict[str, list[float]] = {}
        for n in range(len(ways)):
            way = ways[(n + number) % len(ways)]
            chunks[way.name] = (await ask(way.port, way.path, "sse", way.headers)).chunks
        none, raw, ours = (chunks[way.name] for way in ways)
        found.append((none, raw, ours))
    return found


def first_line(stack: ExitStack, command: list[str], env: dict[str, str] | None = None) -> str:
    """The first line that a process says, which goes on until the measuring is done."""
    process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env))
    stack.callback(process.terminate)
    assert process.stdout is not None
    return process.stdout.readline()


def our_relay(stack: ExitStack, folder: Path, upstream: int) -> Way:
    """`ctxtui proxy` in a process of its own, recording."""
    env = {**os.environ, **home(folder / "home")}
    Store.open(database(env=env)).close()
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
        url = said["urls"]["bench"]
        parts = urlsplit(url)
        assert parts.port is not None
        return Way("ours", parts.port, parts.path + PATH)


def _mitm(stack: ExitStack, folder: Path, upstream: int) -> Way | None:
    found = peer("mitmdump")
    if found is None:
        return None
    port = _free_port()
    command = [found, "--mode", f"reverse:http://127.0.0.1:{upstream}", "--listen-host", "127.0.0.1", "-q"]
    command += ["--listen-port", str(port), "--set", f"confdir={folder / 'mitm'}", "-s", str(PARTS / "mitm_stream.py")]
    return _listening(stack, Way("mitm", port), command, dict(os.environ))


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _listening(stack: ExitStack, way: Way, command: list[str], env: dict[str, str]) -> Way | None:
    """Start a relay and wait until it listens; None if it does not within two minutes."""
    quiet = subprocess.DEVNULL
    process = stack.enter_context(subprocess.Popen(command, env=env, stdout=quiet, stderr=quiet))
    stack.callback(process.terminate)
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", way.port), 1).close()
            return way
        except OSError:
            time.sleep(0.1)
    return None
