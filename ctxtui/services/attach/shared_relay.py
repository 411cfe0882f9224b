"""A long-running relay (``ctxtui proxy``) for programs and local servers, and its lock file."""

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
from ctxtui.attach.run import RecordedRun, new_run_name
from ctxtui.attach.upstream import Upstream
from ctxtui.core.errors import BadConfig, InUse, NotFound
from ctxtui.services.attach.control import Control
from ctxtui.services.attach.edits_gate import EditsGate
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.attach.holding import HoldGate
from ctxtui.services.attach.preparation.preparer_client import PreparerClient
from ctxtui.services.attach.program import ANTHROPIC, GOOGLE, OPENAI
from ctxtui.services.config.settings import Settings

PORT: Final = 4020
LOCAL_SERVERS: Final = {
    "ollama": "http://127.0.0.1:11434",
    "lm-studio": "http://127.0.0.1:1234/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "vllm": "http://127.0.0.1:8000/v1",
}
CHECK_SECONDS: Final = 1.0
"""Seconds between checks for recording problems."""
_NUMBER: Final = re.compile(r"\b\d+\b")
"""A number in a message; messages that differ only in numbers are of one kind."""


def default_upstreams(env: Mapping[str, str]) -> dict[str, str]:
    return {**{provider.name: provider.url(env) for provider in (ANTHROPIC, OPENAI, GOOGLE)}, **LOCAL_SERVERS}


@dataclass(slots=True)
class SharedRelay:
    """A relay to `upstreams` (base URLs by name) that records into `folder`.

    `database` holds the edits.
    """

    folder: Path
    database: Path
    upstreams: Mapping[str, str]
    port: int = PORT
    settings: Settings = field(default_factory=Settings)
    recorder: Recorder = field(init=False)

    async def serve(self, ready: Callable[[dict[str, str]], None], say: Callable[[str], None]) -> None:
        """Serve until interrupted.

        `ready` is called with the base URL of each upstream, `say` with recording problems, each kind once. Raises
        `BadConfig`, `InUse`.
        """
        upstreams = [Upstream(name, url) for name, url in self.upstreams.items()]
        invalid = next(
            (upstream.name for upstream in upstreams if not upstream.name.replace("-", "").replace(".", "").isalnum()),
            "",
        )
        if invalid:
            raise BadConfig(f"{invalid!r} cannot be the first step of a path", place="--upstream")
        stop = asyncio.Event()
        with _RelayLock(self.folder) as lock:
            run = new_run_name()
            self.recorder = Recorder(RecordedRun(self.folder, run, program="proxy", upstreams=dict(self.upstreams)))
            preparer = PreparerClient(self.folder, self.settings, self.recorder.flush)
            edits, recorder = EditsGate(self.database, ""), self.recorder
            gate = HoldGate(
                edits,
                HoldRules(),
                recorder.put,
                lambda: [path.name for path in recorder.files],
                preparer=preparer,
                troubles=lambda: recorder.troubles,
            )
            control = Control(self.folder, run, gate.handle)
            relay = Relay(upstreams, self.recorder.put, self.recorder.next_name, named=True, gate=gate)
            try:
                await relay.start(self.port)
                await control.start()
                urls = {upstream.name: relay.base_url(upstream) for upstream in upstreams}
                _write(lock, {"pid": os.getpid(), "port": relay.port, "urls": urls})
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    # Under `nohup` it continues when its terminal is closed.
                    if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                        asyncio.get_running_loop().add_signal_handler(number, stop.set)
                sys.setswitchinterval(SWITCH_INTERVAL)
                edits.load_ahead()
                ready(urls)
                watcher = asyncio.create_task(self._watch(say))
                await stop.wait()
                watcher.cancel()
            finally:
                await relay.close()
                await control.close()
                gate.close()
                await asyncio.to_thread(self.recorder.close)

    async def _watch(self, say: Callable[[str], None]) -> None:
        # A relay runs for weeks without being watched.
        reported: set[str] = set()
        while True:
            for trouble in self.recorder.troubles:
                kind = _NUMBER.sub("", trouble)
                if kind not in reported:
                    reported.add(kind)
                    say(trouble)
            await asyncio.sleep(CHECK_SECONDS)

    @property
    def recorded_files(self) -> list[Path]:
        return self.recorder.files if hasattr(self, "recorder") else []


def _lock_path(folder: Path) -> Path:
    return folder / "proxy.lock"


class _RelayLock:
    """Locks the file of the running relay; the lock of a killed process is gone with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> IO[str]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.fdopen(os.open(_lock_path(self._folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            info = _read_info(self._file)
            self._file.close()
            raise InUse(
                f"a relay is already running, on port {info.get('port', '?')}",
                way_out="`ctxtui proxy off` ends it",
                pid=int(info.get("pid", 0)),
            ) from None
        return self._file

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._file.truncate(0)
        self._file.close()


def _write(file: IO[str], info: dict[str, Any]) -> None:
    file.seek(0)
    file.truncate(0)
    json.dump(info, file)
    file.flush()


def _read_info(file: IO[str]) -> dict[str, Any]:
    try:
        file.seek(0)
        info = json.load(file)
    except (OSError, ValueError):
        return {}
    return info if isinstance(info, dict) else {}


def running_relay(folder: Path) -> dict[str, Any] | None:
    """The running relay's ``pid``, ``port`` and ``urls``; None if none is running."""
    try:
        with _lock_path(folder).open("r+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return _read_info(file)
    except OSError:
        pass
    return None


def stop_relay(folder: Path, seconds: float = 10.0) -> int:
    """Stop the running relay and return its process id.

    Raises `NotFound` if none is running, `InUse` if it does not end within `seconds`.
    """
    info = running_relay(folder)
    if info is None:
        raise NotFound("no relay is running", place=str(_lock_path(folder)))
    pid = int(info.get("pid", 0))
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    limit = time.monotonic() + seconds
    while running_relay(folder) is not None:
        if time.monotonic() > limit:
            raise InUse(f"the relay of process {pid} does not stop", pid=pid, way_out=f"kill -9 {pid}")
        time.sleep(0.02)
    return pid
