"""What `--split` says when tmux does not answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.services.attach import tmux_pane


def test_a_tmux_that_hangs_is_named_in_one_short_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hung = tmp_path / "tmux"
    hung.write_text("#!/bin/sh\nexec /bin/sleep 30\n")
    hung.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TMUX", "a-socket,1,0")
    monkeypatch.setattr(tmux_pane, "_TMUX_TIMEOUT_S", 0.2)
    assert tmux_pane.split(tmp_path, "run") == "--split: tmux did not answer within 0.2 s"
