"""The screen that holds, the recorder and the provider of a relay are killed: the client is served, what is on record
stays there, and what was not recorded is said."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = 200


@pytest.mark.slow
def test_kills_round_a_relay_cost_no_answer_and_nothing_on_record(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults.relay_kills", str(tmp_path), "--kills", str(KILLS), "--seed", "12"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["kills"] == KILLS and found["answered"] == KILLS + 1 and not found["unserved"], found
    assert found["lost"] == 0 and found["unsaid"] == 0, found
    assert found["acknowledged"] >= found["answered"] - found["faults"], found
    assert all(found[victim] for victim in ("screen", "recorder", "provider")), found
