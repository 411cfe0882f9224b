"""Folders with what is no file in them: a link that leads in a circle, a pipe that nobody writes to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cases.claude_code import generate
from tests.cli.conftest import Run, forked

COMMANDS = ("sessions", "cost", "import", "audit")


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "good.jsonl").write_bytes(generate(n_messages=6, seed=4))
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    (folder / "gone.jsonl").symlink_to("nowhere.jsonl")
    os.mkfifo(folder / "pipe.jsonl")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_a_circle_of_links_and_a_pipe_are_passed_over(ctxtui: Run, home: Path, odd: Path, command: str) -> None:
    ran = ctxtui(command, odd)
    assert ran.code == 0, ran.err
    assert "please report" not in ran.err


def test_a_client_s_folder_below_the_home_of_an_unknown_user_is_empty(
    ctxtui: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "QWEN_HOME", "CLINE_DATA_DIR", "LLM_USER_PATH"):
        monkeypatch.setenv(name, "~nobody-here/x")
    ran = ctxtui("sessions")
    assert ran.code in (0, 1) and "please report" not in ran.err
    ran = ctxtui("exec", "--as", "claude-code", "--", "true")
    assert "please report" not in ran.err


def test_a_pipe_among_a_client_s_sessions_is_not_waited_for(home: Path, tmp_path: Path) -> None:
    project = home / ".claude" / "projects" / "p"
    project.mkdir(parents=True)
    os.mkfifo(project / "5e551011-0000-4000-8000-000000000001.jsonl")
    (project / "loop.jsonl").symlink_to("loop.jsonl")
    for arguments in (["sessions"], ["cost", "--all"], ["search", "the"], ["db", "index"]):
        done = forked(arguments, env={**os.environ, "CLAUDE_CONFIG_DIR": str(home / ".claude")})
        assert done.returncode in (0, 1), (arguments, done.stderr)
        assert "please report" not in done.stderr
