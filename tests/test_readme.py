"""Every command of the README works, as it stands there."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pty_app import REPO, environment, plant, run

README = (REPO / "README.md").read_text()
SHELL = [
    line.split("  #")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, re.S)
    for line in block.splitlines()
]
INLINE = re.findall(r"`(ctxtui(?: [^`]+)?)`", README)
COMMANDS = sorted({line for line in [*SHELL, *INLINE] if line.split()[0] == "ctxtui"})
ON_SCREEN = {"ctxtui", "ctxtui PATH", "ctxtui last", "ctxtui chat"}
SERVES = {command for command in COMMANDS if command.startswith("ctxtui offline")}


def filled(command: str, recording: Path) -> list[str]:
    return [re.sub(r"^PATH\b", str(recording), word) for word in command.split()[1:]]


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in ON_SCREEN | SERVES])
def test_a_command_of_the_readme_succeeds(command: str, tmp_path: Path) -> None:
    recording = plant(tmp_path / "home", tmp_path, messages=100)
    done = subprocess.run(
        [sys.executable, "-m", "ctxtui", *filled(command, recording)],
        cwd=tmp_path,
        env={**os.environ, **environment(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    # As with diff, 1 says that the two differ.
    assert done.returncode == int(command.startswith("ctxtui diff")), done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("command", sorted(SERVES))
def test_a_command_of_the_readme_serves(command: str, tmp_path: Path) -> None:
    recording = plant(tmp_path / "home", tmp_path, messages=100)
    asked = [sys.executable, "-m", "ctxtui", *filled(command, recording)]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(asked, cwd=tmp_path, env={**os.environ, **environment(tmp_path / "home")}, **pipes) as served:
        assert served.stdout is not None
        assert "http://127.0.0.1:" in served.stdout.readline()
        served.send_signal(signal.SIGINT)
        served.communicate(timeout=10)
    assert served.returncode == 0


@pytest.mark.parametrize("command", sorted(ON_SCREEN))
def test_a_command_of_the_readme_opens_on_the_screen(command: str, tmp_path: Path) -> None:
    recording = plant(tmp_path / "home", tmp_path, messages=100)
    with run(tmp_path / "home", *filled(command, recording), cwd=tmp_path) as terminal:
        terminal.until_frame()
        terminal.settle()
        # In a chat one types into the prompt: ctrl+q leaves from there, too.
        terminal.type(b"\x11")
        assert terminal.ended() == 0


def test_the_make_targets_of_the_readme_exist() -> None:
    makefile = (REPO / "Makefile").read_text()
    for line in SHELL:
        if line.startswith("make "):
            assert re.search(rf"^{line.split()[1]}:", makefile, re.M), line


def test_every_file_the_readme_points_to_is_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (REPO / target).exists(), target
