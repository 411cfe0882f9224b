"""Rules of plain output: a title and a note, however long, and every command that draws one at 80 cells."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxtui.cli import paint
from ctxtui.views.text import cells
from ctxtui.views.text.span import plain
from tests.cases.long_runs import long_run
from tests.cli.conftest import Run


@pytest.mark.parametrize("title", ["t", "a title", "a title that is long " * 5, "宽" * 60])
@pytest.mark.parametrize("note", ["", "a note", "a note that says much more " * 5, "宽" * 60])
@pytest.mark.parametrize("room", [40, 80, 120])
def test_a_rule_is_never_longer_than_its_line_and_loses_no_word_of_its_note(
    title: str, note: str, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paint, "width", lambda: room)
    drawn = [plain(line) for line in paint.rule(title, note)]
    assert all(cells.width(line) <= room for line in drawn) and cells.width(drawn[0]) == room
    told = "".join(drawn) if len(drawn) == 1 else "".join(drawn[1:])
    assert note.replace(" ", "") in told.replace(" ", "")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / f"{'a-session-with-a-rather-long-name-' * 2}.json"
    path.write_text(json.dumps(long_run(1, turns=2)))
    return path


@pytest.mark.parametrize(
    "asked",
    [
        ("findings", "FILE"),
        ("growth", "FILE"),
        ("lab", "FILE", "--policy", "keep_rounds"),
        ("report", "FILE"),
        ("show", "FILE"),
        ("show", "FILE", "--heaviest"),
        ("show", "FILE", "--repeats"),
        ("show", "FILE", "--phases"),
        ("show", "FILE", "--threads"),
        ("show", "FILE", "--tools"),
        ("why", "FILE"),
        ("diff", "FILE", "FILE"),
        ("budget",),
        ("stats",),
        ("preflight", "FILE"),
    ],
    ids=lambda asked: " ".join(asked),
)
def test_every_rule_fits_in_eighty_cells(
    asked: tuple[str, ...], recording: Path, ctxtui: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("shutil.get_terminal_size", lambda fallback=(80, 24): os.terminal_size((80, 24)))
    ran = ctxtui(*(str(recording) if word == "FILE" else word for word in asked))
    assert ran.out, ran.err
    rules = [line for line in ran.out.splitlines() if line.startswith("─ ")]
    assert all(cells.width(line) == 80 for line in rules), rules
