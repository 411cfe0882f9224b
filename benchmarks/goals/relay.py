"""What a relay that records adds to an answer (goals G14, G15): to its first chunk, to each chunk, to a burst.

`ctxtui proxy` in a process of its own beside a raw TCP relay in Python, and, where they are installed, beside mitmproxy
with an addon that streams and LiteLLM's proxy. Each round asks all in turn; what is added is the time less that without
a relay, and ratios are taken round by round. Only the p99 is of the chunks of all rounds together: in one round it is
the fifth worst of 500 chunks, which a single delay by another process decides. The relay's home has a database, as that
of everybody has who has opened ctxtui once.
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

from benchmarks.measure import Result, not_run, percentile, sure
from benchmarks.peers import missing, peer
from benchmarks.proxy.client import Timed, ask
from benchmarks.sessions import home
from benchmarks.subject import answered
from benchmarks.terminal import CTXTUI, PYTHON
from ctxtui.services.config.paths import database
from ctxtui.store.store import Store

PARTS: Final = Path(__file__).resolve().parent.parent / "proxy"
PATH: Final = "/v1/chat/completions"
FIRST, CHUNK, TAIL, BURST = (
    "first chunk, added",
    "a chunk, p50, added",
    "a chunk, p99, added",
    "burst of 500 chunks, added",
)
LITELLM: Final = 0.04
"""The most of what LiteLLM adds to a first chunk."""
ROUNDS: Final = 20
"""Rounds at least; of chunks, 10,000 of each way."""
_PAUSE: Final = 0.1
"""Seconds before each answer that is asked for by itself."""
LIMITS: Final = {FIRST: 0.30, CHUNK: 1.6, TAIL: 1.5, BURST: 0.1}


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
        # In rounds of its own: at rest, too, it takes more processor time than the others at work.
        litellm = _litellm(stack, folder, upstream)
        beside = asyncio.run(_rounds([direct, ours, litellm], max(runs, ROUNDS), "one")) if litellm else {}
    return [
        _first_beside(firsts, "mitm", LIMITS[FIRST]),
        _first_beside(beside, "litellm", LITELLM),
        _usual(paced),
        _beside(bursts, "G15", BURST, "mitm", lambda timed: timed.whole, LIMITS[BURST]),
        _tail(paced),
    ]


_Rounds = dict[str, list[Timed]]
"""By way, the answer of each round."""
_PEERS: Final = {"mitm": ("mitmproxy, streaming", "mitmdump"), "litellm": ("LiteLLM's proxy", "litellm")}


Round = tuple[list[float], list[float], list[float]]
"""Delays of the chunks of one round, in seconds: without a relay, through the raw one, through ours."""


def _usual(rounds: list[Round]) -> Result:
    """The p50 through each relay less that without one, round by round."""
    pairs = [(median(ours) - median(none), max(median(raw) - median(none), 1e-6)) for none, raw, ours in rounds]
    note = f"{1e3 * median(a for a, _ in pairs):.3f} / {1e3 * median(b for _, b in pairs):.3f} ms"
    return Result("G15", CHUNK, "raw TCP relay", median(a / b for a, b in pairs), LIMITS[CHUNK], note=note)


def _tail(rounds: list[Round]) -> Result:
    """The p99 of all chunks through each relay less that without one."""

    def added(some: Sequence[Round]) -> tuple[float, float]:
        none, raw, ours = (percentile([one for part in some for one in part[way]], 0.99) for way in range(3))
        return ours - none, max(raw - none, 1e-6)

    def share(some: Sequence[Round]) -> float:
        ours, raw = added(some)
        return ours / raw

    ours, raw = added(rounds)
    low, high = sure(share, rounds)
    note = f"{1e3 * ours:.3f} / {1e3 * raw:.3f} ms; 80 %: {low:.2f} to {high:.2f}; {len(rounds)} rounds"
    return Result("G15", TAIL, "raw TCP relay", ours / raw, LIMITS[TAIL], note=note)


def _first_beside(got: _Rounds, other: str, limit: float) -> Result:
    return _beside(got, "G14", FIRST, other, lambda timed: timed.first, limit)


def _beside(got: _Rounds, goal: str, what: str, other: str, of: Callable[[Timed], float], limit: float) -> Result:
    """What ours adds as a share of what another relay adds, round by round."""
    name, program = _PEERS[other]
    if other not in got:
        return not_run(goal, what, name, missing(program), limit)
    added = [(of(ours) - of(none), max(of(theirs) - of(none), 1e-5))
             for ours, theirs, none in zip(got["ours"], got[other], got["direct"], strict=True)]  # fmt: skip

    def share(some: Sequence[tuple[float, float]]) -> float:
        return median(ours / theirs for ours, theirs in some)

    low, high = sure(share, added)
    note = f"{1e3 * median(a for a, _ in added):.2f} / {1e3 * median(b for _, b in added):.2f} ms"
    note += f"; 80 %: {low:.3f} to {high:.3f}; {len(added)} rounds"
    return Result(goal, what, name, share(added), limit, note=note)


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
        url = answered(said, "ctxtui proxy")["urls"]["bench"]
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


def _litellm(stack: ExitStack, folder: Path, upstream: int) -> Way | None:
    found = peer("litellm")
    if found is None:
        return None
    port, key = _free_port(), "sk-" + "local-bench-0f3a9c5e7b1d2468ace013579bdf2468ace0"
    given = {"model": "openai/m", "api_base": f"http://127.0.0.1:{upstream}/v1", "api_key": "none"}
    config = folder / "litellm.yaml"
    config.write_text(json.dumps({"model_list": [{"model_name": "m", "litellm_params": given}]}))  # YAML knows JSON
    env = {**os.environ, **home(folder / "litellm"), "LITELLM_MASTER_KEY": key, "LITELLM_TELEMETRY": "False"}
    env |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "PATH": f"{Path(found).parent}:{os.environ.get('PATH', '')}"}
    command = [found, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    return _listening(stack, Way("litellm", port, headers=f"authorization: Bearer {key}\r\n"), command, env)


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
