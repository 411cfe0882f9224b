"""Two processes that want the same chat, each killed at random points, over and over; then what is left is looked at.

``python -m tests.faults.two_hosts FOLDER --kills 200 --seed 1`` prints one JSON object: how many kills, how often a
process was refused because the other one had the chat, how often it then made a branch or took the chat over; how many
acknowledged events were lost, found twice or out of order, how often both had the chat at once, and how many requests
after reopening were invalid.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import re
import selectors
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ctxtui.agent import events as ev
from ctxtui.core.block_content import read
from ctxtui.core.errors import CtxtuiError, InUse, NotFound
from ctxtui.core.session import Session
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.store.sessions.in_flight import pending_events
from ctxtui.store.store import Store
from ctxtui.store.writer import InFlight, StoredCall, Work
from tests.faults.killing import FakeHost, invalid, settings

ROUND: Final = 8
"""Kills of one chat, after which it is looked at, and another one begins."""
_TEXT: Final = re.compile(r'"text_delta", "text": ("(?:[^"\\]|\\.)*")\}\}\n\n')
"""Words of an answer, in an event that came whole."""


# The processes


class Told:
    """Says on `pipe` what happens, a JSON object a line with the time; short lines of two processes do not mix."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def __call__(self, kind: str, **more: Any) -> None:
        line = json.dumps({"at": time.monotonic(), "pid": os.getpid(), "kind": kind, **more})
        os.write(self._pipe, line.encode() + b"\n")


async def compete(folder: Path, seed: int, told: Told, id_: str) -> None:
    """Want the chat `id_` until killed: host it where it is free, else ask again, or make a branch."""
    chance = random.Random(seed)
    number = refused = 0
    while True:
        branch = refused > 3 and chance.random() < 0.3
        wish = ModelChoice(session=id_, call=_calls(folder, id_) if branch else 0)
        host = FakeHost(wish, settings(folder), folder, chance)
        try:
            host.open()
        except InUse as error:
            refused += 1
            told("refused", by=error.pid)
            await host.close()
            await asyncio.sleep(chance.random() * 0.02)
            continue
        refused = 0
        number = await converse(host, chance, told, number, f"run {seed}", branch=bool(wish.call))


async def converse(host: FakeHost, chance: random.Random, told: Told, number: int, name: str, *, branch: bool) -> int:
    """Say some things, then let go; how many things were said so far."""
    fold, id_ = host.session.fold, host.session.about.id
    told("opened", session=id_, branch=branch)
    await host.begin(lambda news: fold(news.events) and None, lambda call: None, lambda: None)
    writer, runner, record = host.writer, host.runner, host._record
    assert writer is not None and runner is not None and record is not None
    put = writer.put

    def noted(work: Work) -> int:
        ticket = put(work)
        if isinstance(work, StoredCall):
            told("put", ticket=ticket, session=id_, what="ended", words=work.call.id)
        elif isinstance(work, InFlight) and work.kind in ("said", "heard"):
            words = work.data.decode() if isinstance(work.data, bytes) else work.data
            told("put", ticket=ticket, session=id_, what=work.kind, words=words)
        return ticket

    record._put = noted
    acked = 0
    for _ in range(2 if branch else chance.randrange(2, 12)):
        number += 1
        host.feed(ev.UserSaid(f"message {number} of {name}."))
        until = time.monotonic() + chance.random() * 0.2
        while runner.state.is_running and time.monotonic() < until:
            await asyncio.sleep(0.003)
            if writer.acked != acked:
                acked = writer.acked
                told("acked", session=id_, ticket=acked)
        if chance.random() < 0.4:
            host.feed(ev.Interrupted())
        await asyncio.sleep(0.002)
    told("closing", session=id_)
    assert await host.close()
    told("acked", session=id_, ticket=writer.acked)
    told("closed", session=id_)
    return number


def _calls(folder: Path, id_: str) -> int:
    with suppress(CtxtuiError), Store.open(folder / "home" / "ctxtui.db") as store:
        return len(store.load(id_).thread_calls())
    return 0


# The watcher


@dataclass
class Contender:
    """A process that wants the chat, and what of its last line came so far."""

    pid: int
    pipe: int
    rest: bytes = b""


@dataclass
class Log:
    """What both processes said, in the order of time, since the chat began."""

    lines: list[dict[str, Any]] = field(default_factory=list)

    def take(self, one: Contender, data: bytes) -> None:
        *whole, one.rest = (one.rest + data).split(b"\n")
        self.lines += [json.loads(line) for line in whole]

    def acknowledged(self, session: str) -> list[tuple[str, str]]:
        """(what, words) of each event of a session that was said to be in the file, in order."""
        sure: list[tuple[float, str, str]] = []
        waiting: dict[int, list[tuple[int, float, str, str]]] = {}
        for line in self.ordered(session):
            mine = waiting.setdefault(line["pid"], [])
            if line["kind"] == "put":
                mine.append((line["ticket"], line["at"], line["what"], line["words"]))
            elif line["kind"] == "acked":
                sure += [rest for ticket, *rest in mine if ticket <= line["ticket"]]  # type: ignore[misc]
                mine[:] = [put for put in mine if put[0] > line["ticket"]]
            elif line["kind"] == "opened":
                mine.clear()
        return [(what, words) for _, what, words in sorted(sure)]

    def ordered(self, session: str) -> list[dict[str, Any]]:
        return sorted((one for one in self.lines if one.get("session") == session), key=lambda one: float(one["at"]))

    def at_once(self, session: str) -> int:
        """How often a process wrote after another one had been let in."""
        host, found = 0, 0
        for line in self.ordered(session):
            if line["kind"] == "opened":
                host = line["pid"]
            elif line["kind"] == "put":
                found += line["pid"] != host
        return found


def begin(folder: Path, seed: int, id_: str) -> Contender:
    """A process that wants the chat."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            asyncio.run(compete(folder, seed, Told(writing), id_))
        finally:
            os._exit(1)
    os.close(writing)
    return Contender(child, reading)


def hear(both: list[Contender], log: Log, seconds: float) -> None:
    """Take what both say for so long."""
    until = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for one in both:
            selector.register(one.pipe, selectors.EVENT_READ, one)
        while (left := until - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                data = os.read(key.fd, 1 << 20)
                assert data, "a process ended by itself"
                log.take(key.data, data)


def kill(one: Contender, log: Log) -> None:
    """SIGKILL, and what it said until then."""
    os.kill(one.pid, signal.SIGKILL)
    while data := os.read(one.pipe, 1 << 20):
        log.take(one, data)
    os.close(one.pipe)
    os.waitpid(one.pid, 0)


# What is left


def texts(session: Session) -> Iterator[tuple[str, str]]:
    """(role, text) of every block that a call or the end of the main thread holds, each place once."""
    tree, seen = session.tree, set()
    heads = [head for call in session.calls.values() for head in (call.raw_head, call.response_head)]
    for head in [*heads, *(thread.tip for thread in session.threads.values())]:
        for node in tree.path(head):
            if node not in seen:
                seen.add(node)
                yield tree[node].place.role, read(tree[node].block).text


def wrong(path: Path, id_: str, log: Log) -> tuple[int, int]:
    """How many acknowledged events of a session are not to be found; how many are there twice or out of order."""
    sure = log.acknowledged(id_)
    try:
        with Store.open(path) as store:
            session = store.load(id_)
    except NotFound:
        return len(sure), 0
    left = pending_events(path, id_)
    every = list(texts(session))
    said = [text for role, text in every if role == "user" and text.startswith("message ")]
    said += [str(event.data) for event in left if event.kind == "said"]
    wanted = [words for what, words in sure if what == "said"]
    gone = [words for words in wanted if words not in said]
    twice = [words for words in wanted if said.count(words) > 1]
    places = [said.index(words) for words in wanted if words in said]
    twice += [said[later] for earlier, later in itertools.pairwise(places) if later < earlier]
    gone += [words for what, words in sure if what == "ended" and words not in session.calls]
    answers = [text for role, text in every if role == "assistant"]
    heard = (event.data for event in left if event.kind == "heard")
    answers.append(_heard(data if isinstance(data, str) else data.decode() for data in heard))
    gone += [words for words in _answers(sure) if not any(words in text for text in answers)]
    if gone or twice:
        print(f"{id_}: lost {gone}, twice {twice}", file=sys.stderr)
        for words in gone:
            near = [text for text in answers if words[:16] in text]
            print(
                f"  there instead: {near}; calls {[(c.id, c.error) for c in session.calls.values()]}", file=sys.stderr
            )
    return len(gone), len(twice)


def _heard(pieces: Iterator[str]) -> str:
    return "".join(json.loads(words) for words in _TEXT.findall("".join(pieces)))


def _answers(sure: list[tuple[str, str]]) -> Iterator[str]:
    """The words of each answer as far as they were acknowledged."""
    stream: list[str] = []
    for what, words in [*sure, ("said", "")]:
        if what == "heard" and not words.startswith("event: message_start"):
            stream.append(words)
            continue
        if text := _heard(iter(stream)):
            yield text
        stream = [words] if what == "heard" else []


def main() -> int:
    """Two processes, kills, a look; again."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    chance = random.Random(given.seed)
    path = given.folder / "home" / "ctxtui.db"
    names = ("kills", "acknowledged", "refused", "branches", "takeovers", "lost", "twice", "at_once", "invalid")
    result = dict.fromkeys(names, 0)
    while result["kills"] < given.kills:
        id_ = asyncio.run(_first(given.folder, chance.randrange(1 << 30)))
        # Once here: what opening imports no process then imports while the other one runs.
        asyncio.run(invalid(given.folder, id_))
        log = Log()
        both = [begin(given.folder, chance.randrange(1 << 30), id_) for _ in "ab"]
        for _ in range(min(ROUND, given.kills - result["kills"])):
            hear(both, log, 0.1 + chance.random() * 0.5)
            victim = chance.randrange(2)
            kill(both[victim], log)
            result["kills"] += 1
            both[victim] = begin(given.folder, chance.randrange(1 << 30), id_)
        for one in both:
            kill(one, log)
        for session in dict.fromkeys(line["session"] for line in log.lines if line["kind"] == "opened"):
            result["acknowledged"] += len(log.acknowledged(session))
            lost, twice = wrong(path, session, log)
            result["lost"] += lost
            result["twice"] += twice
            result["at_once"] += log.at_once(session)
            with suppress(NotFound):
                result["invalid"] += asyncio.run(invalid(given.folder, session))[0]
        opened = [line for line in log.ordered(id_) if line["kind"] == "opened"]
        result["takeovers"] += sum(a["pid"] != b["pid"] for a, b in itertools.pairwise(opened))
        result["refused"] += sum(line["kind"] == "refused" for line in log.lines)
        result["branches"] += sum(line["kind"] == "opened" and line["branch"] for line in log.lines)
    print(json.dumps(result))
    return 0


async def _first(folder: Path, seed: int) -> str:
    """The id of a new chat in which something was said and answered."""
    host = FakeHost(ModelChoice(), settings(folder), folder, random.Random(seed))
    fold = host.open().fold
    await host.begin(lambda news: fold(news.events) and None, lambda call: None, lambda: None)
    host.feed(ev.UserSaid("the beginning"))
    while host.runner is not None and host.runner.state.is_running:
        await asyncio.sleep(0.005)
    assert await host.close()
    return host.session.about.id


if __name__ == "__main__":
    sys.exit(main())
