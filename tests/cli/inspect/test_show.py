from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Run, forked
from tests.corpus import corpus_params
from tests.services.lookalike import ClaudeCode, claude_code, lines, subagent

TOP = ["schema_version", "session", "call", "context_tokens", "method", "context_window", "categories"]
TOP += ["blocks", "labels", "reported", "residual", "residual_cause", "growth", "skipped"]

BLOCK = ["digest", "span", "category", "label", "role", "tokens", "method", "interval"]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(claude_code(4))
    return path


def adds_up(found: dict[str, object]) -> None:
    blocks: list[dict[str, int]] = found["blocks"]  # type: ignore[assignment]
    categories: dict[str, int] = found["categories"]  # type: ignore[assignment]
    total = sum(block["tokens"] for block in blocks)
    assert total + found["residual"] == found["context_tokens"]  # type: ignore[operator]
    assert total == sum(categories.values())
    if found["reported"]:
        assert found["reported"]["input"] == found["context_tokens"]  # type: ignore[index]


def test_the_shape_is_the_promised_one(ctxtui: Run, recording: Path) -> None:
    found = ctxtui("show", recording, "--json").json
    assert list(found) == [*TOP, "notes"]
    assert found["schema_version"] == 1
    assert list(found["session"]) == ["id", "title", "source", "model", "calls", "threads", "labels", "totals"]
    assert (found["session"]["calls"], found["call"], found["session"]["source"]) == (8, 8, "claude code")
    for block in found["blocks"]:
        assert list(block) == [*BLOCK, "labels", "running_chars", "running_tokens"]
        assert block["interval"][0] <= block["tokens"] <= block["interval"][1]
        assert block["span"][0] == 0 <= block["span"][1]
    missing = next(block for block in found["blocks"] if block["category"] == "not_recorded")
    assert missing["span"] == [0, 0]  # the words for it are ctxtui's
    usage = found["reported"]
    assert list(usage) == ["input", "cache_read", "cache_write", "fresh", "output", "output_final", "output_at_least"]
    assert usage["cache_read"] + usage["cache_write"] + usage["fresh"] == usage["input"]
    assert [point["call"] for point in found["growth"]] == list(range(1, 9))
    assert list(found["growth"][0]) == ["call", "context_tokens", "reported_input"]
    adds_up(found)


def test_any_call_and_thread_can_be_asked_for(ctxtui: Run, tmp_path: Path) -> None:
    session = ClaudeCode()
    path = tmp_path / f"{session.session}.jsonl"
    path.write_bytes(lines(session.turns(2)))
    agents = tmp_path / session.session / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-abc123.jsonl").write_bytes(subagent(session))
    found = ctxtui("show", path, "--call", 2, "--json").json
    assert found["call"] == 2
    assert found["session"]["calls"] == 6
    assert found["session"]["threads"] == 2
    adds_up(found)
    wrong = ctxtui("show", path, "--thread", "nobody", "--json")
    assert wrong.code == 5
    names = wrong.json["error"]["way_out"].removeprefix("threads: ").split(", ")
    agent = ctxtui("show", path, "--thread", next(n for n in names if n != "main"), "--json").json
    assert [point["call"] for point in agent["growth"]] == [1, 2]
    adds_up(agent)


def test_a_call_that_is_not_there(ctxtui: Run, recording: Path) -> None:
    ran = ctxtui("show", recording, "--call", 99)
    assert (ran.code, ran.out) == (5, "")
    assert ran.err == "ctxtui: no call 99 in thread 'main'; it has calls 1 to 8\n"
    assert ctxtui("show", recording, "--call", 0).code == 2


def test_plain_output_tells_the_same(ctxtui: Run, recording: Path) -> None:
    data = ctxtui("show", recording, "--json").json
    text = ctxtui("show", recording).out
    assert f"{data['context_tokens']:,}" in text
    assert "call 8 of 8" in text
    assert "not recorded" in text
    assert "\x1b" not in text, "no colour into a pipe"
    every = ctxtui("show", recording, "--blocks").out
    assert every.count("→ Bash") == 4


def test_ascii_on_request(ctxtui: Run, recording: Path) -> None:
    assert ctxtui("--set", "glyphs=ascii", "show", recording).out.isascii()


def test_standard_input_and_folder_and_pipe(recording: Path, ctxtui: Run) -> None:
    data = recording.read_bytes()
    wanted = ctxtui("show", recording, "--json").json
    with recording.open("rb") as file:
        piped = forked(["show", "-", "--json"], stdin=file, env=dict(os.environ))
    got = Ran(piped.returncode, piped.stdout, piped.stderr)
    assert got.code == 0, got.err
    assert {k: v for k, v in got.json.items() if k != "session"} == {k: v for k, v in wanted.items() if k != "session"}
    (recording.parent / "older.json").write_bytes(b"{}")
    folder = ctxtui("show", recording.parent, "--json")
    assert folder.json == wanted
    assert recording.read_bytes() == data


def test_a_folder_with_several_takes_the_newest_and_says_so(ctxtui: Run, tmp_path: Path) -> None:
    for age, name in enumerate(["new", "old"]):
        path = tmp_path / "rec" / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(claude_code(1, seed=age + 1, words=name))
        os.utime(path, (2_000 - age, 2_000 - age))
    ran = ctxtui("show", tmp_path / "rec", "--json")
    assert "new.jsonl, the newest; the folder has one more recording" in ran.err
    assert ran.json["session"]["id"].endswith("1")


def test_a_folder_without_any(ctxtui: Run, tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    ran = ctxtui("show", tmp_path / "bare")
    assert ran.code == 5
    assert "no recorded session in" in ran.err


def test_no_permission_has_its_own_exit_code(ctxtui: Run, recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def refused(path: object, *more: int, **named: object) -> int:
        if str(path) == str(recording):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *more, **named)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(os, "open", refused)
    ran = ctxtui("show", recording, "--json")
    assert (ran.code, ran.json["error"]["kind"]) == (4, "unreadable")
    assert f"no permission to read {recording}" in ran.err


def test_a_project_folder_stands_for_its_newest_session(ctxtui: Run, home: Path) -> None:
    from ctxtui.services.config.projects import folder_name

    path = home / ".claude/projects" / folder_name(Path.cwd()) / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(claude_code(1))
    assert ctxtui("show", ".", "--json").json["call"] == 2


@pytest.mark.parametrize("path", [*corpus_params("claude_code"), *corpus_params("codex")])
def test_every_recording_of_the_corpus(ctxtui: Run, path: Path) -> None:
    before = path.stat()
    ran = ctxtui("show", path, "--json")
    assert "Traceback" not in ran.err
    if path.name == "episodic-memory__medium-conversation.jsonl":
        assert ran.code == 3
        return
    assert ran.code == 0, ran.err
    adds_up(ran.json)
    assert ran.json["session"]["calls"] >= 1
    after = path.stat()
    assert (before.st_mtime_ns, before.st_size, before.st_mode) == (after.st_mtime_ns, after.st_size, after.st_mode)


def search(folder: Path) -> Path:
    """A search's folder, whose last message was never answered."""
    feedback = "Results:\n" + "".join(f"- trial_0_{n}: score=2.{n}\n" for n in range(40))
    turns = [
        ("assistant", "I pack.\n```repl\nspawn()\n```", None),
        ("system", "REPL execution result", "spawn()"),
        ("user", "Generation 0 complete. " + feedback, None),
        ("assistant", "Generation 1 packs closer.", None),
        ("user", "Generation 1 complete. " + feedback, None),
    ]
    folder.mkdir()
    path = folder / "root_llm_log.jsonl"
    records = [
        {"turn": n, "role": role, "content": said, "code_executed": code, "execution_result": code,
         "timestamp": f"2026-03-04T05:0{n}:00"}
        for n, (role, said, code) in enumerate(turns)
    ]  # fmt: skip
    path.write_bytes(lines(records))
    (folder / "config.json").write_text('{"root_llm": {"model": "claude-sonnet-4-5"}}')
    return path


def test_what_came_after_the_last_call_counts_in_every_figure(ctxtui: Run, tmp_path: Path) -> None:
    path = search(tmp_path / "run")
    last, after = (ctxtui("show", path, *more, "--json").json for more in ((), ("--after",)))
    adds_up(after)
    assert last["call"] == 2 and after["call"] == 0 and len(after["blocks"]) == len(last["blocks"]) + 2
    told = ctxtui("show", path).out
    assert f"{after['context_tokens']:,} tokens in all; --after" in told and "1 × code" in told
    assert "answer" in told and "26 characters recorded" in told and "sonnet-4-5" in told
    grown = ctxtui("growth", path, "--json", "--phase-rule", r"Generation \d+").json
    assert grown["since"]["context_tokens"] == after["context_tokens"] and len(grown["calls"]) == 2
    assert (
        grown["phases"][-1]["end_tokens"] == after["context_tokens"] and "not sent yet" in grown["phases"][-1]["name"]
    )
    assert sum(row["input_tokens"] for row in grown["phases"]) == sum(one["context_tokens"] for one in grown["calls"])
    most = after["context_tokens"] - 1
    assert ctxtui("check", path, "--max-context", str(most)).code == 8
    assert ctxtui("check", path, "--max-context", str(most + 1)).code == 0


def test_where_an_answer_is_the_end_nothing_came_after_it(ctxtui: Run, recording: Path) -> None:
    assert "--after" not in ctxtui("show", recording).out
    assert "nothing came after the last call" in ctxtui("show", recording, "--after").err
    refused = ctxtui("show", recording, "--after", "--call", "1")
    assert refused.code == 2 and "leave out --call" in refused.err
    assert ctxtui("growth", recording, "--json").json["since"] is None


def test_the_code_of_an_answer_is_told_apart(ctxtui: Run, tmp_path: Path) -> None:
    path = search(tmp_path / "run")
    trial = {"trial_id": "trial_0_1", "generation": 0, "code": "x = 1\ny = 2", "metrics": {}, "prompt": "Pack.",
             "response": "Here:\n```python\nx = 1\ny = 2\n```"}  # fmt: skip
    (path.parent / "generations" / "gen_0").mkdir(parents=True)
    (path.parent / "generations" / "gen_0" / "trial_0_1.json").write_bytes(lines([trial]))
    told = ctxtui("show", path, "--thread", "trial_0_1").out
    assert f"{len(trial['response'])} characters recorded, {len(trial['code'])} of them code" in told
