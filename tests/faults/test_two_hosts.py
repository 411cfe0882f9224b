"""Two processes that want one chat, killed at random: one at a time has it, and nothing acknowledged is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ALL = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
KILLS = 200 if ALL else 8


@pytest.mark.slow
def test_two_hosts_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults.two_hosts", str(tmp_path), "--kills", str(KILLS), "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    held = {name: found[name] for name in ("kills", "lost", "twice", "at_once", "invalid")}
    assert held == {"kills": KILLS, "lost": 0, "twice": 0, "at_once": 0, "invalid": 0}, (found, done.stderr[-3000:])
    assert found["acknowledged"] > 5 * KILLS and found["refused"] and found["takeovers"], "the two met"
