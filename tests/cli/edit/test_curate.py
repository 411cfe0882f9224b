"""`ctxtui curate`: requests that can be sent, price tags, and errors that say what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ctxtui.offline.anthropic import validate
from tests.cases import codex_current
from tests.cli.conftest import Run
from tests.curation.price.test_price_tag import long_talk
from tests.transcripts.formats.test_job_folder import job_with_history


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    """A recorded request with its answer, as a proxy writes them."""
    scene = long_talk()
    from ctxtui.wire.registry import encode

    body = json.loads(encode(scene.request))
    answer = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
        "content": [{"type": "text", "text": "So it is."}], "stop_reason": "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 60_000, "output_tokens": 5},
    }  # fmt: skip
    path = tmp_path / "pair.json"
    path.write_text(json.dumps({"request": body, "response": answer}))
    return path


def recorded(path: Path) -> Any:
    return json.loads(path.read_text())["request"]


def test_without_a_policy_the_request_is_the_recorded_one(ctxtui: Run, request_file: Path) -> None:
    ran = ctxtui("curate", request_file)
    assert (ran.code, ran.json) == (0, recorded(request_file))
    assert "main call 1: no edits" in ran.err


def test_a_policy_makes_a_request_that_the_provider_takes(ctxtui: Run, request_file: Path) -> None:
    ran = ctxtui("curate", request_file, "--policy", "truncate_results", "--set", "limit=500")
    assert ran.code == 0 and validate.refusals(ran.json) == []
    assert len(ran.out) < request_file.stat().st_size / 3
    assert "truncate_results 10" in ran.err and "next miss" in ran.err and "refused" not in ran.err


def test_a_dry_run_prints_no_request_and_json_holds_everything(ctxtui: Run, request_file: Path) -> None:
    dry = ctxtui("curate", request_file, "--policy", "budget", "--set", "target=30000", "--dry-run")
    assert (dry.code, dry.out) == (0, "")
    whole = ctxtui("curate", request_file, "--policy", "budget", "--set", "target=30000", "--json").json
    assert whole["schema_version"] == 1
    assert whole["tokens"]["before"] - whole["tokens"]["after"] == whole["tokens"]["freed"] > 0
    assert {edit["author"] for edit in whole["edits"]} == {"budget"}
    assert [moment["name"] for moment in whole["moments"]][-1] == "next miss"
    assert validate.refusals(whole["request"]) == [] and whole["violations"] == []
    none = ctxtui("curate", request_file, "--policy", "budget", "--json", "--dry-run").json
    assert (none["request"], none["edits"]) == (None, [])


def test_on_a_terminal_the_price_is_shown_and_the_request_only_where_it_is_asked_for(
    ctxtui: Run, request_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxtui.cli.edit.curate._goes_to_terminal", lambda output: output is None)
    policy = ("--policy", "truncate_results", "--set", "limit=500")
    ran = ctxtui("curate", request_file, *policy)
    assert "pays back" in ran.out and '"messages"' not in ran.out
    assert re.search(r"the request has [\d,]+ bytes: use -o FILE or a pipe to write it", ran.err)
    kept = ctxtui("curate", request_file, *policy, "-o", tmp_path / "out.json")
    assert kept.out == "" and json.loads((tmp_path / "out.json").read_text())["messages"]
    assert ctxtui("curate", request_file, *policy, "--json").json["request"]["messages"]


def test_with_json_the_named_file_is_written_too(ctxtui: Run, request_file: Path, tmp_path: Path) -> None:
    made = tmp_path / "out.json"
    told = ctxtui("curate", request_file, "--policy", "truncate_results", "--json", "--dry-run", "-o", made).json
    assert told["request"] is None and not made.exists()
    told = ctxtui("curate", request_file, "--policy", "truncate_results", "--json", "-o", made).json
    assert json.loads(made.read_text()) == told["request"]
    assert ctxtui("curate", request_file, "--json", "-o", "-").json["request"]["messages"], "only the JSON"
    refused = ctxtui("curate", request_file, "--json", "-o", made)
    assert refused.code == 7 and refused.json["error"]["message"] == "the file exists", "one document"


def test_edits_from_a_file_and_a_profile(ctxtui: Run, request_file: Path, tmp_path: Path) -> None:
    first = ctxtui("curate", request_file, "--policy", "truncate_results", "--json", "--dry-run").json
    edits = tmp_path / "edits.jsonl"
    edits.write_text("\n".join(json.dumps(edit) for edit in first["edits"]))
    again = ctxtui("curate", request_file, "--edits", edits, "--json", "--dry-run").json
    assert again["tokens"] == first["tokens"]
    profile = tmp_path / "lean.toml"
    profile.write_text('[[policy]]\nuse = "truncate_results"\n[[policy]]\nuse = "minimise_schemas"\n')
    assert ctxtui("curate", request_file, "--policy", profile, "--json", "--dry-run").json["tokens"] == first["tokens"]


def test_edits_without_effect_are_named(ctxtui: Run, request_file: Path, tmp_path: Path) -> None:
    policy = ctxtui("curate", request_file, "--policy", "truncate_results", "--json", "--dry-run").json
    first, second, *_ = policy["edits"]
    pin = {**first, "id": "p1", "kind": "pin", "author": "user", "payload": {}}
    elsewhere = {**second, "targets": [{"digest": "0" * 32, "occurrence": 0}]}
    edits = tmp_path / "edits.jsonl"
    edits.write_text("\n".join(json.dumps(edit) for edit in (pin, first, elsewhere)))
    said = ctxtui("curate", request_file, "--edits", edits, "--dry-run").err
    assert "rejected truncate: pinned\n" in said and "asleep   1 edit whose target is not in this context\n" in said


def test_other_forms(ctxtui: Run, request_file: Path, tmp_path: Path) -> None:
    chat = ctxtui("curate", request_file, "--to", "openai-chat").json
    assert chat["messages"][0]["role"] == "system"
    kept = ctxtui("curate", request_file, "--to", "ctxtui", "--policy", "stateless", "-o", tmp_path / "own.jsonl")
    assert kept.code == 0 and ctxtui("show", tmp_path / "own.jsonl").code == 0
    after = ctxtui("curate", request_file, "--after").json
    assert after["messages"][-1]["role"] == "assistant"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--policy", "budgit"], 5, "no policy 'budgit'; did you mean budget?"),
        (["--policy", "budget", "--set", "x=1"], 2, "no policy here has a setting 'x' @ --set"),
        (["--policy", "budget", "--set", "target=much"], 2, "budget: target must be int, not 'much' @ --set"),
        (["--policy", "budget", "--set", "target"], 2, "'target' is not a setting"),
        (["--set", "target=1"], 2, "--set is for a policy"),
        (["--policy", "gone.toml"], 5, "no such profile @ gone.toml"),
        (["--edits", "gone.json"], 5, "no such file @ gone.json"),
        (["--call", "9"], 5, "no call 9"),
        (["--to", "pi"], 7, "not pi"),
    ],
)
def test_errors(ctxtui: Run, request_file: Path, arguments: list[str], code: int, message: str) -> None:
    ran = ctxtui("curate", request_file, *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err and "Traceback" not in ran.err


def test_help_lists_every_policy(ctxtui: Run) -> None:
    told = ctxtui("help", "policies").out
    assert "budget" in told and "target = 0" in told


def test_a_rollout_goes_into_the_folder_of_the_day(ctxtui: Run, tmp_path: Path) -> None:
    source = tmp_path / "rollout-old.jsonl"
    source.write_bytes(codex_current.turns(codex_current.Client()).dump())
    home = tmp_path / "home"
    (home / "sessions").mkdir(parents=True)
    ran = ctxtui("curate", source, "--to", "codex", "-o", home)
    assert ran.code == 0
    (made,) = home.rglob("rollout-*.jsonl")
    year, month, day = made.parent.relative_to(home / "sessions").parts
    assert re.fullmatch(rf"rollout-{year}-{month}-{day}T\d\d-\d\d-\d\d-[0-9a-f-]{{36}}\.jsonl", made.name)
    plain = tmp_path / "plain"
    plain.mkdir()
    ctxtui("curate", source, "--to", "codex", "-o", plain)
    assert [one.parent for one in plain.rglob("rollout-*.jsonl")] == [plain]


def test_old_rounds_of_a_job_s_prompt_give_way_to_facts(ctxtui: Run, tmp_path: Path) -> None:
    folder = job_with_history(tmp_path / "job-7", 9, "rounds", "=== Previous Work ===")
    ran = ctxtui("curate", folder, "--policy", "keep_rounds")
    sent = json.dumps(json.loads(ran.out)["messages"])
    assert "keep_rounds 1" in ran.err and "Round 6: read" in sent and "Round 5: read" not in sent
    assert "rounds 1-5" in sent and "pkg/p5.go" in sent and "Task: count the doors" in sent


@pytest.mark.parametrize("to", ["", "anthropic"])
def test_secrets_are_masked_in_the_written_request(ctxtui: Run, tmp_path: Path, to: str) -> None:
    """Key and token are gone from results, messages and calls; everything else stays."""
    key, token = "sk-ant-api03-" + "Zk3vQ8rT1mW6yB4n" * 5, "ghp_" + "a8Kd3Lq9Zx2Vb7Nm5Tc1" * 2
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": f"curl -H 'x-api-key: {key}' x"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": f"GITHUB_TOKEN={token}\nport 58231"}
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 99,
        "tools": [{"name": "Bash", "description": "Runs.", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": f"my key is {key}"},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ],
    }
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"request": body, "response": {"type": "message", "role": "assistant", "content": []}}))
    more = ("--to", to) if to else ()
    assert key in ctxtui("curate", path, *more).out and token in ctxtui("curate", path, *more).out
    ran = ctxtui("curate", path, "--redact", *more)
    assert ran.code == 0 and key not in ran.out and token not in ran.out and "port 58231" in ran.out
    assert validate.refusals(ran.json) == [] and "3 " in ran.err
