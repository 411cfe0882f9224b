"""What `ctxtui exec` writes, as docs/formats.md describes it; what it reads of damaged files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.tree import Tree
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.next_request import next_call_of
from ctxtui.transcripts.formats.attached import reader
from ctxtui.transcripts.registry import describe_file, detect
from tests.transcripts.reading import as_bytes, calls, law_2, read, survives_cuts, survives_values

TEXT = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
NAME = "s.jsonl"
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "stop_reason": "end_turn",
}
ANSWER |= {"content": [{"type": "text", "text": "ja"}], "usage": {"input_tokens": 5, "output_tokens": 2}}


def lines(status: int = 200, answer: Any = ANSWER, ended: Any = None) -> list[Any]:
    body = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hoi"}]})
    asked = {"method": "POST", "url": "https://api.anthropic.com/v1/messages", "headers": [["user-agent", "x/1.0"]]}
    return [
        {"ctxtui_attached": 1, "session": "s", "program": "agent", "cwd": "/work"},
        {"x": "a", "at": 1.0, "asked": {**asked, "body": {"size": len(body), "text": body}}},
        {"x": "a", "at": 2.0, "answered": {"status": status, "headers": []}},
        {"x": "a", "at": 2.5, "data": json.dumps(answer)},
        ended or {"x": "a", "at": 3.0, "ended": True},
    ]


def dump(told: list[Any]) -> bytes:
    return b"\n".join(as_bytes(one) for one in told) + b"\n"


# The line kinds, each identified by its own member, with their other members.
LINE_MEMBERS = {
    "ctxtui_attached": "run at session client version program cwd tags upstreams",
    "asked": "x at method url headers thread keep_warm body",
    "sent": "x at body applied asleep refused by released done trouble pinged played",
    "held": "x at until",
    "passed_on": "x at compaction pinned refused",
    "answered": "x at status headers",
    "data": "x at base64",
    "frame": "x at by",
    "ended": "x at size sha256 error",
    "lost": "at why",
}
BODY_KEYS = "size sha256 encoding like head tail text base64 left_out"


def test_every_line_and_member_is_described() -> None:
    section = TEXT.partition("## Attached recordings")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE))
    assert rows.keys() == LINE_MEMBERS.keys()
    for kind, members in LINE_MEMBERS.items():
        assert all(f"`{member}`" in rows[kind] for member in members.split()), kind
    assert all(f"`{member}`" in section for member in BODY_KEYS.split())


def test_a_call_with_its_answer_and_times() -> None:
    data = dump(lines())
    session = read(data, NAME)
    (call,) = calls(session)
    assert (call.id, call.provider, call.started, call.first_byte, call.ended) == ("msg_1", "anthropic", 1.0, 2.5, 3.0)
    assert (session.about.cwd, session.about.client, session.about.title) == ("/work", "agent", "hoi")
    law_2(data, NAME)
    survives_cuts(data, NAME)


def test_the_beta_features_of_a_request_are_those_of_its_header() -> None:
    told = lines()
    told[1]["asked"]["headers"] += [["Anthropic-Beta", "one-2026-01-01, two-2026-02-02"]]
    (call,) = calls(read(dump(told), NAME))
    assert call.extra["betas"] == ["one-2026-01-01", "two-2026-02-02"]
    (call,) = calls(read(dump(lines()), NAME))
    assert "betas" not in call.extra


def test_a_request_that_was_held_began_when_it_left() -> None:
    first, asked, *answered = lines()
    held = {"x": "a", "at": 1.1, "held": "each"}
    # What a provider caches lives from when it reads, and its answer is waited for from then.
    left = {"x": "a", "at": 90.0, "sent": {"released": "release"}}
    later = [{**one, "at": one["at"] + 100} for one in answered]
    data = dump([first, asked, held, left, *later])
    (call,) = calls(read(data, NAME))
    assert (call.started, call.first_byte, call.ended) == (90.0, 102.5, 103.0)
    survives_cuts(data, NAME)


@pytest.mark.parametrize(("held_for", "foretold"), [(0.0, 0), (200.0, 3_000)])
def test_what_it_cached_lives_from_when_it_left(held_for: float, foretold: int) -> None:
    long = {"type": "text", "text": "word " * 3_000, "cache_control": {"type": "ephemeral"}}
    body = json.dumps(
        {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": [long]}]}
    )
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 3_000, "cache_read_input_tokens": 0, "output_tokens": 2}
    first, asked, *answered = lines(answer={**ANSWER, "usage": usage})
    asked["asked"]["body"] = {"size": len(body), "text": body}
    left = {"x": "a", "at": asked["at"] + held_for, "sent": {"released": "release"}}
    later = [{**one, "at": one["at"] + held_for} for one in answered]
    session = read(dump([first, asked, left, *later]), NAME)
    # 350 s after it was asked an entry of five minutes is gone, but for one that was written while it was held.
    found = next_call_of(session, Counter(), Settings(), at=asked["at"] + 350)
    assert found is not None and found.forecast.read == foretold


def test_a_request_over_a_websocket_that_was_held_began_when_it_left() -> None:
    created = {"type": "response.create", "model": "gpt-5.6", "input": [{"role": "user", "content": "hoi"}]}
    done = {"type": "response.completed", "response": {"id": "resp_1", "model": "gpt-5.6", "status": "completed",
            "output": [], "usage": {"input_tokens": 5, "output_tokens": 2}}}  # fmt: skip
    url = "wss://api.openai.com/v1/responses"
    told: list[Any] = [
        {"ctxtui_attached": 1, "session": "s", "program": "agent"},
        {"x": "a", "at": 1.0, "asked": {"method": "GET", "url": url, "headers": [], "body": {"size": 0, "text": ""}}},
        {"x": "a", "at": 2.0, "answered": {"status": 101, "headers": []}},
    ]
    for number in range(2):
        at = 100.0 * number
        told += [
            {"x": "a", "at": at + 3, "frame": json.dumps(created), "by": "client"},
            {"x": "a", "at": at + 3, "held": "each"},
            {"x": "a", "at": at + 60, "sent": {"released": "release"}},
            {
                "x": "a",
                "at": at + 62,
                "frame": json.dumps({**done, "response": {**done["response"], "id": f"r{number}"}}),
            },
        ]
    found = calls(read(dump(told), NAME))
    assert [(call.started, call.ended) for call in found] == [(60.0, 62.0), (160.0, 162.0)]


def test_any_value_anywhere() -> None:
    for n in range(5):
        for value in (None, 3, "x", [], {}, {"x": "a", "asked": []}):
            told = lines()
            told[n] = value
            reader(Tree()).feed(dump(told))


def test_a_refusal_and_an_answer_that_never_came() -> None:
    refused = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    (call,) = calls(read(dump(lines(529, refused)), NAME))
    assert "Overloaded" in call.error and call.extra["status"] == 529
    told = lines(ended={"x": "a", "at": 3.0, "ended": True, "error": "the client went away"})
    del told[2:4]
    (call,) = calls(read(dump(told), NAME))
    assert call.error == "the client went away"


def test_an_answer_over_a_websocket_that_broke_off_names_the_error() -> None:
    created = {"type": "response.create", "model": "gpt-5.6", "input": [{"role": "user", "content": "hoi"}]}
    url = "wss://api.openai.com/v1/responses"
    told: list[Any] = [
        {"ctxtui_attached": 1, "session": "s", "program": "agent"},
        {"x": "a", "at": 1.0, "asked": {"method": "GET", "url": url, "headers": [], "body": {"size": 0, "text": ""}}},
        {"x": "a", "at": 2.0, "answered": {"status": 101, "headers": []}},
        {"x": "a", "at": 3.0, "frame": json.dumps(created), "by": "client"},
        {"x": "a", "at": 4.0, "ended": True, "error": "the provider's connection broke off"},
    ]
    (call,) = calls(read(dump(told), NAME))
    assert call.error == "the provider's connection broke off"


def test_a_body_whose_beginning_is_not_there_is_told() -> None:
    told = lines()
    told[1]["asked"]["body"] |= {"like": "gone", "head": 3, "tail": 3}
    assert "beginning was not recorded" in read(dump(told), NAME).skipped[0].reason


def test_other_requests_and_the_clients_own_probes() -> None:
    told = lines(answer={"data": []})
    told[1]["asked"] |= {"url": "https://api.openai.com/v1/embeddings"}
    assert [one.kind for one in read(dump(told), NAME).happenings] == ["other request"]
    told[1]["asked"] |= {"method": "HEAD", "url": "https://api.anthropic.com/api/hello"}
    assert not read(dump(told), NAME).happenings


def test_the_title_is_what_a_person_said_first() -> None:
    told = lines()
    parts = [{"type": "text", "text": "<system-reminder>\nToday is a day.\n</system-reminder>"}]
    parts += [{"type": "text", "text": "mend the bug"}]
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": parts}]}
    told[1]["asked"]["body"] = {"text": json.dumps(body)}
    assert read(dump(told), NAME).about.title == "mend the bug"


def test_it_is_known_by_its_first_line() -> None:
    for cut in (30, 60, 4000):
        form = detect(dump(lines())[:cut], "x")
        assert form is not None and form.name == "attached"
    assert describe_file(dump(lines()[:1]), NAME) == "a recording of ctxtui's own without any request to a model"
    survives_values(lines()[0], NAME)


def test_headers_of_answers_report_quotas() -> None:
    told = lines()
    told[2]["answered"]["headers"] = [
        ["anthropic-ratelimit-unified-5h-utilization", "0.32"],
        ["anthropic-ratelimit-unified-5h-reset", "1790814600"],
        ["Anthropic-RateLimit-Unified-7d-Utilization", "1.02"],
        ["anthropic-ratelimit-unified-7d_sonnet-utilization", "0.5"],
        ["anthropic-ratelimit-unified-status", "allowed"],
        ["anthropic-ratelimit-requests-remaining", "7"],
        ["anthropic-ratelimit-unified-1h-utilization", "nan"],
        ["x-codex-primary-used-percent", "42.5"],
        ["x-codex-primary-window-minutes", "300"],
        ["x-codex-primary-reset-after-seconds", "60"],
        ["x-codex-secondary-used-percent", "9"],
    ]
    data = dump(told)
    found = {(one.limit, one.minutes): one for one in read(data, NAME).quotas}
    assert {key: (one.used, one.resets, one.at) for key, one in found.items()} == {
        ("claude", 300): (0.32, 1_790_814_600, 2),
        ("claude", 10_080): (1.02, 0, 2),
        ("claude sonnet", 10_080): (0.5, 0, 2),
        ("codex", 300): (0.425, 62, 2),
    }, "of a window without a length nothing can be said"
    raw = json.loads(found["claude", 300].raw)
    assert raw["anthropic-ratelimit-unified-5h-reset"] == "1790814600" and len(raw) == 5
    law_2(data, NAME)
    survives_cuts(data, NAME)
    survives_values(told, NAME, lambda value: dump(value) if isinstance(value, list) else as_bytes(value))
