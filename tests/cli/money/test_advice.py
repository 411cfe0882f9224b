"""What would help: `ctxtui cost --why` and `ctxtui preflight` find it, rank it, and say how it is done."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from ctxtui.curation.policies.risk import Risk
from tests.cli.conftest import Run
from tests.pty_app import REPO
from tests.sampling import few

PINE = REPO / "sessions" / "1-pineapple-evolve.jsonl"


def ahead(ctxtui: Run, command: str, *options: str) -> list[dict[str, Any]]:
    told = ctxtui(command, PINE, "--json", *options).json
    found: list[dict[str, Any]] = told["ahead" if command == "why" else "advice"]
    return found


@pytest.mark.slow
def test_why_finds_that_the_code_should_stand_outside(ctxtui: Run) -> None:
    told = ctxtui("cost", "--why", PINE, "--json").json
    cure = next(one for one in told["cures"] if one["kind"] == "policy")
    assert cure["names"] == ["externalize_large", "kept outside, by reference"] and cure["count"] == 5
    assert 0.4 * told["total_usd"] < cure["saves"] < told["total_usd"]
    outside = next(one for one in told["ahead"] if one["policies"] == ["externalize_large"])
    assert outside["risk"] == "outside" and outside["before_tokens"] - outside["after_tokens"] > 140_000


@pytest.mark.parametrize("command", few(["why", "preflight"]))
def test_it_is_ranked_by_risk_then_by_what_it_saves_over_the_horizon(ctxtui: Run, command: str) -> None:
    risks = [risk.name.lower() for risk in Risk]
    for horizon in ("5", "40"):
        found = ahead(ctxtui, command, "--horizon", horizon)
        order = [(risks.index(one["risk"]), -one["saves_usd"]) for one in found]
        assert order == sorted(order) and all(one["horizon"] == int(horizon) for one in found)
        for one in found:
            assert one["saves_usd"] == pytest.approx(-(one["once_usd"] + (int(horizon) - 1) * one["per_call_usd"]))


def test_both_commands_say_the_same(ctxtui: Run) -> None:
    assert ahead(ctxtui, "why") == ahead(ctxtui, "preflight")


def test_the_horizon_is_a_setting(ctxtui: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXTUI_HORIZON", "7")
    assert {one["horizon"] for one in ahead(ctxtui, "why")} == {7}


def test_its_command_line_does_what_it_says(ctxtui: Run) -> None:
    for one in ahead(ctxtui, "why"):
        words = shlex.split(one["command"])
        assert words[0] == "ctxtui"
        done = ctxtui(*words[1:], "--dry-run", "--json").json
        assert (done["tokens"]["before"], done["tokens"]["after"]) == (one["before_tokens"], one["after_tokens"])
        assert done["refused"] is None


@pytest.mark.slow
def test_people_read_the_risk_and_the_command(ctxtui: Run) -> None:
    for command in ("why", "preflight"):
        out = ctxtui(command, PINE).out
        assert "kept outside, by reference" in out and "--policy externalize_large" in out


def test_a_session_of_one_call_needs_nothing(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text('{"model":"claude-opus-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}')
    assert ctxtui("cost", "--why", path, "--json").json["ahead"] == []
    assert ctxtui("preflight", path, "--json").json["advice"] == []
