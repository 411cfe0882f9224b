"""What is said of a context that left, and what the edit log keeps of it."""

from __future__ import annotations

import pytest

from ctxtui.core.edit_log import Stamp, record_export
from ctxtui.views.text.span import plain, width
from ctxtui.views.transcript.edit_log import copied_answer, detail, rows

COMMAND = "claude --resume 99f72ee7-3a00-4a00-8a00-0123456789ab"
FILE = "/home/me/.claude/projects/-home-me-work-entire/99f72ee7-3a00-4a00-8a00-0123456789ab.jsonl"
FOLDER = "/home/me/work/entire"


@pytest.mark.parametrize("room", [62, 76, 116, 156, 260])
def test_the_command_comes_first_and_then_the_folder_in_which_it_is_typed(room: int) -> None:
    told = copied_answer(COMMAND, FOLDER, FILE, ("system prompt and tools",), room)
    said = plain(told)
    assert width(told) <= room and "copied: claude --resume 99f7" in said and "E keeps" in said
    assert room < 76 or COMMAND in said
    assert room < 116 or f"type it in {FOLDER}" in said
    assert room < 260 or (FILE in said and "without system prompt and tools" in said)


def test_a_folder_that_is_too_long_is_cut_and_no_folder_is_not_spoken_of() -> None:
    long = copied_answer(COMMAND, "/home/me/" + "deep/" * 40, FILE, (), 76)
    assert width(long) <= 76 and plain(long).endswith("E keeps all")
    assert plain(copied_answer("curl request", "", "", (), 76)) == "✓ copied: curl request · E keeps it"


def test_the_log_keeps_command_folder_and_file() -> None:
    (row,) = rows(record_export(Stamp("a", 1.0), COMMAND, FILE, ["tools"], FOLDER), lambda target: "")
    shown = [plain(line) for line in detail(row, 80)]
    assert all(width(line) < 80 for line in detail(row, 80)) and "".join(line[13:] for line in shown[2:4]) == FILE
    assert COMMAND in shown[0] and FOLDER in shown[1] and "tools" in shown[4]
    assert row.about == f"{COMMAND} · in {FOLDER} · {FILE} · without tools"
