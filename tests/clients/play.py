"""One client played through once: recorded, followed while it runs, curated, resumed. The tests look at what came."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Any

from ctxtui.core.block import HEADER, NOT_RECORDED
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.services.recordings.follow import FollowedNews, Follower, run
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from tests.clients.client import Client, Command
from tests.clients.lab import OUT, Lab, until
from tests.clients.wire import Exchange

SIGHT = 15.0
"""Seconds within which something that a client wrote must be seen."""


@dataclass(slots=True)
class Watched:
    """What a follower of a recording saw."""

    loaded: Loaded
    before: int
    live: int = 0
    """Calls that it saw while the client's process ran."""
    errors: list[CtxtuiError] = field(default_factory=list)

    def take(self, heard: FollowedNews) -> None:
        if heard.error is not None:
            self.errors.append(heard.error)
        else:
            self.loaded.take(heard.news)

    @property
    def calls(self) -> int:
        return len(self.loaded.session.calls)


@dataclass
class Play:
    """A client in its lab. Each step is done once, when something first asks for what it brings."""

    client: Client
    lab: Lab

    @cached_property
    def watched(self) -> Watched:
        """The client's work, and a follower of its recording while it is at it: while it goes on with a session that
        it has begun, or in its first run where it goes on with none."""
        client, lab = self.client, self.lab
        if client.again is None:
            return self._follow(client.ask(lab, client.first), self._begun)
        lab.open_gates()
        lab.run(client.ask(lab, client.first))
        lab.close_gates()
        return self._follow(client.again(lab, client.second), self._recorded)

    def _recorded(self, running: subprocess.Popen[bytes]) -> Loaded:
        """The recording of a session that has been begun before."""
        found = self.lab.recorded()
        assert found, f"nothing is recorded at {self.client.recordings}"
        return load(found[-1])

    def _begun(self, running: subprocess.Popen[bytes]) -> Loaded:
        """The recording of the client that waits at its first gate."""
        got: list[Loaded] = []

        def opened() -> bool:
            if running.poll() is None:
                with suppress(CtxtuiError):
                    got.extend(load(path) for path in self.lab.recorded()[-1:])
                return bool(got)
            return True

        until(opened, SIGHT, "the recording can be opened while the client runs", self.lab.printed)
        return got[0] if got else self._recorded(running)

    def _follow(self, command: Command, opened: Callable[[subprocess.Popen[bytes]], Loaded]) -> Watched:
        running = self.lab.begin(command)
        follower, stop = Follower(), Flag()
        watched = None
        try:
            loaded = opened(running)
            watched = Watched(loaded, len(loaded.session.calls))
            follower.watch(loaded)
            thread = Thread(target=run, args=(follower, watched.take, stop), daemon=True)
            thread.start()
            self.lab.open_gate(1)
            self._say(running, self.client.second)
            self._hold(watched, running)
            self.lab.open_gates()
            self._say(running, self.client.third)
            if running.stdin is not None:
                running.stdin.close()
            self.lab.end(running)
            if watched.live:
                until(lambda: watched.calls == len(self.main), SIGHT, "the follower sees the end", self.lab.printed)
        finally:
            stop.set()
            self.lab.open_gates()
        thread.join()
        return watched

    def _hold(self, watched: Watched, running: subprocess.Popen[bytes]) -> None:
        """Leave the client where it waits (at a gate, for its next prompt) until the follower saw it going on."""
        if not watched.loaded.follows:
            return
        until(lambda: watched.calls > watched.before or running.poll() is not None, SIGHT, "live", self.lab.printed)
        if running.poll() is None:
            watched.live = watched.calls - watched.before

    def _say(self, running: subprocess.Popen[bytes], prompt: str) -> None:
        if running.stdin is not None:
            running.stdin.write(prompt.encode() + b"\n")
            running.stdin.flush()

    @property
    def recording(self) -> Path:
        """What the client wrote."""
        assert self.watched
        return self.lab.recorded()[-1]

    @cached_property
    def whole(self) -> list[Exchange]:
        """All that was asked before the session was curated."""
        assert self.watched
        return self.lab.seen()

    @property
    def main(self) -> list[Exchange]:
        """What was asked so far, without what the client records nowhere and requests that only count."""
        asked = [one for one in self.lab.seen() if "count_tokens" not in one.path and "input_tokens" not in one.path]
        return [one for one in asked if one.accepted and not self.client.aside(one)]

    @cached_property
    def recorded(self) -> list[Exchange]:
        """What the recording must hold."""
        assert self.whole
        return self.main

    @cached_property
    def session(self) -> Session:
        """The recording as ctxtui reads it."""
        assert self.whole
        return load(self.recording).session

    @cached_property
    def calls(self) -> list[Call]:
        return list(self.session.calls.values())

    @cached_property
    def edits(self) -> Path:
        """Edits that drop every block in which `OUT` stands."""
        calls = self.session.thread_calls()
        seen: dict[str, int] = {}
        wanted = []
        for block, _ in self.session.tree.items(calls[-1].response_head):
            number = seen[block.digest] = seen.get(block.digest, -1) + 1
            if block.kind not in (HEADER, NOT_RECORDED) and OUT.encode() in block.body:
                wanted.append({"digest": block.digest, "occurrence": number})
        assert wanted, f"{OUT} is in no block"
        path = self.lab.folder / "edits.json"
        path.write_text(json.dumps([{"kind": "drop", "targets": wanted}]))
        return path

    @cached_property
    def context(self) -> list[dict[str, Any]]:
        """The messages of the curated context, in the recorded dialect."""
        told = self.lab.ctxtui("curate", str(self.recording), "--after", "--edits", str(self.edits))
        found: list[dict[str, Any]] = told.get("messages") or told.get("input")
        return found

    @cached_property
    def curated(self) -> Path:
        """The curated session in the client's own format."""
        recording, into = self.recording, self.lab.folder / "curated"
        into.mkdir()
        before = self.context
        assert before
        args = ["--after", "--edits", str(self.edits), "--to", self.client.curate_to, "-o", str(into)]
        self.lab.ctxtui("curate", str(recording), *args)
        (written,) = [path for path in into.rglob("*") if path.is_file()]
        return written

    @cached_property
    def resumed(self) -> list[Exchange]:
        """What the client asked when it went on with the curated session."""
        assert self.client.resume is not None
        curated, before = self.curated, len(self.lab.seen())
        for command in self.client.resume(self.lab, curated, self.client.last):
            self.lab.run(command)
        return self.lab.seen()[before:]

