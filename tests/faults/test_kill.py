"""Nothing that was acknowledged is lost, and no request is invalid, when ctxtui is killed at a random point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ALL = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
KILLS = 200 if ALL else 6


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults.killing", str(tmp_path), "--kills", str(KILLS), "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert (found["kills"], found["lost"], found["invalid"]) == (KILLS, 0, 0), (found, done.stderr[-2000:])
    assert found["acknowledged"] > 10 * KILLS, "the kills hit something"
    # Of a few kills it may happen that none hits an answer.
    assert found["partial"] > KILLS // 10 or not ALL, "the kills hit answers"
