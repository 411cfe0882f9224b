"""Kills what stands round a relay, over and over, while a real SDK asks through it: the screen that looks on and holds,
the thread that records, the provider.

``python -m tests.faults.relay_kills FOLDER --kills 200 --seed 1`` prints one JSON object: how many kills of each, how
many requests were asked again because the provider went away, how many answers the client got and how many it never got
(`unserved`), how many of them were on record when they were looked at first (`acknowledged`) and how many of those were
not at the end (`lost`), how many were never recorded without the relay saying so (`unsaid`).

``--serve`` is the relay's own process: it does what a line of its input says.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import anthropic

from benchmarks.terminal import Terminal
from ctxtui.services.attach.held_requests import hold_next, read_status
from ctxtui.services.attach.registry import program_of
from ctxtui.services.attach.relayed_program import RelayedProgram
from ctxtui.services.config.settings import Settings
from tests.clients.request_pieces import bodies
from tests.pty_app import CTXTUI, REPO, environment

SCREEN, RECORDER, PROVIDER = VICTIMS = ("screen", "recorder", "provider")
_PATIENCE: Final = 120.0
_TRIES: Final = 6
_PACE: Final = 120
"""Tokens a second of an answer: some tenths of a second in which it can be hit."""
_HELD: Final = 16.5
"""The client's own time-out in seconds: a request that nobody decides about is let go 15 s before it."""


async def serve(folder: Path, provider: str) -> None:
    """The relay's process: `kill` ends the recorder's thread, `flush` writes what waits and says what is amiss."""
    around = RelayedProgram(
        command=["agent"],
        program=program_of([], "any"),
        folder=folder,
        database=folder / "ctxtui.db",
        env={"ANTHROPIC_BASE_URL": provider},
        cwd=str(folder),
        settings=Settings(data_dir=str(folder)),
    )
    await around.serve()
    print(json.dumps(around.urls), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        if line == "kill\n":
            thread = around.recorder._thread.ident
            assert thread is not None
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(SystemExit))
            print("{}", flush=True)
        else:
            written = await asyncio.to_thread(around.recorder.flush, 30.0)
            print(json.dumps({"written": written, "faults": around.recorder.faults}), flush=True)
    await around.close()


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def on_record(path: Path | None) -> set[int]:
    """The requests that are recorded whole, with a whole answer."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()] if path is not None else []
    asked, _ = bodies(lines)
    answered = {line["x"] for line in lines if line.get("answered", {}).get("status") == 200}
    ended = {line["x"] for line in lines if "ended" in line and not line.get("error") and line.get("size")}
    said = {x: re.search(r"tell (\d+) things", text) for x, text in asked.items() if x in answered & ended}
    return {int(found[1]) for found in said.values() if found}


def until(there: Any, what: str, seconds: float = _PATIENCE) -> None:
    """Wait until it is so."""
    limit = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < limit, f"not within {seconds:g} s: {what}"
        time.sleep(0.02)


@dataclass
class Scene:
    """Everything that runs, and what became of the requests."""

    folder: Path
    chance: random.Random
    port: int = field(default_factory=free_port)
    provider: subprocess.Popen[bytes] | None = None
    relay: subprocess.Popen[str] | None = None
    screen: Terminal | None = None
    url: str = ""
    faults: int = 0
    looked: int = 0
    answered: list[int] = field(default_factory=list)
    acknowledged: set[int] = field(default_factory=set)
    told: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*VICTIMS, "again", "unserved", "unsaid"), 0))

    @property
    def recording(self) -> Path | None:
        """The session's file, once there is one."""
        return next(iter(sorted((self.folder / "ctxtui" / "attached").glob("*.jsonl"))), None)

    @property
    def env(self) -> dict[str, str]:
        return os.environ | environment(self.folder)

    def start_provider(self) -> None:
        """On the port that the relay leads to, whoever had it before."""
        command = [*CTXTUI, "offline", "--port", str(self.port), "--pace", str(_PACE), "--quiet"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.provider = subprocess.Popen(command, env=self.env, cwd=REPO, **quiet)  # type: ignore[call-overload]

        def there() -> bool:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return True
            return False

        until(there, "the provider serves")

    def start_relay(self) -> None:
        """The process in which relay and recorder are."""
        attached = self.folder / "ctxtui" / "attached"
        attached.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tests.faults.relay_kills", str(attached), "--serve"]
        self.relay = subprocess.Popen(
            [*command, f"http://127.0.0.1:{self.port}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.env,
            cwd=REPO,
        )
        self.url = json.loads(self._line())["anthropic"]

    def _line(self) -> str:
        assert self.relay is not None
        out: IO[str] | None = self.relay.stdout
        assert out is not None
        return out.readline()

    def tell(self, word: str) -> dict[str, Any]:
        """Have the relay's process do something."""
        assert self.relay is not None and self.relay.stdin is not None
        self.relay.stdin.write(f"{word}\n")
        self.relay.stdin.flush()
        found: dict[str, Any] = json.loads(self._line())
        return found

    def start_screen(self) -> None:
        """A person who looks on."""
        recording = self.recording
        assert recording is not None
        self.screen = Terminal([*CTXTUI, "open", str(recording)], env=environment(self.folder), size=(80, 24))

    def kill(self, victim: str) -> None:
        """End it at once, and start it anew where it was a process."""
        self.told[victim] += 1
        if victim == RECORDER:
            self.tell("kill")
        elif victim == PROVIDER:
            assert self.provider is not None
            self.provider.send_signal(signal.SIGKILL)
            self.provider.wait()
            self.start_provider()
        elif self.screen is not None:
            os.kill(self.screen.pid, signal.SIGKILL)
            self.screen.__exit__()
            self.screen = None

    def ask(self, number: int, streams: bool = True) -> None:
        """A request as an agent makes it: what broke off is asked again. One that `streams` is kept alive for minutes
        where it is held, another one is let go before the client gives up."""
        client = anthropic.Anthropic(api_key="k", base_url=self.url, max_retries=8, timeout=_HELD)
        words = [{"role": "user", "content": f"tell {number} things about relays, at length, in {number} lines"}]
        for _ in range(_TRIES):
            try:
                asked: Any = {"model": "claude-sonnet-4-5", "max_tokens": 900, "messages": words}
                if streams:
                    with client.messages.stream(**asked) as stream:
                        message: Any = stream.get_final_message()
                else:
                    message = client.messages.create(**asked)
            except (anthropic.APIError, OSError, RuntimeError):
                # What broke off raises what its library calls it.
                self.told["again"] += 1
            except Exception as error:  # noqa: BLE001 - httpx's own faults, which the SDK passes on
                assert type(error).__module__.startswith("httpx"), error
                self.told["again"] += 1
            else:
                assert message.content
                self.answered.append(number)
                return
        self.told["unserved"] += 1

    def look(self) -> None:
        """What is on record now is acknowledged; what is not has to be told."""
        found = self.tell("flush")
        assert found["written"]
        known = on_record(self.recording)
        fresh = [one for one in self.answered[self.looked :] if one not in known]
        self.told["unsaid"] += max(0, len(fresh) - (found["faults"] - self.faults))
        self.looked, self.faults = len(self.answered), found["faults"]
        self.acknowledged |= known & set(self.answered)

    def round(self, number: int) -> None:
        """One kill while a request is under way."""
        victim = self.chance.choice(VICTIMS)
        recording = self.recording
        assert recording is not None
        if victim == SCREEN:
            if self.screen is None:
                self.start_screen()
            assert self.screen is not None
            # What the screen does with ctrl+o: the next request waits for it.
            hold_next(recording, recording.stem, hold=True)
        asking = threading.Thread(target=self.ask, args=(number, victim != SCREEN))
        asking.start()
        if victim == SCREEN:
            until(lambda: read_status(recording).held or not asking.is_alive(), "the request waits")
            self.screen.read(0.5)
        else:
            time.sleep(self.chance.random() * 0.6)
        self.kill(victim)
        asking.join()
        self.look()

    def close(self) -> None:
        """End everything."""
        if self.screen is not None:
            self.screen.__exit__()
        if self.relay is not None and self.relay.stdin is not None:
            self.relay.stdin.close()
            self.relay.wait(30)
        if self.provider is not None:
            self.provider.kill()
            self.provider.wait()


def main() -> int:
    """Kill, look, kill again."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--serve", default="")
    given = options.parse_args()
    if given.serve:
        asyncio.run(serve(given.folder, given.serve))
        return 0
    scene = Scene(given.folder, random.Random(given.seed))
    try:
        scene.start_provider()
        scene.start_relay()
        scene.ask(0)
        scene.look()
        for number in range(1, given.kills + 1):
            scene.round(number)
        scene.look()
    finally:
        scene.close()
    left = on_record(scene.recording)
    told = {"kills": given.kills, **scene.told, "answered": len(scene.answered), "faults": scene.faults}
    print(json.dumps({**told, "acknowledged": len(scene.acknowledged), "lost": len(scene.acknowledged - left)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
