from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ctxtui.cli.run import run
from ctxtui.services.config import plugins
from tests.cases.client_homes import MOVERS
from tests.warm import warm_ctxtui

PROGRAM = [sys.executable, "-m", "ctxtui"]


@dataclass(frozen=True)
class Ran:
    """What a run left: exit code, standard output and error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without anything: own home, own ctxtui folder, an empty directory to stand in."""
    folder = tmp_path / "home"
    desk = tmp_path / "desk"
    for made in (folder, desk):
        made.mkdir()
    for name in list(os.environ):
        if name.startswith(("CTXTUI_", "CLAUDE_", "CODEX_")) and name != "CTXTUI_CORPUS":
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "COLUMNS", *MOVERS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PWD", str(desk))
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    # A process reports a faulty plug-in once, whichever test it was of.
    monkeypatch.setattr(plugins, "_reported", {})
    monkeypatch.chdir(desk)
    return folder


@pytest.fixture
def ctxtui(home: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process."""

    def ran(*arguments: str | Path) -> Ran:
        capfd.readouterr()
        code = run([str(a) for a in arguments])
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return ran


def program(arguments: Sequence[str | Path], **more: Any) -> subprocess.CompletedProcess[str]:
    """Runs the real program in a process of its own."""
    return _run([*PROGRAM, *map(str, arguments)], **more)


def forked(arguments: Sequence[str | Path], **more: Any) -> subprocess.CompletedProcess[str]:
    """Runs the program in a process of its own that is spared the start (`tests/warm`)."""
    return _run([*warm_ctxtui(), *map(str, arguments)], **more)


def _run(command: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)
