"""A relay that stands for several programs and local servers, and the file that tells where it is."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from ctxtui.attach.recorder import Recorder
from ctxtui.attach.relay import SWITCH_INTERVAL, Relay
from ctxtui.attach.run import RecordedRun, new_run
from ctxtui.attach.upstream import Upstream
from ctxtui.core.errors import BadConfig, InUse, NotFound
from ctxtui.services.attach.control import Control
from ctxtui.services.attach.desk.request_desk import RequestDesk
from ctxtui.services.attach.edits_gate import EditsGate
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.attach.holding import HoldGate
from ctxtui.services.attach.program import ANTHROPIC, GOOGLE, OPENAI
from ctxtui.services.config.settings import Settings

PORT: Final = 4020
LOCAL: Final = {
    "ollama": "http://127.0.0.1:11434",
    "lm-studio": "http://127.0.0.1:1234/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "vllm": "http://127.0.0.1:8000/v1",
}
"""Local servers where they are by default."""
_LOOKS: Final = 1.0
"""Seconds between looks for what cannot be recorded."""
_NUMBER: Final = re.compile(r"\b\d+\b")


def usual(env: Mapping[str, str]) -> dict[str, str]:
    """Whom a standing relay leads to by default, by the first step of the path."""
    return {**{door.name: door.url(env) for door in (ANTHROPIC, OPENAI, GOOGLE)}, **LOCAL}


@dataclass(slots=True)
class StandingRelay:
    """A relay on `port` to `upstreams` (name: base URL) that records into `folder`; `database` holds the edits."""

    folder: Path
    database: Path
    upstreams: Mapping[str, str]
    port: int = PORT
    settings: Settings = field(default_factory=Settings)
    recorder: Recorder = field(init=False)

    async def serve(self, ready: Callable[[dict[str, str]], None], say: Callable[[str], None]) -> None:
        """Serve until interrupted; `ready` is told the base URL for each upstream, `say` what cannot be recorded, as
        soon as that is known. Raises `BadConfig`, `InUse`."""
        found = [Upstream(name, url) for name, url in self.upstreams.items()]
        odd = next((one.name for one in found if not one.name.replace("-", "").replace(".", "").isalnum()), "")
        if odd:
            raise BadConfig(f"{odd!r} cannot be the first step of a path", place="--upstream")
        stop = asyncio.Event()
        with _held(self.folder) as lock:
            run = new_run()
            self.recorder = Recorder(RecordedRun(self.folder, run, program="proxy", upstreams=dict(self.upstreams)))
            desk = RequestDesk(self.folder, self.settings, self.recorder.flush)
            edits, recorder = EditsGate(self.database, ""), self.recorder
            gate = HoldGate(
                edits, HoldRules(), recorder.put, self._recorded, desk=desk, troubles=lambda: recorder.troubles
            )
            control = Control(self.folder, run, gate.answer)
            relay = Relay(found, self.recorder.put, self.recorder.next_name, named=True, gate=gate)
            try:
                await relay.start(self.port)
                await control.start()
                urls = {one.name: relay.base_url(one) for one in found}
                _write(lock, {"pid": os.getpid(), "port": relay.port, "urls": urls})
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    # Under `nohup` it stands on when its terminal is closed.
                    if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                        asyncio.get_running_loop().add_signal_handler(number, stop.set)
                sys.setswitchinterval(SWITCH_INTERVAL)
                edits.look_ahead()
                ready(urls)
                watching = asyncio.create_task(self._watch(say))
                await stop.wait()
                watching.cancel()
            finally:
                await relay.close()
                await control.close()
                gate.close()
                await asyncio.to_thread(self.recorder.close)

    async def _watch(self, say: Callable[[str], None]) -> None:
        """Say what cannot be recorded, each kind of it once: a relay stands for weeks, and nobody looks on."""
        said: set[str] = set()
        while True:
            for trouble in self.recorder.troubles:
                kind = _NUMBER.sub("", trouble)
                if kind not in said:
                    said.add(kind)
                    say(trouble)
            await asyncio.sleep(_LOOKS)

    @property
    def recorded(self) -> list[Path]:
        """The files that are written so far."""
        return self.recorder.files if hasattr(self, "recorder") else []

    def _recorded(self) -> list[str]:
        """The names of the files that are written."""
        return [path.name for path in self.recorder.files]


def _place(folder: Path) -> Path:
    return folder / "proxy.lock"


class _held:
    """The file that says that a relay stands, held as long as it does: a process that was killed holds nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> IO[str]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.fdopen(os.open(_place(self._folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            told = _told(self._file)
            self._file.close()
            raise InUse(
                f"a relay stands already, on port {told.get('port', '?')}",
                way_out="`ctxtui proxy off` ends it",
                pid=int(told.get("pid", 0)),
            ) from None
        return self._file

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._file.truncate(0)
        self._file.close()


def _write(file: IO[str], told: dict[str, Any]) -> None:
    file.seek(0)
    file.truncate(0)
    json.dump(told, file)
    file.flush()


def _told(file: IO[str]) -> dict[str, Any]:
    try:
        file.seek(0)
        found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def standing_one(folder: Path) -> dict[str, Any] | None:
    """What the relay that stands now says of itself: `pid`, `port`, `urls`; None where none stands."""
    try:
        with _place(folder).open("r+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return _told(file)
    except OSError:
        pass
    return None


def end(folder: Path, seconds: float = 10.0) -> int:
    """End the relay that stands; its process. Raises `NotFound` where none does, `InUse` where it does not end."""
    told = standing_one(folder)
    if told is None:
        raise NotFound("no relay stands", place=str(_place(folder)))
    pid = int(told.get("pid", 0))
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    limit = time.monotonic() + seconds
    while standing_one(folder) is not None:
        if time.monotonic() > limit:
            raise InUse(f"the relay of process {pid} does not end", pid=pid, way_out=f"kill -9 {pid}")
        time.sleep(0.02)
    return pid
