"""Continue: answers with their tools' results, what the session's sums have beyond them, compaction."""

from __future__ import annotations

from typing import Any

from tests.transcripts.reading import as_bytes, calls, law_2, read, shown, survives_cuts, survives_values

NAME = "session.json"


def used(prompt: int, output: int, **details: int) -> Any:
    return {"prompt_tokens": prompt, "completion_tokens": output, "prompt_tokens_details": details, "model": "m-1"}


def item(role: str, content: Any, **more: Any) -> Any:
    message = {"role": role, "content": content}
    message |= {key: more.pop(key) for key in ("usage", "toolCalls", "signature") if key in more}
    return {"message": message, "contextItems": [], **more}


def session(*more: Any, usage: Any = None) -> Any:
    call = {"id": "t1", "type": "function", "function": {"name": "Bash", "arguments": '{"command":"ls"}'}}
    state = {"toolCallId": "t1", "status": "done", "output": [{"content": "a.py\n", "name": "Tool Result"}]}
    attached = [{"content": "def f(): ...", "name": "a.py", "description": "a.py"}]
    history = [
        item("user", "Which files?", contextItems=attached),
        item("thinking", "hm", signature="s"),
        item("assistant", "I look.", toolCalls=[call], toolCallStates=[state],
             usage=used(5, 9, cache_read_tokens=40, cached_tokens=40, cache_write_tokens=60)),
        item("assistant", "a.py", usage=used(7, 3, cache_read_tokens=100, cached_tokens=100, cache_write_tokens=0)),
    ]  # fmt: skip
    own = {"sessionId": "s-1", "title": "Untitled Session", "workspaceDirectory": "file:///home/dev/shop"}
    return {**own, "history": [*history, *more], **({"usage": usage} if usage else {})}


def test_calls_and_usage() -> None:
    found = read(as_bytes(session(), indent=2), NAME)
    first, second = calls(found)
    assert first.usage and (first.usage.fresh, first.usage.cache_read, first.usage.write_5m) == (5, 40, 60)
    assert second.usage and (second.usage.input, second.usage.output, second.model) == (107, 3, "m-1")
    asked = ["header", "text", "text"]
    assert [kind for _, _, kind in shown(found, first.raw_head)] == asked, "what was attached, and the words"
    answered = ["header", "thinking", "text", "tool_use", "header", "tool_result"]
    assert [kind for _, _, kind in shown(found, second.raw_head)] == [*asked, *answered]
    assert (found.about.id, found.about.cwd) == ("s-1", "/home/dev/shop") and found.about.title


def test_a_prompt_that_holds_what_the_cache_had() -> None:
    value = {
        **session(),
        "history": [item("user", "hi"), item("assistant", "yes", usage=used(90, 2, cached_tokens=60))],
    }
    (call,) = calls(read(as_bytes(value), NAME))
    assert call.usage and (call.usage.fresh, call.usage.cache_read) == (30, 60)


def test_what_the_sums_have_beyond_the_answers_stands_apart() -> None:
    sums = {
        "promptTokens": 12,
        "completionTokens": 12,
        "promptTokensDetails": {"cachedTokens": 140, "cacheWriteTokens": 60},
    }
    assert "totals" not in read(as_bytes(session(usage=sums)), NAME).threads
    found = read(as_bytes(session(usage={**sums, "promptTokens": 32, "completionTokens": 20})), NAME)
    (rest,) = calls(found, "totals")
    assert rest.is_sum and rest.usage and (rest.usage.input, rest.usage.output) == (20, 8)


def test_sums_keep_what_the_cache_wrote_and_read() -> None:
    details = {"cachedTokens": 170, "cacheWriteTokens": 90}
    sums = {"promptTokens": 12, "completionTokens": 12, "promptTokensDetails": details}
    (rest,) = calls(read(as_bytes(session(usage=sums)), NAME), "totals")
    assert rest.usage and (rest.usage.fresh, rest.usage.cache_read, rest.usage.write_5m) == (0, 30, 30)
    read_only = {**sums, "promptTokens": 50, "promptTokensDetails": {**details, "cacheWriteTokens": 60}}
    (rest,) = calls(read(as_bytes(session(usage=read_only)), NAME), "totals")
    assert rest.usage and (rest.usage.fresh, rest.usage.cache_read) == (38, 30), (
        "what was read stands beside the prompt"
    )
    silent = {**session(usage=sums), "history": [item("user", "hi"), item("assistant", "yes")]}
    (rest,) = calls(read(as_bytes(silent), NAME), "totals")
    assert rest.usage and (rest.usage.fresh, rest.usage.cache_read, rest.usage.write_5m) == (12, 170, 90)


def test_more_from_the_cache_than_the_prompt_stands_beside_it() -> None:
    value = {**session(), "history": [item("user", "hi"), item("assistant", "yes", usage=used(5, 2, cached_tokens=60))]}
    (call,) = calls(read(as_bytes(value), NAME))
    assert call.usage and (call.usage.fresh, call.usage.cache_read) == (5, 60)


def test_a_tool_that_failed_says_so() -> None:
    value = session()
    value["history"][2]["toolCallStates"][0]["status"] = "errored"
    found = read(as_bytes(value), NAME)
    results = [n.block for n in found.tree.nodes() if n.block.kind == "tool_result"]
    assert [block.value()["is_error"] for block in results] == [True]


def test_arguments_that_are_no_json_are_text() -> None:
    for arguments in ("{", "[" * 100_000):
        value = session()
        value["history"][2]["message"]["toolCalls"][0]["function"]["arguments"] = arguments
        found = read(as_bytes(value), NAME)
        assert [n.block.value()["input"] for n in found.tree.nodes() if n.block.kind == "tool_use"] == [arguments]


def test_a_compaction_begins_with_its_summary() -> None:
    more = [item("assistant", "So far", conversationSummary="So far"), item("user", "On."), item("assistant", "ok")]
    found = read(as_bytes(session(*more)), NAME)
    last = calls(found)[-1]
    assert last.epoch.start == "compaction" and len(calls(found)) == 3 and last.is_partial
    assert [kind for _, _, kind in shown(found, last.raw_head)] == ["header", "text"] * 2


def test_any_chunking_any_cut_any_value() -> None:
    data = as_bytes(session(), indent=2)
    law_2(data, NAME)
    survives_cuts(data, NAME)
    survives_values(session(), NAME)
