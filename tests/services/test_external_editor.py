"""A text through the user's editor: what comes back, and whether it is another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.services.external_editor import edit_text


@pytest.mark.parametrize(
    ("text", "script", "new"),
    [
        ("one", "echo >>", None), ("one\r\ntwo", "echo >>", None), ("one\n", "true", None), ("one\ud800", "true", None),
        ("one\n", "echo two >>", "one\ntwo\n"), ("one", "printf two >", "two"),
    ],
)  # fmt: skip
def test_a_final_newline_of_the_editor_is_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, script: str, new: str | None
) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\n{script} "$1"\n')
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))
    assert edit_text(text) == new
