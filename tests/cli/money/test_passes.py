"""Passes of other models inside one answer: each at its own model's price, whoever recorded the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.analysis.money.statement import Statement
from ctxtui.services.recordings.open import load
from ctxtui.views.lists.costs import bill
from ctxtui.views.text import numbers
from ctxtui.views.text.span import plain
from tests.cli.conftest import Run
from tests.cli.test_same_totals import said_alike
from tests.services.lookalike import ClaudeCode, lines

MODEL, ADVISOR = "claude-sonnet-4-6", "claude-opus-4-7"


def report(kind: str, fresh: int, output: int, read: int = 0, written: int = 0, model: str = "") -> dict[str, Any]:
    """What one pass reports."""
    split = {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": written}
    return {
        "type": kind,
        **({"model": model} if model else {}),
        "input_tokens": fresh,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": split,
    }


PASSES = [
    report("message", 2, 60, read=40_000, written=3_000),
    report("advisor_message", 100_000, 4_000, model=ADVISOR),
    report("message", 2, 300, read=43_000, written=500),
]
USAGE = {
    **report("", 4, 360, read=83_000, written=3_500),
    "service_tier": "standard",
    "iterations": PASSES,
}
OWN = (4 * 3 + 83_000 * 0.3 + 3_500 * 3.75 + 360 * 15) / 1e6
ADVICE = (100_000 * 5 + 4_000 * 25) / 1e6
TOKENS = 4 + 83_000 + 3_500 + 360 + 104_000


def transcript() -> bytes:
    """A Claude Code session of one answer that asked an advisor."""
    client = ClaudeCode(model=MODEL)
    records = [client.user("Is this design sound?"), *client.answer("Yes, with one change.")]
    records[1]["message"]["usage"] = USAGE
    return lines(records)


def har(usage: dict[str, Any]) -> bytes:
    """The same on the wire."""
    asked = {"model": MODEL, "max_tokens": 900, "messages": [{"role": "user", "content": "Is this design sound?"}]}
    said = [{"type": "text", "text": "Yes, with one change."}]
    answer = {"id": "msg_0001", "type": "message", "role": "assistant", "model": MODEL, "content": said}
    entry = {
        "startedDateTime": "2025-10-09T08:53:20.000Z",
        "request": {
            "method": "POST",
            "url": "https://api.anthropic.com/v1/messages",
            "postData": {"mimeType": "application/json", "text": json.dumps(asked)},
        },
        "response": {
            "status": 200,
            "content": {
                "mimeType": "application/json",
                "text": json.dumps({**answer, "stop_reason": "end_turn", "usage": usage}),
            },
        },
    }
    return json.dumps({"log": {"version": "1.2", "entries": [entry]}}).encode()


@pytest.mark.parametrize(("name", "body"), [("a.jsonl", transcript()), ("a.har", har(USAGE))])
def test_an_advisor_is_charged_at_its_own_model_s_price_everywhere(
    ctxtui: Run, tmp_path: Path, name: str, body: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(body)
    found = said_alike(ctxtui, path)
    assert found["tokens"] == TOKENS and found["cost_usd"] == pytest.approx(OWN + ADVICE)
    rows = {row["name"]: row for row in ctxtui("cost", path, "--by", "model", "--json").json["rows"]}
    assert rows[ADVISOR]["usd"] == pytest.approx(ADVICE) and rows[ADVISOR]["tokens"] == 104_000
    assert rows[MODEL]["usd"] == pytest.approx(OWN)
    for more in ([], ["--usage"]):
        stats = ctxtui("stats", tmp_path, "--by", "model", "--json", *more).json
        assert {row["name"]: row["usd"] for row in stats["rows"]} == pytest.approx({ADVISOR: ADVICE, MODEL: OWN})
        assert stats["total"]["input"] + stats["total"]["output"] == TOKENS
    why = ctxtui("cost", "--why", path, "--json").json
    assert why["total_usd"] == pytest.approx(OWN + ADVICE)
    (checked,) = ctxtui("check", path, "--json").json["files"]
    assert checked["figures"]["context_tokens"] == 43_502
    # What was sent is the last pass of the model that answered.
    assert next(iter(load(path).session.calls.values())).usage.input == 43_502  # type: ignore[union-attr]


def test_a_pass_of_the_same_model_is_no_call_and_an_unknown_model_s_has_no_price(ctxtui: Run, tmp_path: Path) -> None:
    same = {**USAGE, "iterations": [report("compaction", 900, 80), PASSES[2]]}
    (tmp_path / "same.har").write_bytes(har(same))
    found = ctxtui("cost", tmp_path / "same.har", "--json").json
    assert (found["calls"], found["tokens"]) == (1, 980 + 43_802) and found["totals"]["cost_usd"] is not None
    calls = list(load(tmp_path / "same.har").session.calls.values())
    paid_by_subscription = bill.heading(Statement(calls=calls, subscription=True))
    assert plain(paid_by_subscription).startswith(f" {numbers.tokens(found['tokens'])} tokens")
    unknown = {**USAGE, "iterations": [report("advisor_message", 900, 80, model="homemade-7"), PASSES[2]]}
    (tmp_path / "unknown.har").write_bytes(har(unknown))
    found = ctxtui("cost", tmp_path / "unknown.har", "--json").json
    assert found["unpriced_calls"] == 1 and found["totals"]["cost_usd"] is None


def test_what_the_client_counts_of_an_advisor_is_not_counted_again(ctxtui: Run, tmp_path: Path) -> None:
    def used(own: list[dict[str, Any]]) -> dict[str, int]:
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        told = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
        return {t: sum(one[n] for one in own) for n, t in zip(names, told, strict=True)}

    path = tmp_path / "metered.jsonl"
    meter = {MODEL: used([PASSES[0], PASSES[2]]), ADVISOR: used([PASSES[1]])}
    record = {"type": "cost-state", "sessionId": ClaudeCode().session, "modelUsage": meter}
    path.write_bytes(transcript() + json.dumps(record).encode() + b"\n")
    found = ctxtui("cost", path, "--json").json
    assert found["tokens"] == TOKENS and found["total_usd"] == pytest.approx(OWN + ADVICE)
