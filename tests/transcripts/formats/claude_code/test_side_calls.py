"""What the client of Claude Code counts and does not record, and what it does record, is counted once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import Session
from ctxtui.transcripts.registry import detect
from tests.cases import claude_code_requests as cases
from tests.cases.claude_code_script import text, tool_use, usage
from tests.corpus import need_corpus
from tests.transcripts.formats.claude_code.test_requests import NAME, opened
from tests.transcripts.reading import law_2, read, total


def side(session: Session) -> list[Call]:
    return session.thread_calls("side calls")


def three() -> cases.Client:
    """Three calls of 3 fresh tokens and 1 answered; the last has 90 fresh ones."""
    return cases.parallel()


def test_nothing_is_said_where_the_calls_on_record_are_all() -> None:
    client = three()
    client.spent(fresh=96, output=3)
    session = read(client.dump(), NAME)
    assert side(session) == [] and "side calls" not in session.threads


def test_what_the_client_counts_beyond_the_calls_on_record_is_a_sum_of_its_own() -> None:
    client = three()
    client.spent(fresh=196, output=5, read=40, write=7)
    session = read(client.dump(), NAME)
    (call,) = side(session)
    assert call.fidelity is Fidelity.TOTALS and call.is_sum and call.count == 0 and call.usage is not None
    assert (call.usage.fresh, call.usage.cache_read, call.usage.write_5m, call.usage.output) == (100, 40, 7, 2)
    assert total(session).fresh == 196
    law_2(client.dump(), NAME)


@pytest.mark.parametrize("name", [f"{cases.MODEL}[1m]", f"us.anthropic.{cases.MODEL}-20260901-v1:0", "an-alias"])
def test_the_meter_may_name_a_model_otherwise(name: str) -> None:
    client = three()
    client.spent(name, fresh=96, output=3)
    assert side(read(client.dump(), NAME)) == []


def test_another_model_is_on_no_record() -> None:
    client = three()
    client.spent(fresh=96, output=3)
    client.script.records[-1]["modelUsage"]["claude-haiku-5"] = {"inputTokens": 50, "outputTokens": 4}
    (call,) = side(read(client.dump(), NAME))
    assert call.model == "claude-haiku-5" and call.usage is not None and call.usage.fresh == 50


def more(client: cases.Client, fresh: int) -> None:
    client.restart()
    client.say("Go on.")
    client.asked(f"again{fresh}", text("Yes."), use=usage(fresh=fresh))


def test_a_process_that_goes_on_with_the_meter_counts_nothing_twice() -> None:
    client = three()
    client.spent(fresh=106, output=3)
    more(client, 200)
    client.spent(fresh=306, output=4)
    client.spent(fresh=306, output=4)
    (call,) = side(read(client.dump(), NAME))
    assert call.usage is not None and call.usage.fresh == 10


@pytest.mark.parametrize("second", [20, 100])
def test_a_process_that_begins_at_nothing_loses_nothing(second: int) -> None:
    client = three()
    client.spent(fresh=106, output=3)
    more(client, second)
    client.spent(fresh=second + 5, output=1)
    (call,) = side(read(client.dump(), NAME))
    assert call.usage is not None and call.usage.fresh == 15


def test_calls_after_the_last_record_of_the_meter_are_not_in_it() -> None:
    client = three()
    client.spent(fresh=106, output=3)
    more(client, 2000)
    (call,) = side(read(client.dump(), NAME))
    assert call.usage is not None and call.usage.fresh == 10


def test_subagents_count_once_their_files_are_read() -> None:
    main, agent = three(), cases.Client(agent="a1")
    agent.say("Look.", cases.REMINDER)
    agent.asked("a-m1", text("Seen."), use=usage(fresh=500))
    main.messages.pop()
    main.script.records.pop()
    main.answer("m3", tool_use("spawn", "Agent", prompt="Look."), ref="request-3")
    main.script.result("spawn", "Seen.", toolUseResult={"agentId": "a1"})
    main.spent(fresh=509, output=4)
    form = detect(main.dump(), NAME)
    assert form is not None
    session = Session()
    reader = form.open(session.tree)
    session.fold([*reader.feed(main.dump()), *reader.settle()])
    assert side(session) == []
    part = reader.part("x/subagents/agent-a1.jsonl")
    session.fold([*part.feed(agent.dump()), *part.settle()])
    assert side(session) == [] and len(session.calls) == 4


@pytest.mark.parametrize(
    "value", [None, 3, [], {}, {"m": 3}, {"m": {"inputTokens": "x", "outputTokens": -4}}, {"m": {"inputTokens": True}}]
)
def test_a_meter_of_another_form_says_nothing(value: Any) -> None:
    client = three()
    client.script.loose("cost-state", modelUsage=value)
    assert side(read(client.dump(), NAME)) == []


def test_the_recordings_come_to_what_the_client_says() -> None:
    for file in need_corpus("clients", "claude-code-2.1.[23]*/*/*.jsonl"):
        records = [json.loads(line) for line in file.read_text().splitlines()] if file.name != "wire.jsonl" else []
        meters = [record for record in records if record.get("type") == "cost-state"]
        if not meters:
            continue
        said = [0, 0, 0, 0]
        for one in meters[-1]["modelUsage"].values():
            keys = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
            said = [a + one[key] for a, key in zip(said, keys, strict=True)]
        spent = total(opened(file))
        assert [spent.fresh, spent.cache_read, spent.cache_write, spent.output] == said, file
