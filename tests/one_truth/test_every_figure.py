"""One truth: a figure that stands in two places is the same in both, on every screen and in every command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ctxtui.services.recordings.databases.address import is_database
from ctxtui.services.recordings.databases.sessions import list_roots
from tests.cases import claude_code, claude_code_requests, codex, codex_current
from tests.corpus import every_recording
from tests.one_truth import commands, screens
from tests.one_truth.figures import COUNT, TOKENS, USD, WORDS, Reading, differences
from tests.sampling import few
from tests.transcripts.reading import as_lines

SAMPLES = sorted((Path(__file__).parents[2] / "sessions").glob("*.jsonl"))
LEAST = 40
"""Readings of a session with calls: fewer would mean that the screens are read past."""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, which no session of the user's is in."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / ".codex"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def found(path: Path, *, home: bool = False) -> list[Reading]:
    return [*commands.readings(path), *screens.readings(await screens.painted(path, home))]


def session_of(path: Path, folder: Path) -> Path:
    """A copy of the recording at `path` in `folder`; of a database one of its sessions: what is asked of the file is
    asked of all of them. Skips where it holds no session."""
    copied = folder / path.name
    shutil.copyfile(path, copied)
    if is_database(copied):
        copied = folder / f"{path.name}#{next(iter(list_roots(copied))).id}"
    if commands.ran(["show", str(copied)]).code != 0:
        pytest.skip("not a session")
    return copied


def quick(name: str, *, slow: bool) -> object:
    return pytest.param(name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("sample", few(SAMPLES), ids=lambda path: path.stem)
async def test_a_sample_has_one_value_for_each_figure_of_the_commands(sample: Path) -> None:
    readings = list(commands.readings(sample))
    assert len(readings) > LEAST and differences(readings) == []


@pytest.mark.parametrize(
    "sample",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem[0] in "123" else []) for path in SAMPLES],
)
async def test_a_sample_has_one_value_for_each_figure(sample: Path) -> None:
    readings = await found(sample)
    assert len(readings) > LEAST
    assert differences(readings) == []


WRITTEN = {
    "claude": lambda: claude_code.generate(n_messages=60, seed=3),
    "parallel": lambda: claude_code_requests.parallel().dump(),
    "compacted": lambda: claude_code_requests.compacted().dump(),
}


@pytest.mark.parametrize("name", [quick(name, slow=name != "compacted") for name in WRITTEN])
async def test_home_the_inspector_and_the_commands_agree_on_a_claude_code_session(name: str, alone: Path) -> None:
    path = alone / ".claude" / "projects" / "-home-dev-shop" / f"{name}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(WRITTEN[name]())
    readings = await found(path, home=True)
    assert {one.place.split(",")[0] for one in readings if one.shown} >= {"home", "inspector", "threads"}
    assert differences(readings) == []


@pytest.mark.parametrize("name", [quick("old", slow=True), "current"])
async def test_home_the_inspector_and_the_commands_agree_on_a_codex_session(name: str, alone: Path) -> None:
    path = alone / ".codex" / "sessions" / "2026" / "01" / "01" / "rollout-2026-01-01T00-00-00-0199.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(codex.generate(40, 2) if name == "old" else as_lines(codex_current.parent().records))
    assert differences(await found(path, home=True)) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", every_recording())
async def test_a_recorded_session_has_one_value_for_each_figure(path: Path, alone: Path) -> None:
    assert differences(await found(session_of(path, alone))) == []


def test_what_differs_is_named_with_every_place() -> None:
    same = [Reading("cost", USD, "cost", 1.2345), Reading("cost", USD, "bill", shown="$1.23")]
    assert differences(same) == []
    (line,) = differences([*same, Reading("cost", USD, "header", shown="$1.24")])
    assert "cost 1.2345" in line and "bill '$1.23'" in line and "header '$1.24'" in line
    assert differences([Reading("calls", COUNT, "a", 3), Reading("calls", COUNT, "b", 4)])
    assert differences([Reading("usd", USD, "a", None), Reading("usd", USD, "b", 0.0)])
    assert not differences([Reading("n", TOKENS, "a", 12_345), Reading("n", TOKENS, "b", shown="12.3k")])
    assert differences([Reading("w", WORDS, "a", shown="x"), Reading("w", WORDS, "b", shown="y")])
