"""Mutated recordings through every command: nothing crashes, hangs, lies about JSON or touches the recording."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.fuzzing import CODES, COMMANDS, alone, fuzz, ran, seedlings

ALL = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
RUNS = 5000 if ALL else 250


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_no_mutation_finds_a_fault(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in alone(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    *found, codes = fuzz(RUNS, seed, tmp_path)
    assert not found, "\n".join(found)[-3000:]
    understood = int(codes.removeprefix(CODES).split(" x 0")[0].replace(",", ""))
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
