"""Mutated recordings through every command: nothing crashes, hangs, lies about JSON or touches the recording."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.fuzzing import COMMANDS, ran, seedlings

ALL = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
RUNS = 5000 if ALL else 250


@pytest.mark.parametrize("seed", range(4))
def test_no_mutation_finds_a_fault(seed: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults.fuzzing", "--runs", str(RUNS), "--seed", str(seed)]
    done = subprocess.run(
        [*command, "--keep", str(tmp_path)], capture_output=True, text=True, timeout=1800, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    codes = done.stdout.split("exit codes: ")[1]
    understood = int(codes.split(" x 0")[0].replace(",", ""))
    assert understood > RUNS // 3, f"most mutations must still be readable: {codes}"


def test_what_is_mutated_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))
    for one in seedlings():
        path = tmp_path / one.name
        path.write_bytes(one.data)
        assert ran(["show", str(path)]).code == 0, one.name
    assert {command[0] for command in COMMANDS} >= {
        "show",
        "cost",
        "why",
        "cache",
        "audit",
        "curate",
        "export",
        "share",
    }
