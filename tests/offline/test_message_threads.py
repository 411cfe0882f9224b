"""Message threads: the server holds the conversation, and says when it does not."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import beta_tool

from ctxtui.offline import RunningProvider, SetClock
from tests.offline.loop import FILES

BETAS = ["message-threads-2026-08-12"]
CREATE: Any = {"type": "create"}
READ: Any = {
    "name": "read_file",
    "description": "Reads a file",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


@beta_tool
def read_file(path: str) -> str:
    """Reads a file.

    Args:
        path: its path
    """
    return FILES[path]


def begun(claude: anthropic.Anthropic, words: str = "The port is 8080.", **more: Any) -> Any:
    asked: dict[str, Any] = {"thread": CREATE, "model": "offline", "max_tokens": 1000, "betas": BETAS, **more}
    return claude.beta.messages.create(messages=[{"role": "user", "content": words}], **asked)


def more(id_: str, words: str = "which port was it?", **fields: Any) -> dict[str, Any]:
    thread = {"type": "continue", "previous_message_id": id_}
    said = [{"role": "user", "content": words}]
    return {"thread": thread, "model": "offline", "max_tokens": 1000, "betas": BETAS, "messages": said, **fields}


def test_a_thread_goes_on_with_what_is_new(claude: anthropic.Anthropic, running: RunningProvider) -> None:
    first = begun(claude)
    second = claude.beta.messages.create(**more(first.id))
    assert "8080" in second.content[-1].text
    seen = running.server.seen[-1]
    assert b"8080" not in seen.body
    third = claude.beta.messages.create(**more(second.id, "and now?"))
    counts = [sum(m.usage.to_dict()[k] or 0 for k in INPUT) for m in (first, second, third)]
    assert counts == sorted(counts)
    assert counts[0] < counts[1] < counts[2]


INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def test_the_tool_runner_of_the_sdk(claude: anthropic.Anthropic, running: RunningProvider) -> None:
    runner = claude.beta.messages.tool_runner(
        model="offline",
        max_tokens=1000,
        tools=[read_file],
        messages=[{"role": "user", "content": "read a.txt then read b.txt"}],
    )
    said = runner.until_done()
    assert said.content[-1].type == "text"
    assert "nothing here" in said.content[-1].text
    assert [seen.status for seen in running.server.seen] == [200] * 3


def test_a_thread_of_the_sdk_starts_anew_when_it_is_lost(claude: anthropic.Anthropic, running: RunningProvider) -> None:
    thread = claude.beta.messages.thread(model="offline", max_tokens=1000)
    thread.send({"role": "user", "content": "The port is 8080."})
    clock = running.server.provider.clock
    assert isinstance(clock, SetClock)
    clock.advance(301)
    said = thread.send({"role": "user", "content": "which port was it?"})
    assert "8080" in said.content[-1].text  # type: ignore[union-attr]
    assert [seen.status for seen in running.server.seen] == [200, 404, 200]


def test_a_thread_that_nobody_holds_is_not_found(claude: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError) as lost:
        claude.beta.messages.create(**more("msg_01nobody"))
    assert lost.value.body["error"]["details"] == {"error_code": "thread_not_found"}  # type: ignore[index]


def test_each_response_is_continued_once(claude: anthropic.Anthropic) -> None:
    first = begun(claude)
    claude.beta.messages.create(**more(first.id))
    with pytest.raises(anthropic.BadRequestError) as again:
        claude.beta.messages.create(**more(first.id))
    assert again.value.body["error"]["details"] == {"error_code": "thread_already_continued"}  # type: ignore[index]


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"thread": {"type": "begin"}}, "thread.type: Input should be 'create' or 'continue'"),
        ({"thread": {"type": "continue"}}, "previous_message_id: Field required"),
        ({"thread": {"type": "create", "a": 1}}, "Extra inputs are not permitted"),
        ({"thread": []}, "thread: Input should be a valid dictionary"),
        ({"betas": []}, "thread: Extra inputs are not permitted"),
    ],
)
def test_threads_that_are_refused(edit: dict[str, Any], words: str, claude: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError, match=words):
        begun(claude, **edit)


def test_a_thread_keeps_system_and_tools(claude: anthropic.Anthropic) -> None:
    first = begun(claude, system="Be kind.", tools=[READ])
    for again in ({"system": "Be kind."}, {"tools": [READ]}):
        with pytest.raises(anthropic.BadRequestError, match="keeps its own"):
            claude.beta.messages.create(**more(first.id, **again))
    said = claude.beta.messages.create(**more(first.id, "read a.txt"))
    assert said.stop_reason == "tool_use"
    with pytest.raises(anthropic.BadRequestError, match="tool_result"):
        claude.beta.messages.create(**more(said.id, "no result"))


def test_the_check_of_calls_tells_of_each_call(claude: anthropic.Anthropic) -> None:
    check = {"type": "dangerous_tool_use", "classifier_context": {"v": 1}}
    asked: dict[str, Any] = {
        "model": "offline",
        "max_tokens": 1000,
        "messages": [{"role": "user", "content": "read a.txt"}],
        "tools": [READ],
        "extra_body": {"safeguards": [check]},
        "betas": ["dangerous-tool-use-2026-09-03"],
    }
    said = claude.beta.messages.create(**asked)
    told = said.to_dict()["safeguard_results"]
    call = next(block for block in said.content if block.type == "tool_use")
    status = {"type": "available", "tool_uses": {call.id: {"type": "evaluated", "outcome": "not_flagged"}}}
    assert told == [{"type": "dangerous_tool_use", "status": status}]
    events = [event.to_dict() for event in claude.beta.messages.create(**asked, stream=True)]
    assert "safeguard_results" in next(e["delta"] for e in events if e["type"] == "message_delta")  # type: ignore[operator]
