"""A database that a newer ctxtui wrote: every screen and command says so in a sentence, and nothing crashes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from benchmarks.terminal import Terminal
from ctxtui.cli.run import run
from ctxtui.services.config.paths import database
from tests.pty_app import CTXTUI, Screen, environment, plant
from tests.sampling import few_rows

SAID = "a newer ctxtui wrote the database"


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording of a user whose database is of a schema that comes some day."""
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    path = plant(tmp_path / "home", tmp_path)
    assert run(["import", str(path)]) == 0
    found = database("")
    with sqlite3.connect(found) as conn:
        conn.execute("PRAGMA user_version=999")
    conn.close()
    return path


LEFT_OUT = (["sessions"], ["sessions", "--json"], ["cost", "--all"], ["stats"], ["stats", "--json"])
LEFT_OUT += (["why", "FILE"], ["findings", "FILE"], ["findings", "FILE", "--json"], ["preflight", "FILE"])
LEFT_OUT += (["cache", "FILE"], ["cache", "FILE", "--json"])
"""They say that it is left out, and tell the rest."""
REFUSED = (
    ["import", "FILE"],
    ["show", "FILE", "--json"],
    ["show", "5e551011"],
    ["search", "words"],
    ["notes"],
    ["notes", "FILE"],
    ["edits", "FILE"],
    ["pins", "FILE"],
    ["scrub", "FILE"],
    ["report", "FILE"],
    ["curate", "FILE", "--applied"],
    ["db", "info"],
    ["db", "index"],
    ["db", "vacuum"],
    ["run", "--provider", "offline", "hello"],
)
"""They need it."""
WITHOUT = (["show", "FILE"], ["cost", "FILE"], ["compactions", "FILE"])
"""They need nothing of it."""


@pytest.mark.parametrize("code", [0, 4])
def test_every_command_says_so_or_does_without(session: Path, code: int, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    for command in REFUSED if code else (*LEFT_OUT, *WITHOUT):
        assert run([str(session) if word == "FILE" else word for word in command]) == code, command
        said = capfd.readouterr()
        assert "Traceback" not in said.err and "please report" not in said.err, command
        if command not in WITHOUT:
            assert said.err.count(SAID) == 1, (command, said.err)
            assert str(database("")) in said.err and "upgrade ctxtui" in said.err, command


def test_the_doctor_finds_it(session: Path, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    assert run(["doctor"]) != 0
    assert f"✗ database                {SAID}" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("what", "keys"),
    few_rows([([], ["\x1b"]), (["FILE"], ["d", "\x1b", "n", "\x1b", "!", "\x1b"]), (["chat"], ["hello\r"])]),
    ids=["home", "session", "chat"],
)
def test_every_screen_says_so_and_stays(what: list[str], keys: list[str], session: Path, tmp_path: Path) -> None:
    env = environment(tmp_path / "home") | {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}
    command = [str(session) if word == "FILE" else word for word in what]
    command += ["--provider", "offline"] if what == ["chat"] else []
    with Terminal([*CTXTUI, *command], env=env, size=(200, 40)) as terminal:
        terminal.until_frame(60)
        terminal.until_text(SAID.encode(), cap=60)
        for key in keys:
            terminal.type(key.encode())
            terminal.settle(0.3, cap=5)
        terminal.memory()
        assert any(row.strip() for row in Screen(terminal, (200, 40)).rows)
