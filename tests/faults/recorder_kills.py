"""Kills `ctxtui proxy` and `ctxtui exec` themselves while many clients stream through them, over and over.

``python -m tests.faults.recorder_kills FOLDER --kills 200 --seed 1 --clients 30`` prints one JSON object: how many
kills of each, how many answers clients had whole, how many of those are not on record though they were whole `_SETTLED`
seconds before the kill (`lost`) or later (`late`), and how many lines but a file's last one cannot be read (`broken`).

``--ask`` is the clients' own process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from aiohttp import ClientError, ClientSession

from tests.faults.relay_kills import Scene, on_record, until
from tests.pty_app import CTXTUI, REPO

_SETTLED: Final = 1.0
"""Seconds after which an answer has to be on record: what goes by is written behind the answer's end, by a thread."""

_PATIENCE: Final = 1200.0
"""Seconds that 30 clients may take on a machine that has others to serve."""


async def ask(clients: int, first: int, told: Path) -> None:
    """Ask through the relay that the environment names, over and over until it is gone; write down what came whole."""
    url = f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages"
    with told.open("a", buffering=1) as out:

        async def one(session: ClientSession, number: int) -> None:
            while True:
                words = f"tell {number} things about relays, at length, in {number} lines"
                body: dict[str, Any] = {"model": "claude-sonnet-4-5", "max_tokens": 30, "stream": True}
                body["messages"] = [{"role": "user", "content": words}]
                headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
                try:
                    async with session.post(url, json=body, headers=headers) as answer:
                        if b"event: message_stop" in await answer.read():
                            out.write(f"{number} {time.time()}\n")
                except (ClientError, OSError):
                    return
                number += clients

        async with ClientSession() as session:
            await asyncio.gather(*(one(session, first + n) for n in range(clients)))


def lines_of(told: Path) -> list[tuple[int, float]]:
    """(number, time) of the answers that came whole."""
    lines = told.read_text().splitlines() if told.exists() else []
    return [(int(number), float(at)) for number, at in map(str.split, lines)]


def main() -> int:
    """Kill, look, kill again."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--clients", type=int, default=30)
    options.add_argument("--ask", type=int, default=-1)
    given = options.parse_args()
    if given.ask >= 0:
        asyncio.run(ask(given.clients, given.ask, given.folder))
        return 0
    chance = random.Random(given.seed)
    scene = Scene(given.folder, chance)
    result = {"kills": given.kills, "proxy": 0, "exec": 0, "whole": 0, "lost": 0, "late": 0, "broken": 0}
    whole: dict[int, bool] = {}
    try:
        scene.start_provider()
        for number in range(given.kills):
            kind = chance.choice(("proxy", "exec"))
            result[kind] += 1
            # Numbers that no round shares.
            killed, came = kill_once(scene, kind, given.clients, 1000 + number * 50 * given.clients, chance)
            whole |= {asked: at < killed - _SETTLED for asked, at in came}
    finally:
        scene.close()
    files = sorted((given.folder / "ctxtui" / "attached").rglob("*.jsonl"))
    known = set().union(*map(on_record_as_far, files)) if files else set()
    for asked, settled in whole.items():
        result["whole"] += 1
        if asked not in known:
            result["lost" if settled else "late"] += 1
    result["broken"] = sum(map(broken_lines, files))
    print(json.dumps(result))
    return 0


def kill_once(
    scene: Scene, kind: str, clients: int, first: int, chance: random.Random
) -> tuple[float, list[tuple[int, float]]]:
    """Let the clients ask through a new proxy or exec, kill that; when it was, and which answers came whole when."""
    told = scene.folder / f"{first}.txt"
    asking = [sys.executable, "-m", "tests.faults.recorder_kills", str(told), "--ask", str(first)]
    asking += ["--clients", str(clients)]
    provider = f"http://127.0.0.1:{scene.port}"
    quiet = {"stderr": subprocess.DEVNULL, "cwd": REPO}
    client: subprocess.Popen[str] | None = None
    if kind == "proxy":
        command = [*CTXTUI, "proxy", "--port", "0", "--json", "--upstream", f"anthropic={provider}"]
        victim = subprocess.Popen(command, env=scene.env, text=True, stdout=subprocess.PIPE, **quiet)  # type: ignore[call-overload]
        assert victim.stdout is not None
        url = json.loads(victim.stdout.readline())["urls"]["anthropic"]
        client = subprocess.Popen(asking, env={**scene.env, "ANTHROPIC_BASE_URL": url}, text=True, **quiet)  # type: ignore[call-overload]
    else:
        env = {**scene.env, "ANTHROPIC_BASE_URL": provider}
        # What it runs is its own group: only ctxtui itself is killed.
        command = [*CTXTUI, "exec", "--", *asking]
        victim = subprocess.Popen(command, env=env, text=True, stdout=subprocess.DEVNULL, **quiet)  # type: ignore[call-overload]
    wanted = chance.randrange(1, 2 * clients)
    until(lambda: len(lines_of(told)) >= wanted or victim.poll() is not None, "the clients are answered", _PATIENCE)
    time.sleep(chance.random() * 0.5)
    assert victim.poll() is None, f"{kind} ended by itself"
    killed = time.time()
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    if client is not None:
        client.wait(_PATIENCE)
    else:
        # The orphan ends when its relay is gone; nobody may write into the file any more.
        last = -1
        while (now := len(lines_of(told))) != last:
            last = now
            time.sleep(0.3)
    if victim.stdout is not None:
        victim.stdout.close()
    return killed, lines_of(told)


def on_record_as_far(path: Path) -> set[int]:
    """What is on record in a file whose last line may have been cut by the kill."""
    lines = path.read_bytes().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        path.write_bytes(b"".join(lines[:-1]))
    return on_record(path)


def broken_lines(path: Path) -> int:
    """Lines that cannot be read."""
    return sum(not _reads(line) for line in path.read_bytes().splitlines())


def _reads(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


if __name__ == "__main__":
    sys.exit(main())
