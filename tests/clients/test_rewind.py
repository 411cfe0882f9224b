"""Claude Code at its screen goes on with a curated session: its rewind restores files, its cost begins at nothing, the
title that it was given stays."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients.claude_code import CLAUDE_CODE
from tests.clients.lab import SECONDS, Lab, lab, soon
from tests.clients.registry import ASKED, left_out

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\s")
_UP, _ESCAPE = "\x1b[A", "\x1b"
_READY = "acceptedits"


class Screen:
    """A client at a terminal. `shown` is what it drew since the last key, without blanks: it moves instead."""

    def __init__(self, place: Lab, *args: str) -> None:
        self._mine, its = pty.openpty()
        os.set_inheritable(its, True)
        command = [
            place.client.program("claude"),
            *args,
            "--model",
            "claude-opus-5-5",
            "--permission-mode",
            "acceptEdits",
        ]
        inside = ["nsenter", "--preserve-credentials", "-U", "-n", "-t", str(place.space.pid), "--", *command]
        env = place.env | {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "50"}
        self.running = subprocess.Popen(inside, cwd=place.work, env=env, stdin=its, stdout=its, stderr=its)
        os.close(its)
        self._drawn = ""
        threading.Thread(target=self._read, daemon=True).start()
        self.wait(lambda: _READY in self.shown)

    def _read(self) -> None:
        try:
            while data := os.read(self._mine, 1 << 16):
                self._drawn += data.decode("utf-8", "replace")
        except OSError:
            pass  # it has ended

    @property
    def shown(self) -> str:
        return _ESCAPES.sub("", self._drawn)

    def wait(self, told: Callable[[], bool]) -> None:
        assert soon(told, SECONDS), self.shown[-2000:]

    def key(self, keys: str, told: Callable[[], bool]) -> None:
        """Press `keys` and wait until `told`."""
        self._drawn = ""
        os.write(self._mine, keys.encode())
        self.wait(told)

    def type(self, line: str, told: Callable[[], bool]) -> None:
        """Type a line, send it when it is drawn, and wait until `told`."""
        self.key(line, lambda: line.replace(" ", "")[-8:] in self.shown)
        self.key("\r", told)

    def sees(self, words: str) -> Callable[[], bool]:
        return lambda: words.replace(" ", "") in self.shown


@contextmanager
def screen(place: Lab, *args: str) -> Iterator[Screen]:
    made = Screen(place, *args)
    try:
        yield made
    finally:
        made.running.terminate()
        made.running.wait(SECONDS)


def turns(place: Lab) -> int:
    """Turns of the newest session that have ended."""
    records = [json.loads(line) for path in place.recorded()[-1:] for line in path.read_text().split("\n")[:-1]]
    ended = [one["message"] for one in records if one["type"] == "assistant"]
    return len({one["id"] for one in ended if one["stop_reason"] == "end_turn"})


@pytest.mark.skipif(not ASKED or left_out(CLAUDE_CODE.name), reason="real clients run in make test-clients only")
def test_rewind_cost_and_title_work_in_a_curated_session(tmp_path: Path) -> None:
    with lab(CLAUDE_CODE, tmp_path / "lab") as place:
        trusted = {str(place.work): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}
        settings = {"hasCompletedOnboarding": True, "theme": "dark", "projects": trusted}
        settings["customApiKeyResponses"] = {"approved": ["any"], "rejected": []}
        (place.home / ".claude.json").write_text(json.dumps(settings))
        written = place.work / "c.txt"
        with screen(place) as claude:
            claude.type("read b.txt", lambda: turns(place) == 1)
            claude.type("write `first version` to c.txt", lambda: turns(place) == 2)
            claude.type("write `second version` to c.txt", lambda: turns(place) == 3)
            claude.type(
                "/rename The harbour", lambda: b'"customTitle":"The harbour"' in place.recorded()[-1].read_bytes()
            )
        assert written.read_text() == "second version"
        (recording,) = place.recorded()
        place.ctxtui("curate", str(recording), "--after", "--policy", "truncate_results", "--to", "claude-code",
                     "-o", str(recording.parent))  # fmt: skip
        (copy,) = set(place.recorded()) - {recording}
        assert b'"customTitle":"The harbour"' in copy.read_bytes()
        with screen(place, "--resume", copy.stem) as claude:
            claude.type("/cost", claude.sees("Estimated cost: $0.0000"))
            claude.key(_ESCAPE, claude.sees(_READY))
            claude.type("/rewind", claude.sees("Restore the code"))
            claude.key(_UP, claude.sees("second version"))
            claude.key("\r", claude.sees("Restore code and conversation"))
            claude.key("\r", lambda: written.read_text() == "first version")
