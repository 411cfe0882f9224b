"""Kills a chatting process at random points, over and over, and looks at what is left.

``python -m tests.faults.killing FOLDER --kills 200 --seed 1`` prints one JSON object: how many kills, how many
acknowledged events were lost, how many requests after reopening were invalid, and how many chats were taken up again
in the middle of an answer.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from ctxtui.agent import events as ev
from ctxtui.core.canonical import Json
from ctxtui.core.errors import NotFound, ProviderError
from ctxtui.curation.legality.legality import check
from ctxtui.offline.anthropic import validate
from ctxtui.providers.endpoint import Endpoint
from ctxtui.services.chat.chat_model import ChatModel, ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.config.config import Config, load
from ctxtui.store.append import SLOTS
from ctxtui.store.in_flight import in_flight
from ctxtui.store.store import Store
from ctxtui.store.writer import Ended, InFlight, Work
from tests.services.chatting import answer, text, use

MODEL = "claude-opus-4-8"


class FakeLine:
    """A provider that answers at random: words, calls, refusals, breaks."""

    name = "anthropic"
    headroom = ()

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._count = chance.randrange(1 << 30)

    async def send(self, body: bytes) -> AsyncIterator[bytes]:
        chance = self._chance
        self._count += 1
        await asyncio.sleep(chance.random() * 0.004)
        if chance.random() < 0.08:
            raise ProviderError("529 overloaded", status=529, retry=True, after=0.002)
        data = answer(f"m{self._count}", *self._blocks())
        cut = chance.randrange(len(data)) if chance.random() < 0.08 else len(data)
        at = 0
        while at < cut:
            size = chance.randrange(1, 400)
            yield data[at : min(cut, at + size)]
            at += size
            await asyncio.sleep(chance.random() * 0.002)

    def _blocks(self) -> list[dict[str, Any]]:
        chance, n = self._chance, self._count
        words = [text(f"answer {n} " + "words and more " * chance.randrange(1, 40))]
        tools: list[tuple[str, dict[str, Json]]] = [("list_dir", {}), ("find", {"pattern": "a"}), ("no_such_tool", {})]
        chosen = [chance.choice(tools) for _ in range(chance.choice([0, 1, 1, 2, 3]))]
        return words + [use(f"t{n}_{i}", name, **given) for i, (name, given) in enumerate(chosen)]

    async def close(self) -> None:
        """Nothing is open."""


class FakeHost(Host):
    """A host whose provider is `FakeLine`."""

    def __init__(self, wish: ModelChoice, config: Config, cwd: Path, chance: random.Random) -> None:
        super().__init__(wish, config, cwd)
        self._chance = chance

    async def _chosen(self) -> ChatModel:
        return ChatModel(Endpoint("anthropic", "anthropic"), MODEL)

    async def meet(self, partner: ChatModel) -> None:
        self.partner = partner
        self._line = FakeLine(self._chance)  # type: ignore[assignment]


def settings(folder: Path) -> Config:
    return load([f"data_dir={folder / 'home'}"], cwd=folder, env={})


def named(work: Work) -> str:
    """A line that names a piece of work."""
    if isinstance(work, Ended):
        return f"ended {work.call.id}"
    if isinstance(work, InFlight):
        data = work.data.encode() if isinstance(work.data, str) else work.data
        return f"flight {work.kind} {hashlib.sha1(data).hexdigest()}"
    return "other"


async def chat(folder: Path, seed: int, pipe: int, id_: str) -> None:
    """Chat until killed; says on `pipe` what was put and what was acknowledged."""
    chance = random.Random(seed)
    host = FakeHost(ModelChoice(name=id_), settings(folder), folder, chance)
    host.open()
    fold = host.session.fold
    await host.begin(lambda news: fold(news.events) and None, lambda call: None, lambda: None)
    writer = host.writer
    assert writer is not None and host.runner is not None and host._record is not None
    put = writer.put

    def told(work: Work) -> int:
        ticket = put(work)
        os.write(pipe, f"P {ticket} {named(work)}\n".encode())
        return ticket

    host._record._put = told

    def acknowledge() -> None:
        last = 0
        while True:
            if writer.acked != last:
                last = writer.acked
                os.write(pipe, f"A {last}\n".encode())
            time.sleep(0.001)

    threading.Thread(target=acknowledge, daemon=True).start()
    last = next(reversed(host.session.calls), "-")
    os.write(pipe, f"S {host.session.about.id} {last}\n".encode())
    number = 0
    while True:
        number += 1
        host.feed(ev.UserSaid(f"message {number} of run {seed}"))
        if chance.random() < 0.3:
            host.keep_draft(f"draft {number}")
        until = time.monotonic() + chance.random() * 0.2
        while host.runner.state.running and time.monotonic() < until:
            await asyncio.sleep(0.003)
        if chance.random() < 0.4:
            host.feed(ev.Interrupted())
        await asyncio.sleep(0.002)


def lost(path: Path, id_: str, lines: list[str]) -> int:
    """How many acknowledged events are not in the file."""
    put = {int(n): rest for kind, n, rest in (line.split(" ", 2) for line in lines if line.startswith("P "))}
    acked = max((int(line[2:]) for line in lines if line.startswith("A ")), default=0)
    sure = [put[n] for n in sorted(put) if n <= acked]
    try:
        with Store.open(path) as store:
            calls = list(store.load(id_).calls)
    except NotFound:
        return len(sure)
    ended = [name.split()[1] for name in sure if name.startswith("ended")]
    missing = sum(call not in calls for call in ended)
    if missing:
        print("lost calls", ended, "in", calls, file=sys.stderr)
    after = sure[max((n for n, name in enumerate(sure) if name.startswith("ended")), default=-1) + 1 :]
    wanted = [name for name in after if name.startswith("flight") and name.split()[1] not in SLOTS]
    before = next(line for line in lines if line.startswith("S ")).split()[2]
    # A call that landed without being acknowledged any more has taken what was in flight with it.
    if (calls[-1] if calls else "-") == (ended[-1] if ended else before):
        left = [
            named(InFlight("", 0.0, e.kind, e.data)) for e in in_flight(path, id_) if e.kind not in ("queue", "draft")
        ]
        at = 0
        for name in wanted:
            while at < len(left) and left[at] != name:
                at += 1
            if at >= len(left):
                missing += 1
                print("lost", name, "of", len(wanted), "in", len(left), file=sys.stderr)
            at += 1
    return missing


async def invalid(folder: Path, id_: str) -> tuple[int, bool]:
    """Reopen the chat: how many things the provider would refuse, and whether an answer had been under way."""
    host = FakeHost(ModelChoice(name=id_), settings(folder), folder, random.Random(0))
    session = host.open()
    await host.begin(lambda news: session.fold(news.events) and None, lambda call: None, lambda: None)
    assert host.runner is not None
    found = host.recovered.partial is not None
    host.runner.conversation.say("go on")
    body = host.runner.conversation.draft().body
    wrong = [str(one) for one in check("anthropic", body)] + [r.message for r in validate.refusals(json.loads(body))]
    if wrong:
        print(wrong, file=sys.stderr)
    await host.close()
    return len(wrong), found


def kill_once(folder: Path, seed: int, id_: str, seconds: float) -> tuple[str, list[str]]:
    """Chat in a child for `seconds`, then kill it; the session's id and what the child said."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            asyncio.run(chat(folder, seed, writing, id_))
        finally:
            os._exit(1)
    os.close(writing)
    data = bytearray()
    with os.fdopen(reading, "rb", buffering=0) as stream:
        while b"\nS " not in b"\n" + data:
            piece = stream.read(65536)
            assert piece, "the child ended by itself"
            data += piece
        timer = threading.Timer(seconds, os.kill, (child, signal.SIGKILL))
        timer.start()
        while piece := stream.read(65536):
            data += piece
        timer.join()
    os.waitpid(child, 0)
    lines = data.decode().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("S ")), lines


def main() -> int:
    """Kill, look, kill again."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    chance = random.Random(given.seed)
    result = {"kills": 0, "acknowledged": 0, "lost": 0, "invalid": 0, "partial": 0}
    id_ = ""
    for number in range(given.kills):
        # Every few kills a new chat: otherwise the same one goes on.
        id_ = "" if number % 5 == 0 else id_
        id_, lines = kill_once(given.folder, given.seed * 100_000 + number, id_, 0.02 + chance.random() * 0.4)
        result["kills"] += 1
        result["acknowledged"] += max((int(line[2:]) for line in lines if line.startswith("A ")), default=0)
        path = given.folder / "home" / "ctxtui.db"
        result["lost"] += lost(path, id_, lines)
        try:
            wrong, partial = asyncio.run(invalid(given.folder, id_))
        except NotFound:
            # Killed before anything was acknowledged: there is no such chat.
            id_, wrong, partial = "", 0, False
        result["invalid"] += wrong
        result["partial"] += partial
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
