"""One client played through once: recorded, followed while it runs, curated, resumed. The tests look at what came."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Any, TypeVar

from ctxtui.core.block import HEADER, NOT_RECORDED
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.services.recordings.follow import FollowedNews, Follower, run_follower
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from tests.clients.client import Client, Command
from tests.clients.lab import OUT, Lab, soon
from tests.clients.wire import Exchange

SIGHT = 60.0
"""Seconds within which something that a client wrote must be seen."""


T = TypeVar("T")


class once(property):
    """A step that is done when first asked for; how it ended, well or not, is remembered."""

    def __init__(self, step: Callable[[Any], T]) -> None:
        def done(play: Play) -> T:
            if step.__name__ not in play.ended:
                try:
                    play.ended[step.__name__] = (step(play), None)
                except Exception as error:  # noqa: BLE001 - raised again below, for each test that asks
                    play.ended[step.__name__] = (None, error)
            value, error = play.ended[step.__name__]
            if error is not None:
                raise error
            return value

        super().__init__(done, doc=step.__doc__)


@dataclass(slots=True)
class Watched:
    """What a follower of a recording saw: `before` calls when it began, `live` more while the client's process ran."""

    loaded: Loaded | None = None
    before: int = 0
    live: int = 0
    errors: list[CtxtuiError] = field(default_factory=list)

    def open(self, loaded: Loaded) -> None:
        self.loaded, self.errors = loaded, []
        self.before = self.calls

    def take(self, heard: FollowedNews) -> None:
        if heard.error is not None:
            self.errors.append(heard.error)
        else:
            heard.loaded.add_news(heard.news)

    @property
    def calls(self) -> int:
        """Calls in the open session, and sums, which are there before their calls are: `cn -p` writes these at the
        end."""
        return len(self.loaded.session.calls) if self.loaded else 0

    @property
    def recorded(self) -> int:
        """Calls in the open session without sums."""
        return sum(not call.is_sum for call in self.loaded.session.calls.values()) if self.loaded else 0


@dataclass
class Play:
    """A client in its lab. Each step is done once, when something first asks for what it brings."""

    client: Client
    lab: Lab
    metered: int = 0
    """What the client's own meter said of the curated session, before it was asked anything."""
    ended: dict[str, tuple[Any, Exception | None]] = field(default_factory=dict)

    @once
    def watched(self) -> Watched:
        """The client's work, and a follower of its recording while it is at it: while it goes on with a session that
        it has begun, or in its first run where it goes on with none."""
        client, lab = self.client, self.lab
        if client.again is None:
            return self._follow(Watched(), client.ask(lab, client.first))
        lab.open_gates()
        lab.run(client.ask(lab, client.first))
        lab.close_gates()
        watched = Watched()
        self._opened(watched)
        return self._follow(watched, client.again(lab, client.second))

    def _follow(self, watched: Watched, command: Command) -> Watched:
        follower, stop = Follower(), Flag()
        running = self.lab.begin(command)
        thread = Thread(target=run_follower, args=(follower, watched.take, stop), daemon=True)
        thread.start()
        try:
            if self.client.again is None:
                soon(lambda: self._opened(watched) or running.poll() is not None, SIGHT)
            if watched.loaded is not None:
                follower.watch(watched.loaded)
            self.lab.open_gate(1)
            self._say(running, self.client.second)
            self._see(lambda: watched.calls > watched.before, watched, running)
            watched.live = watched.calls - watched.before if running.poll() is None else 0
            self.lab.open_gates()
            self._say(running, self.client.third)
            if running.stdin is not None:
                running.stdin.close()
            self.lab.end(running)
            self._see(lambda: watched.recorded == len(self.main), watched)
        finally:
            stop.set()
            self.lab.open_gates()
            thread.join()
        return watched

    def _opened(self, watched: Watched) -> bool:
        """Whether the newest recording could be opened."""
        for path in self.lab.recorded()[-1:]:
            try:
                watched.open(load(path))
            except CtxtuiError as error:
                watched.errors = [error]
        return watched.loaded is not None

    def _see(self, told: Callable[[], bool], watched: Watched, running: subprocess.Popen[bytes] | None = None) -> None:
        """Wait until the follower saw what it should, in vain where it cannot: a test says so."""
        if watched.loaded is not None and watched.loaded.follows:
            soon(lambda: told() or (running is not None and running.poll() is not None), SIGHT)

    def _say(self, running: subprocess.Popen[bytes], prompt: str) -> None:
        if running.stdin is not None:
            running.stdin.write(prompt.encode() + b"\n")
            running.stdin.flush()

    @property
    def recording(self) -> Path:
        """What the client wrote."""
        assert self.watched
        found = self.lab.recorded()
        assert found, f"nothing is recorded at {self.client.recordings}"
        return found[-1]

    @once
    def whole(self) -> list[Exchange]:
        """All that was asked before the session was curated."""
        assert self.watched
        return self.lab.seen()

    @property
    def main(self) -> list[Exchange]:
        """What was asked so far, without what the client records nowhere and requests that only count."""
        return [one for one in self.lab.seen() if one.asks and not self.client.aside(one)]

    @once
    def recorded(self) -> list[Exchange]:
        """What the recording must hold."""
        assert self.whole
        return self.main

    @once
    def session(self) -> Session:
        """The recording as ctxtui reads it."""
        assert self.whole
        return load(self.recording).session

    @once
    def calls(self) -> list[Call]:
        return list(self.session.calls.values())

    @once
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

    @once
    def context(self) -> list[dict[str, Any]]:
        """The messages of the curated context, in the recorded dialect."""
        told = self.lab.ctxtui("curate", str(self.recording), "--after", "--edits", str(self.edits))
        found: list[dict[str, Any]] = told.get("messages") or told.get("input")
        return found

    @once
    def curated(self) -> Path:
        """The curated session in the client's own format."""
        recording, into = self.recording, self.lab.folder / "curated"
        into.mkdir()
        before = self.context
        assert before
        args = ["--after", "--edits", str(self.edits), "--to", self.client.curate_to, "-o", str(into)]
        self.lab.ctxtui("curate", str(recording), *args)
        files = [path for path in into.rglob("*") if path.is_file()]
        # Beside the recording itself, a session may have other files.
        (written,) = (
            files if len(files) == 1 else [one for one in files if one.match(Path(self.client.recordings).name)]
        )
        return written

    @once
    def resumed(self) -> list[Exchange]:
        """What the client asked when it went on with the curated session."""
        assert self.client.resume is not None
        curated = self.curated
        if self.client.meter is not None:
            self.client.resume(self.lab, curated, self.client.last)
            self.metered = self.client.meter(self.lab, curated)
        before = len(self.lab.seen())
        for command in self.client.resume(self.lab, curated, self.client.last):
            self.lab.run(command)
        return self.lab.seen()[before:]

    def tried_to_resume(self) -> bool:
        """Whether the client went on with the curated session; what hinders it is another test's business."""
        try:
            return bool(self.resumed)
        except (AssertionError, CtxtuiError, OSError, ValueError):
            return False
