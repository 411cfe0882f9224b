"""`ctxtui cache`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.claude_code import Script, text, usage
from tests.cases.claude_code_requests import opening
from tests.cli.conftest import Run


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    script = Script(cwd="/home/ada/shop")
    size = 20_000
    for n in range(6):
        late = n == 4
        script.user(f"question {n}", seconds=900.0 if late else 5.0)
        use = usage(fresh=4, read=0 if late or not n else size, write=size + 100 if late or not n else 100, output=50)
        script.assistant(text("answer " * 60), id=f"msg_{n}", stop="end_turn", use=use)
        size += 100
    path = tmp_path / "one.jsonl"
    path.write_bytes(script.dump())
    return path


def test_misses_and_the_next_call_as_json(ctxtui: Run, recording: Path) -> None:
    told = ctxtui("cache", recording, "--json").json
    (one,) = told["misses"]
    assert one["cause"] == "TTL" and one["call"] == 5 and one["foreseen"]
    assert told["lost_usd"] == one["lost_usd"] > 0 and told["cost_usd"] > told["lost_usd"]
    coming = told["next_call"]
    assert coming["read_tokens"] + coming["write_tokens"] + coming["fresh_tokens"] == coming["input_tokens"]
    assert sum(coming["parts_usd"].values()) == pytest.approx(coming["cost_usd"])
    assert coming["inferred"] and coming["interval"][0] <= coming["input_tokens"] <= coming["interval"][1]


def test_for_people(ctxtui: Run, recording: Path) -> None:
    out = ctxtui("cache", recording).out
    assert "1 miss" in out and "TTL 5m" in out and "next call" in out and "expired" in out


def test_other_markers_and_what_they_would_have_cost(ctxtui: Run, recording: Path) -> None:
    (one,) = ctxtui("cache", recording, "--markers", "--json").json["markers"]
    assert one["calls"] == 6 and one["unit"] == "USD" and one["inferred"]
    costs = [tried["cost"] for tried in one["strategies"]]
    assert costs == sorted(costs) and one["least"]["exact"]
    assert 0 < one["least"]["cost"] <= costs[0] * 1.000001
    assert {tried["name"] for tried in one["strategies"]} >= {"none", "automatic", "anchored"}
    assert any(mark["paid"] for mark in one["markers"])
    out = ctxtui("cache", recording, "--markers").out
    assert "optimum" in out and "anchored *" in out and "as recorded" in out


def test_the_next_call_goes_on_with_the_parameters_of_the_recorded_requests(ctxtui: Run, tmp_path: Path) -> None:
    client = opening()
    size = 20_000
    for n in range(4):
        client.asked(f"msg_{n}", text("answer " * 60), use=usage(fresh=0, read=size if n else 0, write=100, output=50))
        client.say(f"question {n}")
        size += 100
    path = tmp_path / "one.jsonl"
    path.write_bytes(client.dump())
    told = ctxtui("cache", path, "--json").json
    coming = told["next_call"]
    assert told["misses"] == [] and not coming["inferred"]
    assert coming["read_tokens"] > 20_000


def test_show_headlines_the_call_that_is_asked_for(ctxtui: Run, recording: Path) -> None:
    assert "rewritten" in ctxtui("show", recording, "--call", "5").out.splitlines()[2]
    assert "rewritten" not in ctxtui("show", recording, "--call", "3").out
