"""What was not reported is not zero: every sum over it is the least that it can be, and no limit passes on it alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxtui.services.recordings.open import load
from tests.cli.conftest import Run
from tests.cli.test_same_totals import said_alike
from tests.services.lookalike import ClaudeCode, codex, lines

ASKED = {"model": "gpt-5.5", "stream": True, "messages": [{"role": "user", "content": "Which number is next?"}]}
CHUNK = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-5.5"}
REPORT = {"prompt_tokens": 3000, "completion_tokens": 40, "total_tokens": 3040}


def streamed(id_: str, *usage: dict[str, int]) -> str:
    """A streamed answer, with a chunk of usage or without."""
    said: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Forty-two."}, "finish_reason": None}]}
    ]
    said.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    said += [{"choices": [], "usage": one} for one in usage]
    events = [json.dumps({**CHUNK, "id": id_, **one}) for one in said]
    return "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"])


def har(*answers: str, asked: dict[str, Any] = ASKED) -> bytes:
    """A HAR file of one request and these answers."""
    entries = [
        {
            "startedDateTime": f"2026-09-10T10:00:{number:02}.000Z",
            "time": 900,
            "request": {
                "method": "POST",
                "url": "https://api.openai.com/v1/chat/completions",
                "postData": {"mimeType": "application/json", "text": json.dumps(asked)},
            },
            "response": {"status": 200, "content": {"mimeType": "text/event-stream", "text": answer}},
        }
        for number, answer in enumerate(answers)
    ]
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


def codex_without_a_count() -> bytes:
    """A rollout whose second count says nothing, and whose last answer has none."""
    records = [json.loads(line) for line in codex(3).splitlines()]
    counts = [n for n, one in enumerate(records) if one["payload"].get("type") == "token_count"]
    records[counts[1]]["payload"]["info"] = None
    return lines(records[: counts[2]])


def gateway_without_counts() -> bytes:
    """A Claude Code session through a gateway that reports zeros of one call."""
    records = list(ClaudeCode().turns(2))
    for one in records:
        if one["type"] == "assistant" and one["message"]["id"] == "msg_0002":
            one["message"]["usage"] = {"input_tokens": 0, "output_tokens": 0}
    return lines(records)


RECORDINGS: dict[str, tuple[Callable[[], bytes], int]] = {
    "stream.har": (lambda: har(streamed("chatcmpl-1", REPORT), streamed("chatcmpl-2")), 1),
    "rollout-2026-09-10T10-00-00-01990000-0000-7000-8000-000000000001.jsonl": (codex_without_a_count, 2),
    "gateway.jsonl": (gateway_without_counts, 1),
}


@pytest.mark.parametrize(("name", "made", "missing"), [(name, *one) for name, one in RECORDINGS.items()])
def test_an_answer_without_a_report_makes_every_sum_the_least(
    ctxtui: Run, tmp_path: Path, name: str, made: Callable[[], bytes], missing: int
) -> None:
    path = tmp_path / name
    path.write_bytes(made())
    found = said_alike(ctxtui, path)
    assert found["partial_calls"] == missing and found["cost_usd"] is None and found["cost_usd_at_least"] > 0  # type: ignore[operator]
    calls = load(path).session.calls.values()
    assert sum(call.usage is None for call in calls) == missing
    assert found["tokens"] == sum(call.usage.input + call.output for call in calls if call.usage)
    for words in (["cost", path], ["why", path], ["report", path], ["stats", tmp_path], ["show", path]):
        told = ctxtui(*words).out
        assert "≥" in told and "≥0" not in told and "≥ $0.000" not in told, words
    totals = [ctxtui("stats", tmp_path, *more, "--json").json["total"] for more in ([], ["--usage"])]
    assert [(one["partial"], one["usd"]) for one in totals] == [(missing, None)] * 2
    assert ctxtui("cache", path, "--json").json["partial_calls"] == missing
    shown = ctxtui("show", path, "--json", "--threads", "--phases").json
    assert sum(one["partial_calls"] for one in shown["threads"]) == missing
    assert all(one["cost_usd"] != 0 and one["cost_usd_at_least"] != 0 for one in shown["threads"])


def test_where_nothing_is_reported_nothing_is_known(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "silent.har"
    path.write_bytes(har(streamed("chatcmpl-1")))
    found = ctxtui("cost", path, "--json").json["totals"]
    assert (found["partial_calls"], found["cost_usd"], found["cost_usd_at_least"]) == (1, None, None)
    for words in (["cost", path], ["why", path]):
        assert "$0.0" not in ctxtui(*words).out, words


def test_a_refused_request_costs_nothing_and_a_sum_for_all_covers_each(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "refused.har"
    whole = json.loads(har(streamed("chatcmpl-1", REPORT), json.dumps({"error": {"message": "too long"}})))
    whole["log"]["entries"][1]["response"]["status"] = 400
    path.write_bytes(json.dumps(whole).encode())
    found = said_alike(ctxtui, path)
    assert found["calls"] == 2 and found["partial_calls"] == 0 and found["cost_usd"] is not None
    run = tmp_path / "run.traj"
    step = {"action": "ls", "observation": "a.txt", "response": "ls", "thought": "", "state": "{}"}
    history = [
        {"role": "system", "content": "You work on files.", "agent": "main"},
        {"role": "user", "content": "List them.", "agent": "main"},
        {"role": "assistant", "content": "ls", "agent": "main", "action": "ls", "thought": ""},
    ]
    stats = {"instance_cost": 0.0, "tokens_sent": 900, "tokens_received": 20, "api_calls": 1}
    model = {"model": {"name": "gpt-4o"}}
    run.write_text(
        json.dumps(
            {
                "trajectory": [step],
                "history": history,
                "info": {"model_stats": stats},
                "environment": "main",
                "replay_config": json.dumps({"agent": model}),
            }
        )
    )
    summed = ctxtui("cost", run, "--json").json
    assert summed["partial_calls"] == 0 and summed["tokens"] == 920


@pytest.mark.parametrize(
    ("limit", "code", "passed"), [("100", 0, True), ("2", 9, None), ("0.01", 8, False), ("0.0001", 8, False)]
)
def test_a_limit_of_cost_is_held_against_the_least_and_the_most(
    ctxtui: Run, tmp_path: Path, limit: str, code: int, passed: bool | None
) -> None:
    path = tmp_path / "stream.har"
    path.write_bytes(RECORDINGS["stream.har"][0]())
    report = tmp_path / "junit.xml"
    ran = ctxtui("check", path, "--max-cost", limit, "--json", "--junit", report)
    (file,) = ran.json["files"]
    assert (ran.code, ran.json["passed"], file["passed"], file["checks"][0]["passed"]) == (code, *[passed] * 3)
    figures = file["figures"]
    assert figures["cost_usd"] is None and figures["cost_usd_at_least"] < 2 < figures["cost_usd_at_most"] < 100
    assert ("<error" in report.read_text(), "<failure" in report.read_text()) == (code == 9, code == 8)
    assert ("cannot be checked" in ctxtui("check", path, "--max-cost", limit).out) == (code == 9)


def test_an_answer_counts_as_what_the_request_allows_else_as_what_the_model_can(ctxtui: Run, tmp_path: Path) -> None:
    def most(name: str, body: bytes) -> float:
        (tmp_path / name).write_bytes(body)
        (file,) = ctxtui("check", tmp_path / name, "--json").json["files"]
        least, most = file["figures"]["cost_usd_at_least"], file["figures"]["cost_usd_at_most"]
        return float(most - (least or 0.0))

    broken = streamed("chatcmpl-1", REPORT).partition(
        'data: {"id": "chatcmpl-1", "object": "chat.completion.chunk", '
        '"model": "gpt-5.5", "choices": [{"index": 0, "delta": {}'
    )[0]
    asked = {**ASKED, "max_completion_tokens": 500}
    free, bound = most("free.har", har(broken)), most("bound.har", har(broken, asked=asked))
    # 500 tokens against all that the model can write, at the rate of a short request: $30 for a million.
    assert free - bound == pytest.approx((128_000 - 500) * 30e-6)
    # As Claude Code wrote answers down: the report of a message's start.
    records = list(ClaudeCode(model="claude-opus-4-5").turns(2))
    for one in records:
        if one["type"] == "assistant":
            one["message"]["stop_reason"] = None
    (tmp_path / "part.jsonl").write_bytes(lines(records))
    assert ctxtui("check", tmp_path / "part.jsonl", "--max-cost", "100").code == 0


def test_an_input_is_at_most_what_its_request_holds_else_the_window(ctxtui: Run, tmp_path: Path) -> None:
    def most(name: str, asked: dict[str, Any], *usage: dict[str, int]) -> float:
        path = tmp_path / name
        path.write_bytes(har(streamed("chatcmpl-1", *usage), asked={**asked, "max_completion_tokens": 100}))
        return float(ctxtui("check", path, "--json").json["files"][0]["figures"]["cost_usd_at_most"])

    answer = 100 * 30e-6
    short, long = most("short.har", ASKED), most("long.har", {**ASKED, "messages": [said("word " * 20_000)]})
    # 20,000 tokens and the error of a count that nothing has calibrated, at $5 for a million.
    assert answer < short < answer + 100 * 5e-6 and 20_000 * 5e-6 < long - answer < 60_000 * 5e-6
    assert most("zero.har", ASKED, {**REPORT, "prompt_tokens": 0}) == pytest.approx(short), "a zero is no report"
    linked = [{"type": "text", "text": "Read it."}, {"type": "file", "file": {"file_id": "file-1"}}]
    for name, asked in (
        ("linked.har", {**ASKED, "messages": [said(linked)]}),
        ("elsewhere.har", {**ASKED, "previous_response_id": "resp_1"}),
    ):
        assert most(name, asked) > 5, "the whole window at the rate of a long request"


def said(content: Any) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": content}


def stream_json(result: bool) -> bytes:
    """What ``claude -p --output-format stream-json`` prints: reports of beginnings, and the sums in its last line."""
    session = "00000000-0000-4000-8000-000000000001"
    reports = [(3, 20_000, 0, 40), (5, 300, 20_000, 20)]
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    said: list[dict[str, Any]] = [{"type": "system", "subtype": "init", "cwd": "/tmp/shop", "tools": ["Read"]}]
    for number, report in enumerate(reports):
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-opus-4-8"}
        text = {"content": [{"type": "text", "text": f"Step {number}."}], "stop_reason": None}
        said.append(
            {"type": "assistant", "message": {**message, **text, "usage": dict(zip(names, report, strict=True))}}
        )
    told = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens")
    sums = dict(zip(told, (8, 20_300, 20_000, 460), strict=True))
    said += [{"type": "result", "subtype": "success", "modelUsage": {"claude-opus-4-8": sums}}] if result else []
    records = [
        {**one, "session_id": session, "uuid": f"{n:08}-0000-4000-8000-000000000000"} for n, one in enumerate(said)
    ]
    return lines(records)


def test_the_sums_of_a_result_make_what_was_reported_in_part_exact(ctxtui: Run, tmp_path: Path) -> None:
    for result, tokens, partial in ((False, 40_308 + 60, 2), (True, 40_308 + 460, 0)):
        path = tmp_path / f"run-{result}.jsonl"
        path.write_bytes(stream_json(result))
        found = ctxtui("cost", path, "--json").json
        assert (found["tokens"], found["partial_calls"]) == (tokens, partial)
        assert (found["totals"]["cost_usd"] is None) == bool(partial)
        assert ctxtui("stats", tmp_path, "--json").code == 0
    usd = (8 * 5 + 20_300 * 6.25 + 20_000 * 0.5 + 460 * 25) / 1e6
    assert found["total_usd"] == pytest.approx(usd)


def test_a_call_with_a_right_time_stands_on_its_day_whatever_the_clock_said_before(ctxtui: Run, tmp_path: Path) -> None:
    records = list(ClaudeCode().turns(2))
    for one in records[:4]:
        one["timestamp"] = "2031-01-01T00:00:05.000Z"
    path = tmp_path / "skew.jsonl"
    path.write_bytes(lines(records))
    rows = ctxtui("cost", path, "--by", "day", "--json").json["rows"]
    assert {row["name"]: row["calls"] for row in rows} == {"2025-10-09": 3, "2031-01-01": 1}
    assert {row["name"] for row in ctxtui("stats", tmp_path, "--by", "day", "--json").json["rows"]} == {
        "2025-10-09",
        "2031-01-01",
    }
