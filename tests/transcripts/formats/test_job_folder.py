"""Job folders as Pedroceli's page lists them, and LLuMa's logs of turns, whoever wrote them, open as sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.block_content import read
from ctxtui.core.call import Fidelity
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN, Session
from ctxtui.services.recordings.folder_scan import find_in_folder
from ctxtui.services.recordings.open import load
from ctxtui.transcripts.kit.readers import JOB
from tests.transcripts import reading
from tests.transcripts.reading import as_bytes

TURN = {
    "turn_id": "turn_000006",
    "timestamp": "2025-11-01T18:15:22",
    "input_tokens": 24_479,
    "output_tokens": 595,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 3_800,
    "button_count": 23,
}


def job() -> list[Any]:
    """The stream that the edge makes of a folder."""
    files = {
        "001-prompt.txt": "Add a flag --json to cmd/list.go",
        "002-response.txt": "I look at the file first.",
        "003-tool-calls.json": [{"tool": "read_file", "args": {"path": "cmd/list.go"}}],
        "004-tool-results.json": [{"success": True, "output": "package cmd"}],
        "005-prompt.txt": "Add a flag --json to cmd/list.go\nread_file: package cmd",
        "006-response.txt": "Done.",
        "007-tool-calls.json": {"tool_calls": [{"name": "run_tests", "arguments": {}}, {"name": "commit"}]},
        "008-tool-results.json": [
            {"name": "run_tests", "success": False, "error": "exit 1"},
            {"result": {"sha": "a1"}},
        ],
    }
    return ["files of a job folder", *({"name": name, "value": value} for name, value in files.items())]


def put(folder: Path) -> None:
    folder.mkdir(parents=True)
    for one in job()[1:]:
        value = one["value"]
        text = value if isinstance(value, str) else json.dumps(value, indent=2)
        (folder / one["name"]).write_text(text, encoding="utf-8")


def words(session: Session, head: int) -> list[str]:
    blocks = [item.block for item in session.tree.items(head) if item.block.kind != "header"]
    return [read(one).text or read(one).name for one in blocks]


def test_a_folder_that_another_program_wrote(tmp_path: Path) -> None:
    put(tmp_path / "job-123")
    session = load(tmp_path / "job-123").session
    assert session.about.source == "job folder" and session.about.title == "Add a flag --json to cmd/list.go"
    first, second = session.thread_calls()
    assert words(session, first.sent_head) == ["Add a flag --json to cmd/list.go"]
    assert words(session, first.response_head)[1:] == ["I look at the file first.", "read_file"]
    assert words(session, second.sent_head) == ["Add a flag --json to cmd/list.go\nread_file: package cmd"]
    assert second.fidelity == Fidelity.TRANSCRIPT and second.usage is None
    tip = words(session, session.threads[MAIN].tip)
    assert tip[-5:] == ["Done.", "run_tests", "commit", "exit 1", '{"sha":"a1"}']
    last = session.tree.items(session.threads[MAIN].tip)[-2:]
    assert [item.block.value().get("tool_use_id") for item in last] == ["call_0", "call_1"]
    assert last[0].block.value().get("is_error") and not last[1].block.value().get("is_error")
    assert find_in_folder(tmp_path) == [tmp_path / "job-123"], "a folder is one recording"


def test_one_number_for_a_whole_round_is_understood(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    for name, text in (
        ("001-tool-results.json", '[{"id": "t", "text": "found"}]'),
        ("001-tool-calls.json", '[{"id": "t", "name": "find", "input": {"for": "x"}}]'),
        ("001-response.txt", "looking"),
        ("001-prompt.txt", "find x"),
        ("010-prompt.txt", "find x\nfound"),
        ("010-response.txt", "there"),
    ):
        (folder / name).write_text(text)
    session = load(folder).session
    assert [words(session, call.response_head)[-1] for call in session.thread_calls()] == ["find", "there"]
    assert words(session, session.thread_calls()[0].sent_head) == ["find x"]


def test_turns_give_their_calls_figures(tmp_path: Path) -> None:
    put(tmp_path / "job")
    (tmp_path / "job" / "logs").mkdir()
    for number, output in ((1, 595), (2, 11)):
        turn = {**TURN, "turn_id": f"turn_{number:06}", "output_tokens": output}
        (tmp_path / "job" / "logs" / f"turn_{number:06}.json").write_text(json.dumps(turn))
    calls = load(tmp_path / "job").session.thread_calls()
    usages = [call.usage for call in calls]
    assert [(u.input, u.cache_read, u.output) for u in usages if u] == [(24_479, 3_800, 595), (24_479, 3_800, 11)]
    # The logs alone: counts, and nothing of the context.
    counted = load(tmp_path / "job" / "logs").session.thread_calls()
    assert [(c.usage.input, c.fidelity) for c in counted if c.usage] == [(24_479, Fidelity.TOTALS)] * 2
    one = load(tmp_path / "job" / "logs" / "turn_000001.json").session.thread_calls()
    assert len(one) == 1 and one[0].ended is not None


def test_what_is_damaged_or_missing_is_said(tmp_path: Path) -> None:
    put(tmp_path / "job")
    (tmp_path / "job" / "003-tool-calls.json").write_text("[{")
    (tmp_path / "job" / "001-prompt.txt").unlink()
    session = load(tmp_path / "job").session
    assert len(session.calls) == 2
    assert [one.reason.split(":")[0] for one in session.skipped] == ["002-response.txt", "003-tool-calls.json"]


def test_a_damaged_log_of_a_turn_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "turn_000001.json").write_text("[{")
    (tmp_path / "logs" / "turn_000002.json").write_text(json.dumps(TURN))
    session = load(tmp_path / "logs").session
    assert [one.reason.split(":")[0] for one in session.skipped] == ["turn_000001.json"]
    assert len(session.calls) == 1


def test_arguments_of_a_call_may_be_json_text(tmp_path: Path) -> None:
    put(tmp_path / "job")
    calls = [{"function": {"name": "read", "arguments": '{"path": "a"}'}}, {"tool": "sh", "args": "ls"}]
    (tmp_path / "job" / "007-tool-calls.json").write_text(json.dumps(calls))
    session = load(tmp_path / "job").session
    blocks = [item.block.value() for item in session.tree.items(session.threads[MAIN].tip)]
    assert [one["input"] for one in blocks if one.get("type") == "tool_use"] == [{"path": "a"}, {"value": "ls"}]


def test_a_list_of_nothing_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(as_bytes(job()[:1]))
    with pytest.raises(CtxtuiError, match="a job folder without any prompt or response"):
        load(path)


def turn(number: int, agent: str = "agent", **more: Any) -> dict[str, Any]:
    """A turn's log as a program writes it that looks at a screen."""
    told = {
        "reasoning": f"Door {number} is open.",
        "thinking": f"Which door? The one at {number}.",
        "memory_actions": [{"name": "keep", "args_keys": ["name"]}] if number % 2 else [],
        "input_action": {"name": "press", "arguments": {"name": f"Door {number}"}},
        "execution_results": ["kept", "queued: press"] if number % 2 else ["queued: press"],
        **more,
    }
    seen = {"buttons": [{"name": f"Door {n}", "bounds": [n, 2, 3, 4]} for n in range(3)], "scrollbar": None}
    return {"turn_id": f"turn_{number:06}", "timestamp": f"2026-05-06T07:{number:02}:00", "reposition": False,
            "capture": {"raw_path": "a.png"}, "vision": seen, agent: told,
            "input_execution": {"status": "ok"}}  # fmt: skip


def used(number: int) -> dict[str, int]:
    return {"input_tokens": 9_000 + 300 * number, "output_tokens": 70, "cache_read_input_tokens": 10}


def put_turns(folder: Path, turns: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True)
    for n, one in enumerate(turns, 1):
        (folder / f"turn_{n:06}.json").write_text(json.dumps(one, indent=2))
    (folder / "agent.log").write_text("started\n")
    return folder


@pytest.mark.parametrize("agent", ["agent", "llm"])
@pytest.mark.parametrize("usage", ["usage", "token_usage"])
def test_the_log_of_a_turn_tells_what_was_seen_and_done(tmp_path: Path, agent: str, usage: str) -> None:
    turns = [turn(n, agent, **{usage: used(n)}) for n in range(1, 25)]
    session = load(put_turns(tmp_path / "logs", turns)).session
    calls = session.thread_calls()
    assert [call.usage.input for call in calls if call.usage] == [9_000 + 300 * n for n in range(1, 25)]
    assert {call.usage.output for call in calls if call.usage} == {70} and not session.skipped
    said = words(session, calls[1].sent_head)
    assert [line.split("\n")[0] for line in said] == [
        "turn_000001 2026-05-06T07:01:00", "Which door? The one at 1.", "Door 1 is open.", "keep", "press", "kept",
        "queued: press", "turn_000002 2026-05-06T07:02:00",
    ]  # fmt: skip
    assert '"name":"Door 2"' in said[0] and '"bounds":[0,2,3,4]' in said[0]
    assert words(session, calls[1].response_head)[-2:] == ["Door 2 is open.", "press"]
    window = words(session, calls[-1].sent_head)
    assert window[0].startswith("turn_000015 ") and sum(line.startswith("turn_0000") for line in window) == 10


def test_before_tokens_were_told_a_turn_was_a_request_of_its_own(tmp_path: Path) -> None:
    blocked = {"turn_id": "turn_000002", "timestamp": "2026-05-06T07:02:00", "vision": {"buttons": []}}
    failed = {**blocked, "turn_id": "turn_000003", "error": {"type": "agent", "message": "no answer"}}
    turns = [turn(1), {**blocked, "failsafe": "no_buttons_detected"}, failed, turn(4)]
    session = load(put_turns(tmp_path / "logs", turns)).session
    first, second = session.thread_calls()
    assert first.usage is None and len(words(session, second.sent_head)) == 1
    none, error = session.happenings
    assert (none.kind, none.text[:11]) == ("no call", "turn_000002")
    assert "no answer" in error.text and not session.skipped


def test_one_turn_s_log_opens_by_itself(tmp_path: Path) -> None:
    (tmp_path / "turn_000006.json").write_text(json.dumps(turn(6, usage=used(6))))
    (call,) = load(tmp_path / "turn_000006.json").session.thread_calls()
    assert call.usage and call.usage.input == 10_800


def round_of(number: int, spelling: str) -> str:
    call = json.dumps({"tool": "read", "args": {"path": f"pkg/p{number}.go"}})
    result = f"package p{number}\n\n// Is it so? It is.\nfunc F() {{}}\n" * 9
    match spelling:
        case "steps":
            return f"### Step {number}\nI read the file.\n{call}\n{result}"
        case "bold":
            return f"**Iteration {number}: read, grep**\n{call}\n{call.replace('read', 'grep')}\n{result}"
        case "names":
            return f"Turn {number}: read\nI read the file.\n{result}"
    return f"Round {number}: read\nI read the file.\n{call}\n{result}"


def job_with_history(folder: Path, rounds: int, spelling: str, heading: str) -> Path:
    folder.mkdir()
    files = "=== pkg/main.go (task file) ===\npackage main\n\n"
    for n in range(1, rounds + 1):
        history = f"{heading}\n" + "".join(round_of(k, spelling) for k in range(1, n)) if n > 1 else ""
        prompt = f"Task: count the doors\n\n{files}{history}\nWhich step comes next? Answer with a call.\n"
        (folder / f"{4 * n - 3:03}-prompt.txt").write_text(prompt)
        (folder / f"{4 * n - 2:03}-response.txt").write_text("I read the next file, since it may hold doors.")
    return folder


@pytest.mark.parametrize("heading", ["=== Previous Work ===", "== Recent history ==", "--- Earlier rounds ---"])
@pytest.mark.parametrize("spelling", ["rounds", "steps", "bold", "names"])
def test_a_prompt_s_task_files_and_rounds_are_told_apart(tmp_path: Path, spelling: str, heading: str) -> None:
    folder = job_with_history(tmp_path / "job-7", 9, spelling, heading)
    session = load(folder).session
    last = session.thread_calls()[-1]
    items = [item for item in session.tree.items(last.sent_head) if item.block.kind != "header"]
    said = words(session, last.sent_head)
    assert said[0] == "Task: count the doors\n\n" and said[1].startswith("=== pkg/main.go (task file)")
    assert said[2].startswith(heading) and said[-1] == "Which step comes next? Answer with a call.\n"
    kinds = [item.block.kind for item in items]
    assert kinds.count("tool_result") == kinds.count("tool_use") == 8 * (1 + (spelling == "bold"))
    results = [line for line, kind in zip(said, kinds, strict=True) if kind == "tool_result" and line]
    assert len(results) == 8 and all(line.count("package p") == 9 for line in results)


def test_answers_that_a_history_repeats_are_told_apart(tmp_path: Path) -> None:
    answers = [f"I looked at door number {n}, and it was shut." for n in range(3)]
    folder = tmp_path / "job-8"
    folder.mkdir()
    for n in range(3):
        saved = "".join(f"=== {k + 1:03}-response.txt ===\n{answers[k]}\n" for k in range(n))
        recent = "=== Recent Context ===\n" + "".join(f"Go on.\n{answers[k]}\n" for k in range(n))
        (folder / f"{2 * n + 1:03}-prompt.txt").write_text(f"Find the open door.\n{recent if n < 2 else saved}")
        (folder / f"{2 * n + 2:03}-response.txt").write_text(answers[n])
    _, second, third = load(folder).session.thread_calls()
    session = load(folder).session
    assert words(session, second.sent_head)[1:] == ["=== Recent Context ===\nGo on.\n", answers[0], "\n"]
    assert [item.place.role for item in session.tree.items(third.sent_head) if item.block.kind != "header"] == [
        "user", "assistant", "assistant",
    ]  # fmt: skip


def test_numbers_of_a_call_stay_as_they_are_written() -> None:
    prompt = '=== Previous rounds ===\nRound 1\n{"tool": "x", "args": {"a": 1e400, "b": 1.10}}\nres\n'
    files = [{"name": "001-prompt.txt", "value": prompt}, {"name": "001-response.txt", "value": "ok"}]
    session = reading.read(as_bytes([JOB, *files, {"name": "9" * 5000 + "-prompt.txt", "value": "x"}]), "job.json")
    (call,) = [node.block for node in session.tree.nodes() if node.block.kind == "tool_use"]
    assert call.body.endswith(b'"input":{"a":1e400,"b":1.10}}')
