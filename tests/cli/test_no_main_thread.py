"""Sessions whose threads all bear names of their own: every command takes the first that has calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.exchanges import attached, grid, pairs
from tests.cli.conftest import Run


def named_threads() -> bytes:
    """A relay's recording of a program that names its threads."""
    lines: list[Any] = [json.loads(line) for line in attached(grid()).splitlines()]
    for line in lines:
        if "asked" in line:
            line["asked"]["thread"] = "planner"
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def counts() -> bytes:
    """Requests whose tokens were counted, and nothing else."""
    records = [json.loads(line) for line in pairs(grid()).splitlines()]
    return "".join(json.dumps({**one, "response": {"input_tokens": 7}}) + "\n" for one in records).encode()


@pytest.mark.parametrize("made", [named_threads, counts])
def test_every_command_takes_a_session_without_a_main_thread(made: Any, ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(made())
    for command in ("show", "cost", "cost --why", "cache", "check --max-context 1m"):
        ran = ctxtui(*command.split(), path)
        assert (ran.code, ran.err) == (0, ""), command
    totals = ctxtui("cost", path, "--json").json["totals"]
    assert totals["calls"] == 6 and totals["subagents"]["threads"] == 0
    if made is counts:
        assert (totals["tokens"], totals["cost_usd"]) == (0, 0.0)
