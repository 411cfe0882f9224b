"""Every command of the README, of docs/commands.md and of CONTRIBUTING.md works, as it stands there."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from ctxtui.cli import run as cli
from tests.pty_app import REPO, environment, plant, run
from tests.sampling import few

README, INDEX, ALL = ((REPO / name).read_text() for name in ("README.md", "docs/README.md", "docs/commands.md"))
CONTRIBUTING = (REPO / "CONTRIBUTING.md").read_text()


def shell(document: str) -> list[str]:
    """The lines of its shell blocks, without their comments."""
    blocks = re.findall(r"```sh\n(.*?)```", document, re.S)
    return [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]


SHELL = shell(README + ALL)
INLINE = re.findall(r"`(ctxtui(?: [^`]+)?)`", README)
COMMANDS = sorted({line for line in [*SHELL, *INLINE] if line.split()[0] == "ctxtui"})
ON_SCREEN = {"ctxtui", "ctxtui PATH", "ctxtui last", "ctxtui chat"}
AROUND = {command for command in COMMANDS if command.startswith("ctxtui exec")}
"""They run a program that is not here."""
ASKS = {command for command in COMMANDS if command.startswith("ctxtui agree")}
"""Ask a provider, of recordings that hold whole requests: `tests/cli/agent/test_agree.py`."""
SERVES = {command for command in COMMANDS if command.startswith("ctxtui offline")}


def filled(command: str, recording: Path) -> list[str]:
    return [re.sub(r"^PATH\b", str(recording), word) for word in command.split()[1:]]


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in ON_SCREEN | SERVES | AROUND | ASKS])
def test_a_command_of_the_readme_succeeds(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    recording = plant(tmp_path / "home", tmp_path, messages=100)
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PWD", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    code, (out, err) = cli.run(filled(command, recording)), capfd.readouterr()
    # As with diff, 1 says that the two differ.
    assert code == int(command.startswith("ctxtui diff")), err
    assert out.strip()


@pytest.mark.parametrize("command", sorted(SERVES))
def test_a_command_of_the_readme_serves(command: str, tmp_path: Path) -> None:
    recording = plant(tmp_path / "home", tmp_path, messages=100)
    asked = [sys.executable, "-m", "ctxtui", *filled(command, recording)]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(asked, cwd=tmp_path, env={**os.environ, **environment(tmp_path / "home")}, **pipes) as served:
        assert served.stdout is not None
        assert "http://127.0.0.1:" in served.stdout.readline()
        served.send_signal(signal.SIGINT)
        served.communicate(timeout=60)
    assert served.returncode == 0


@pytest.mark.parametrize("command", few(sorted(ON_SCREEN)))
def test_a_command_of_the_readme_opens_on_the_screen(command: str, tmp_path: Path) -> None:
    recording = plant(tmp_path / "home", tmp_path, messages=100)
    with run(tmp_path / "home", *filled(command, recording), cwd=tmp_path) as terminal:
        terminal.until_frame()
        terminal.settle()
        # In a chat one types into the prompt: ctrl+q leaves from there, too.
        terminal.type(b"\x11")
        assert terminal.ended() == 0


TOOLS = [line for line in shell(CONTRIBUTING) if line.startswith(".venv/bin/")]
TMUX = [line for line in shell(CONTRIBUTING) if line.startswith("tmux ")]


def on_path(home: Path) -> dict[str, str]:
    """The environment in which the commands of this interpreter are found, for the user whose home is `home`."""
    return {**os.environ, **environment(home), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.mark.slow
@pytest.mark.parametrize("line", TOOLS)
def test_a_command_of_contributing_succeeds(line: str, tmp_path: Path) -> None:
    recording = plant(tmp_path / "home", tmp_path, messages=100)
    words = [word.removeprefix(".venv/bin/") for word in filled(line, recording)]
    command = [line.split()[0].removeprefix(".venv/bin/"), *words]
    command = [str(tmp_path / word) if word.endswith(".png") else word for word in command]
    if command[0] == "python":
        command[0] = sys.executable
    done = subprocess.run(
        command, cwd=REPO, env=on_path(tmp_path / "home"), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_the_terminal_of_contributing_shows_the_screen(tmp_path: Path) -> None:
    recording = plant(tmp_path / "home", tmp_path, messages=100)
    # The path of tmux's socket has to be short.
    with tempfile.TemporaryDirectory() as sockets:
        env = {**on_path(tmp_path / "home"), "TMUX_TMPDIR": sockets, "TERM": "xterm-256color"}
        env.pop("TMUX", None)

        def do(line: str) -> str:
            command = [line.split()[0], *filled(line, recording)]
            return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout

        begin, keys, look, end = TMUX
        do(begin)
        try:
            until = time.monotonic() + 30
            while "transcript" not in (shown := do(look)):
                assert time.monotonic() < until, shown
                time.sleep(0.1)
            do(keys)
        finally:
            do(end)


def test_the_make_targets_exist() -> None:
    makefile = (REPO / "Makefile").read_text()
    for line in [*SHELL, *shell(CONTRIBUTING)]:
        if line.startswith("make "):
            assert re.search(rf"^{line.split()[1]}:", makefile, re.M), line


def test_every_line_of_contributing_is_tried() -> None:
    tried = [line for line in shell(CONTRIBUTING) if line in TOOLS or line in TMUX or line.startswith("make ")]
    assert tried == shell(CONTRIBUTING)


def test_the_index_names_every_document() -> None:
    there = {path.name for path in (REPO / "docs").glob("*.md")} - {"README.md"}
    assert set(re.findall(r"^\| \[.*?\]\(([^)#]+)\)", INDEX, re.MULTILINE)) == there
