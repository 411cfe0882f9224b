"""A sum counts for the calls that its record tells of, or for none: every command has the same count."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.services.lookalike import ClaudeCode, lines
from tests.transcripts.formats.test_copilot_cli import metrics, request, story
from tests.transcripts.reading import as_lines


def recording(folder: Path, told: int) -> Path:
    """A Copilot session whose sums tell of `told` calls (0: they do not say), of which two have a record."""
    path = folder / "events.jsonl"
    records: list[object] = [
        *story()[:4],
        request("a-1", 500, 100, 9),
        *story()[4:6],
        story()[6],
        metrics(told, 1500, 400, 40),
    ]
    path.write_bytes(as_lines(records))
    return path


@pytest.mark.parametrize(("told", "calls"), [(2, 2), (6, 6), (0, 2)])
def test_every_command_counts_the_same_calls(ctxtui: Run, tmp_path: Path, told: int, calls: int) -> None:
    path = recording(tmp_path, told)
    session = ctxtui("sessions", tmp_path, "--figures", "--json").json["sessions"][0]
    counted = {
        "cost": ctxtui("cost", path, "--json").json["calls"],
        "cost by": sum(row["calls"] for row in ctxtui("cost", path, "--by", "thread", "--json").json["rows"]),
        "stats": ctxtui("stats", tmp_path, "--json").json["total"]["calls"],
        "sessions": session["calls"],
        "show": ctxtui("show", path, "--json").json["session"]["calls"],
        "why": ctxtui("cost", "--why", path, "--json").json["calls"],
        "check": ctxtui("check", path, "--max-context", "1", "--json").json["files"][0]["figures"]["calls"],
        "lab": ctxtui("lab", path, "--json").json["sessions"][0]["calls"],
        "import": ctxtui("import", path, "--json").json["imported"][0]["calls"],
        "imported before": ctxtui("import", path, "--json").json["imported"][0]["calls_before"],
    }
    assert counted == dict.fromkeys(counted, calls)
    assert ctxtui("cost", path, "--json").json["tokens"] == 1540


def test_cost_and_show_split_a_session_alike(ctxtui: Run, tmp_path: Path) -> None:
    path = recording(tmp_path, 0)
    (split,) = [line.strip() for line in ctxtui("show", path).out.splitlines() if "in the main thread" in line]
    assert "some for" in split and split in ctxtui("cost", path).out


def test_one_call_is_no_calls(ctxtui: Run, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(lines(list(ClaudeCode().turns(1))[:2]))
    assert ctxtui("cost", tmp_path / "s.jsonl").out.split("total")[1].split()[:2] == ["1", "call"]
