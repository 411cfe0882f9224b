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
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from ctxtui.agent import events as ev
from ctxtui.agent.child import Caller, ChildTask, OwnTool
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.errors import NotFound, ProviderError
from ctxtui.core.session import MAIN, Session
from ctxtui.core.usage import Usage
from ctxtui.curation.legality.legality import check
from ctxtui.offline.anthropic import validate
from ctxtui.providers.endpoint import Endpoint
from ctxtui.services.chat.chat_model import ChatModel, ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.config.config import Config, load
from ctxtui.store.sessions.in_flight import SLOTS, pending_events
from ctxtui.store.store import Store
from ctxtui.store.writer import InFlight, StoredCall, Work
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
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
        number = self._count
        await asyncio.sleep(chance.random() * 0.004)
        if chance.random() < 0.08:
            raise ProviderError("529 overloaded", status=529, retry=True, after=0.002)
        data = answer(f"m{number}", *self._blocks(number))
        cut = chance.randrange(len(data)) if chance.random() < 0.08 else len(data)
        at = 0
        while at < cut:
            size = chance.randrange(1, 400)
            yield data[at : min(cut, at + size)]
            at += size
            await asyncio.sleep(chance.random() * 0.002)

    def _blocks(self, n: int) -> list[dict[str, Any]]:
        chance = self._chance
        words = [text(f"answer {n} " + "words and more " * chance.randrange(1, 40))]
        tools: list[tuple[str, dict[str, Json]]] = [
            ("list_dir", {}),
            ("find", {"pattern": "a"}),
            ("no_such_tool", {}),
            ("spawn", {"count": chance.randrange(1, 4)}),
        ]
        chosen = [chance.choice(tools) for _ in range(chance.choice([0, 1, 1, 2, 3]))]
        return words + [use(f"t{n}_{i}", name, **given) for i, (name, given) in enumerate(chosen)]

    async def close(self) -> None:
        """Nothing is open."""


async def spawn(given: Mapping[str, Json], caller: Caller) -> str:
    """So many sub-agents do something at random."""
    tasks = [ChildTask(prompt=f"part {n}", tools=("list_dir", "find"), rounds=4) for n in range(given["count"])]
    return " ".join(one.thread for one in await caller.agents.start_all(tasks))


SPAWN = OwnTool(
    name="spawn", description="Start agents.", run=spawn, properties={"count": {"type": "integer"}}, asks=False
)


class FakeHost(Host):
    """A host whose provider is `FakeLine`."""

    def __init__(self, choice: ModelChoice, config: Config, cwd: Path, chance: random.Random) -> None:
        super().__init__(choice, config, cwd)
        self._chance = chance
        self.own.tools = (SPAWN,)

    async def _choose_model(self) -> ChatModel:
        return ChatModel(Endpoint("anthropic", "anthropic"), MODEL)

    async def connect_to(self, chat_model: ChatModel) -> None:
        self.chat_model = chat_model
        self.client = FakeLine(self._chance)  # type: ignore[assignment]


def settings(folder: Path) -> Config:
    return load([f"data_dir={folder / 'home'}"], cwd=folder, env={})


def named(work: Work) -> str:
    """A line that names a piece of work: its thread first."""
    if isinstance(work, StoredCall):
        return f"{work.call.thread} ended {work.call.id}"
    if isinstance(work, InFlight):
        data = work.data.encode() if isinstance(work.data, str) else work.data
        return f"{work.thread} flight {work.kind} {hashlib.sha1(data).hexdigest()}"
    return "none other"


async def chat(folder: Path, seed: int, pipe: int, id_: str) -> None:
    """Chat until killed; says on `pipe` what was put and what was acknowledged."""
    chance = random.Random(seed)
    host = FakeHost(ModelChoice(session=id_), settings(folder), folder, chance)
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
    writer.put = told  # type: ignore[method-assign]

    def acknowledge() -> None:
        last = 0
        while True:
            if writer.acked != last:
                last = writer.acked
                os.write(pipe, f"A {last}\n".encode())
            time.sleep(0.001)

    threading.Thread(target=acknowledge, daemon=True).start()
    last = {thread: calls[-1] for thread, calls in host.session.order.items()}
    os.write(pipe, f"S {host.session.about.id} {json.dumps(last)}\n".encode())
    number = 0
    while True:
        number += 1
        host.feed(ev.UserSaid(f"message {number} of run {seed}"))
        if chance.random() < 0.3:
            host.keep_draft(f"draft {number}")
        until = time.monotonic() + chance.random() * 0.2
        while host.runner.state.is_running and time.monotonic() < until:
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
            order = store.load(id_).order
    except NotFound:
        return len(sure)
    before = json.loads(next(line for line in lines if line.startswith("S ")).split(maxsplit=2)[2])
    threads = {name.split()[0] for name in sure} - {"none"}
    return sum(
        _lost_of(path, id_, thread, [name for name in sure if name.startswith(f"{thread} ")], order, before)
        for thread in sorted(threads)
    )


def _lost_of(
    path: Path, id_: str, thread: str, sure: list[str], order: dict[str, list[str]], before: dict[str, str]
) -> int:
    """How many of the acknowledged events of one thread are not in the file."""
    calls = order.get(thread, [])
    ended = [name.split()[2] for name in sure if name.split()[1] == "ended"]
    missing = sum(call not in calls for call in ended)
    if missing:
        print("lost calls", ended, "in", calls, file=sys.stderr)
    after = sure[max((n for n, name in enumerate(sure) if name.split()[1] == "ended"), default=-1) + 1 :]
    wanted = [name for name in after if name.split()[1] == "flight" and name.split()[2] not in SLOTS]
    # A call that landed without being acknowledged any more has taken what was in flight with it.
    if (calls[-1] if calls else "-") == (ended[-1] if ended else before.get(thread, "-")):
        left = [
            named(InFlight("", 0.0, e.kind, e.data, e.thread))
            for e in pending_events(path, id_)
            if e.kind not in ("queue", "draft") and e.thread == thread
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
    host = FakeHost(ModelChoice(session=id_), settings(folder), folder, random.Random(0))
    session = host.open()
    await host.begin(lambda news: session.fold(news.events) and None, lambda call: None, lambda: None)
    assert host.runner is not None
    found = host.recovered.partial is not None or bool(host.recovered.agents)
    host.runner.conversation.add_user_message("go on")
    body = host.runner.conversation.draft().body
    wrong = [str(one) for one in check("anthropic", body)] + [r.message for r in validate.refusals(json.loads(body))]
    wrong += [line for call in session.calls.values() for line in _unreadable(session, call)]
    if wrong:
        print(wrong, file=sys.stderr)
    await host.close()
    return len(wrong), found


def _unreadable(session: Session, call: Call) -> list[str]:
    """What is wrong with the request of a call of a sub-agent as it stands on record."""
    if call.thread == MAIN or call.skeleton is None:
        return []
    items = tuple(session.tree.items(call.sent_head))
    body = encode(Request(items, call.skeleton))
    return [f"{call.thread}: {one}" for one in check("anthropic", body)]


PATIENCE = 60.0
"""Seconds after which a child is killed however little it did."""


def kill_once(folder: Path, seed: int, id_: str, acked: int, seconds: float) -> tuple[str, list[str]]:
    """Chat in a child until so many events are acknowledged and for `seconds` more, then kill it; the session's id and
    what the child said. By what it did and not by the clock, so that a busy machine is tried as hard as an idle one."""
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
        latest = time.monotonic() + PATIENCE
        while _acked(data) < acked and time.monotonic() < latest:
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


def _acked(data: bytearray) -> int:
    """The last ticket that was acknowledged in what a child said so far."""
    start = data.rfind(b"\nA ") + 3
    end = data.find(b"\n", start)
    return int(data[start:end]) if start > 2 and end > 0 else 0


def warm() -> None:
    """Load what sub-agents' requests are counted with, before children are made: a kill is to hit their answers."""
    from ctxtui.core import block
    from ctxtui.services.config.package_data import model_table
    from ctxtui.services.counting.counting import Counter
    from ctxtui.services.counting.pricing import local_pricer, prices_for

    Counter()(model_table().card(MODEL))(block.text("a few words to count"))
    local_pricer(prices_for(load([], env={}).settings))(
        [Call("", "", provider="anthropic", model=MODEL, usage=Usage(1))]
    )


def main() -> int:
    """Kill, look, kill again."""
    warm()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    chance = random.Random(given.seed)
    given.folder.mkdir(parents=True, exist_ok=True)
    result = {"kills": 0, "acknowledged": 0, "lost": 0, "invalid": 0, "partial": 0}
    id_ = ""
    for number in range(given.kills):
        # Every few kills a new chat: otherwise the same one goes on.
        id_ = "" if number % 5 == 0 else id_
        acked, more = chance.randrange(140), chance.random() * 0.06
        id_, lines = kill_once(given.folder, given.seed * 100_000 + number, id_, acked, more)
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
