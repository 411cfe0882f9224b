"""`proxy` and `exec` are killed while clients stream through them: what was whole a second before is on record."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(("kills", "clients"), [(6, 10), (60, 30)])
def test_a_killed_recorder_leaves_every_whole_answer(kills: int, clients: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults.recorder_kills", str(tmp_path), "--kills", str(kills)]
    command += ["--clients", str(clients), "--seed", "5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert (found["lost"], found["broken"]) == (0, 0), found
    assert found["whole"] > kills and found["proxy"] and found["exec"], found
    shown = {path.stat().st_mode & 0o777 for path in (tmp_path / "ctxtui" / "attached").rglob("*.jsonl")}
    assert shown == {0o600}
