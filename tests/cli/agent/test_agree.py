"""`ctxtui agree`, against the offline provider's playback: the noise floor, blocks left out, the budget."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.offline import Provider, Server, offline
from ctxtui.transcripts.formats.ctxtui import write
from tests.cases.claude_code import generate
from tests.cli.conftest import Run
from tests.services.chat.test_resending import playback, session


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "wire.ctxtui.jsonl"
    path.write_bytes(write(session()))
    return path


@pytest.fixture
def server() -> Iterator[tuple[Server, str]]:
    """The offline provider, which plays the session."""
    made = Server(Provider(playback=playback(session())))
    with offline(made) as running:
        yield made, running.url


def test_what_the_model_misses_ranks_first(ctxtui: Run, recording: Path, server: tuple[Server, str]) -> None:
    made, url = server
    policy = ("--policy", "strip_images")
    given = ("-n", "6", "--leave-out", "2", "--budget-usd", "10", "--base-url", url)
    ran = ctxtui("agree", recording, *given, *policy, "--json")
    told = ran.json
    (floor,) = told["variants"]
    assert floor["variant"] == "unchanged" and floor["same_tools"]["share"] == 1.0 and floor["failed"] == 0
    assert floor["same_tools"]["low"] < 1.0 == floor["same_tools"]["high"], "six calls prove only so much"
    first, last = told["left_out"]
    assert first["verdict"] == "worse" and first["same_calls"]["hits"] == 0
    assert last["same_calls"]["share"] == 1.0 and last["verdict"] == "not told apart"
    # Of six calls one does not hold the two blocks yet, and what a policy does not change is not sent again.
    assert told["requests"] == len(made.seen) == 6 + 2 * 5 and 0 < told["quote_usd"] < 10
    assert "16 requests to" in ran.err and told["unchanged_by"] == ["strip_images"]
    again = ctxtui("agree", recording, *given, "--json").json
    assert (again["variants"], again["left_out"]) == (told["variants"], told["left_out"])


def test_after_a_change_of_model_only_its_own_calls_are_sent_again(
    ctxtui: Run, server: tuple[Server, str], tmp_path: Path
) -> None:
    changed = session()
    for call in list(changed.calls.values())[:2]:
        changed.calls[call.id] = replace(call, model="claude-haiku-4-5")
    path = tmp_path / "changed.ctxtui.jsonl"
    path.write_bytes(write(changed))
    told = ctxtui("agree", path, "-n", "99", "--budget-usd", "10", "--base-url", server[1], "--json").json
    assert told["calls"][0] == 3


def test_for_people(ctxtui: Run, recording: Path, server: tuple[Server, str]) -> None:
    ran = ctxtui("agree", recording, "-n", "3", "--leave-out", "1", "--budget-usd", "10", "--base-url", server[1])
    assert ran.code == 0 and "noise floor" in ran.out and "3/3 (" in ran.out and "left out one by one" in ran.out


def test_above_the_budget_nothing_is_sent(
    ctxtui: Run, recording: Path, server: tuple[Server, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server[1])
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    ran = ctxtui("agree", recording, "-n", "4", "--budget-usd", "0.0001")
    assert ran.code != 0 and "nothing was sent" in ran.err and "--budget-usd" in ran.err and not server[0].seen
    offered = re.search(r"--budget-usd ([0-9.]+)", ran.err)
    assert offered is not None and "the budget is $0.0001" in ran.err
    assert ctxtui("agree", recording, "-n", "4", "--budget-usd", offered[1]).code == 0, "the way out leads out"
    server[0].seen.clear()
    ran = ctxtui("agree", recording, "-n", "1", "--budget-usd", "1", "--json")
    assert ran.code == 0 and len(server[0].seen) == 1 and 0 < ran.json["variants"][0]["usd"] <= ran.json["quote_usd"]


def test_without_any_answer_it_fails(ctxtui: Run, recording: Path) -> None:
    given = ("agree", recording, "-n", "2", "--budget-usd", "10", "--base-url")
    ran = ctxtui(*given, "http://127.0.0.1:1", "--json")
    assert ran.code == 7 and ran.out.startswith('{"schema_version": 1, "error"'), "every request failed"
    assert "cannot be reached" in ran.err
    ran = ctxtui(*given, "notaurl")
    assert ran.code == 2 and "--base-url" in ran.err


def test_a_transcript_without_prompt_and_tools_says_why_not(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(generate(20, 3))
    ran = ctxtui("agree", path, "--budget-usd", "1")
    assert ran.code != 0 and "lacks system prompt and tools" in ran.err and "Traceback" not in ran.err


def test_the_lab_asks_the_same(
    ctxtui: Run, recording: Path, server: tuple[Server, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server[1])
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    ran = ctxtui("lab", recording, "--agree", "2", "--leave-out", "1", "--budget-usd", "5", "--json")
    assert ran.json["variants"][0]["variant"] == "unchanged" and len(ran.json["left_out"]) == 1
    assert ctxtui("lab", recording, "--agree", "2").code == 2, "no budget, no request"
    asked = len(server[0].seen)
    given = (recording, "--agree", "2", "--budget-usd", "5")
    for more in (("--solve",), ("--html", recording.with_suffix(".html")), ("--cache", "1h")):
        assert ctxtui("lab", *given, *more).code == 2, f"{more[0]} is not passed over in silence"
    for alone in (("--budget-usd", "5"), ("--leave-out", "2")):
        ran = ctxtui("lab", recording, *alone)
        assert ran.code == 2 and "--agree N" in ran.err
    assert len(server[0].seen) == asked


def test_a_policy_with_settings_and_another_model_are_sent_again_beside_the_noise_floor(
    ctxtui: Run, recording: Path, server: tuple[Server, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server[1])
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    policy, model = "truncate_results limit=200 keep_last=0", "claude-haiku-4-5"
    ran = ctxtui("lab", recording, "--agree", "3", "--budget-usd", "5", "--policy", policy, "--model", model, "--json")
    assert {one["variant"] for one in ran.json["variants"]} == {"unchanged", policy, model}, ran.err
    assert f" and {model} (" in ran.err, "who is asked stands beside the price"
    unpriced = ctxtui("lab", recording, "--agree", "3", "--budget-usd", "5", "--model", "nobody-knows-1")
    assert unpriced.code != 0 and "no price is known for nobody-knows-1" in unpriced.err
