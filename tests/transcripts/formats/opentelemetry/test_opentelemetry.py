"""OpenTelemetry's traces: every convention and every way to write it down tells of the same calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxtui.core.block import Block
from ctxtui.core.block_content import read as content
from ctxtui.core.call import Fidelity
from ctxtui.core.session import Session
from ctxtui.transcripts.registry import describe_file, detect
from ctxtui.wire.request import Request
from tests.cases.otel import CONVENTIONS, SYSTEM, USAGES, legacy, otlp, pairs, semconv, span, talk
from tests.sampling import few
from tests.transcripts.reading import as_bytes, calls, law_2, lines_of, read, survives_cuts, survives_values

NAME = "traces.json"


def three(convention: str) -> list[dict[str, Any]]:
    return [span(n, CONVENTIONS[convention](n)) for n in range(3)]


def texts(session: Session, head: int) -> list[tuple[str, str, str]]:
    """(section, kind, text) of each block but the headers."""
    items = (item for item in session.tree.items(head) if item.block.kind != "header")
    return [(item.place.section, item.block.kind, shown(item.block)) for item in items]


def shown(block: Block) -> str:
    """A block's text; of a tool call what was given."""
    return json.dumps(json.loads(block.body)["input"]) if block.kind == "tool_use" else content(block).text


WAYS = {
    "otlp": lambda spans: as_bytes(otlp(spans)),
    "otlp over many lines": lambda spans: as_bytes(otlp(spans), indent=2),
    "otlp a line": lambda spans: lines_of([otlp([one]) for one in spans]),
    "console": lambda spans: b"".join(as_bytes(one, indent=4) + b"\n" for one in spans),
    "lines": lambda spans: lines_of(spans),
    "list": lambda spans: as_bytes(spans),
    "pairs": lambda spans: lines_of([{**one, "attributes": pairs(one["attributes"])} for one in spans]),
    "backwards": lambda spans: lines_of(spans[::-1]),
    "twice": lambda spans: lines_of([*spans, *spans]),
}


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("way", WAYS)
def test_every_convention_and_way_tells_the_same(convention: str, way: str) -> None:
    data = WAYS[way](three(convention))
    assert detect(data, NAME).name == "opentelemetry"  # type: ignore[union-attr]
    session = read(data, NAME)
    found = calls(session)
    assert not session.skipped and len(session.threads) == 1 and len(found) == 3
    for call, (given, held, written, output) in zip(found, USAGES, strict=True):
        assert call.usage
        assert (call.usage.input, call.usage.cache_read, call.usage.cache_write) == (given, held, written)
        assert (call.usage.output, call.usage.reasoning, call.model, call.provider) == (output, 2, "m-1", "anthropic")
        assert call.fidelity is Fidelity.TRANSCRIPT and call.started and call.ended == call.started + 1
    assert [call.stop_reason for call in found] == ["tool_call", "stop", "stop"]
    last = texts(session, found[2].response_head)
    assert last[0][:2] == ("tools", "tool")
    assert [(kind, text) for _, kind, text in last[1:]] == [
        ("text", SYSTEM), ("text", "Read a.txt"), ("text", "I read."), ("tool_use", '{"path": "a.txt"}'),
        ("tool_result", "price = 5"), ("text", "Five."), ("text", "Sure?"), ("text", "Yes."),
    ]  # fmt: skip
    assert session.tree.holds(found[2].raw_head, found[1].raw_head)
    assert session.about.title == "Read a.txt" and session.about.client == "shop" and session.about.version == "1.2"


def test_what_attributes_do_not_hold_is_not_recorded() -> None:
    bare = {name: value for name, value in semconv(0).items() if "messages" not in name and "tool." not in name}
    del bare["gen_ai.system_instructions"]
    (call,) = calls(read(lines_of(span(0, bare)), NAME))
    assert call.raw_head == call.response_head == 0 and call.usage and call.usage.input == 100
    assert call.extra["temperature"] == 0.5


def test_a_request_kept_as_it_was_sent_is_read_with_all_it_has() -> None:
    marker = {"type": "ephemeral"}
    body = {"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": SYSTEM, "cache_control": marker}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}  # fmt: skip
    answer = {"id": "msg_1", "content": [{"type": "text", "text": "Ho"}], "type": "message", "role": "assistant",
              "model": "m-1", "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 1}}  # fmt: skip
    held = {"openinference.span.kind": "LLM", "llm.system": "anthropic", "input.value": json.dumps(body),
            "output.value": json.dumps(answer), "llm.token_count.prompt": 3}  # fmt: skip
    (call,) = calls(session := read(lines_of(span(0, held)), NAME))
    assert [text for *_, text in texts(session, call.response_head)] == [SYSTEM, "Hi", "Ho"]
    assert call.id == "msg_1" and call.fidelity is Fidelity.WIRE and call.skeleton is not None
    request = Request(tuple(session.tree.items(call.raw_head)), call.skeleton)
    assert [one.value for one in request.markers] == [marker]


def test_a_request_that_follows_an_answer_has_its_context() -> None:
    def held(n: int, **body: Any) -> dict[str, Any]:
        said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"answer {n}"}]}
        answer = {"id": f"resp_{n}", "object": "response", "model": "g", "output": [said]}
        return {"openinference.span.kind": "LLM", "llm.system": "openai", "output.value": json.dumps(answer),
                "input.value": json.dumps({"model": "g", **body})}  # fmt: skip

    spans = [span(0, held(0, input="one")), span(1, held(1, input="two", previous_response_id="resp_0"))]
    _, second = calls(session := read(lines_of(spans), NAME))
    assert [text for *_, text in texts(session, second.response_head)] == ["one", "answer 0", "two", "answer 1"]
    assert len(session.threads) == 1


def test_two_libraries_that_tell_of_one_call_make_one_call() -> None:
    own = {name: value for name, value in semconv(0).items() if "messages" not in name}
    beside = span(9, own, start_time="2026-11-22T09:00:00.600000Z", end_time="2026-11-22T09:00:01.400000Z")
    inside = {"openinference.span.kind": "LLM", "llm.token_count.prompt": 100, "llm.token_count.completion": 12,
              "llm.input_messages.0.message.content": "Read a.txt"}  # fmt: skip
    nested = span(9, {k: v for k, v in own.items() if "response.id" not in k}, parent_id="0x0000000000000000")
    for spans in ([span(0, semconv(0)), beside], [beside, span(0, semconv(0))], [span(0, inside), nested]):
        (call,) = calls(session := read(lines_of(spans), NAME))
        assert call.usage and call.usage.input == 100 and call.usage.cache_write == 90
        assert "Read a.txt" in [text for *_, text in texts(session, call.raw_head)]


def test_a_failed_call_that_two_libraries_tell_of_is_one() -> None:
    bare = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.provider.name": "openai"}
    failed = {"status_code": "ERROR", "description": "Error code: 400"}
    thrown = {
        "name": "exception",
        "timestamp": "2026-11-22T09:00:01.100000Z",
        "attributes": {"exception.message": "bad"},
    }
    outer = span(0, bare, status=failed, events=[thrown], scope={"name": "a"})
    inner = span(1, {**bare, "error.type": "BadRequest"}, start_time="2026-11-22T09:00:00.700000Z",
                 end_time="2026-11-22T09:00:01.200000Z", scope={"name": "b"})  # fmt: skip
    (call,) = calls(read(lines_of([outer, inner]), NAME))
    assert call.error == "Error code: 400" and call.usage is None


@pytest.mark.parametrize("name", ["gen_ai.output.messages", "langfuse.observation.output", "gen_ai.completion"])
@pytest.mark.parametrize(
    "answer", ["Five.", '{"content": "Five."}', '[{"parts": [{"type": "text", "content": "Five."}]}]']
)
def test_an_answer_without_a_role_is_the_models(name: str, answer: str) -> None:
    bare = {key: value for key, value in semconv(0).items() if "messages" not in key}
    (call,) = calls(
        session := read(as_bytes([span(0, {**bare, "langfuse.observation.input": "Price?", name: answer})]), NAME)
    )
    (asked,) = (item for item in session.tree.items(call.raw_head) if content(item.block).text == "Price?")
    assert asked.place.role == "user"
    answered = session.tree.items(call.response_head, call.raw_head)
    assert [item.place.role for item in answered] == ["assistant"] * 2 and content(answered[1].block).text == "Five."


def test_events_and_log_records_hold_content() -> None:
    bare = {name: value for name, value in semconv(0).items() if "messages" not in name}
    asked, answered = talk()[0]
    when = "2026-11-22T09:00:00.600000Z"
    details = {"gen_ai.input.messages": asked, "gen_ai.output.messages": answered}
    event = {"name": "gen_ai.client.inference.operation.details", "timestamp": when, "attributes": details}
    old = [
        {"name": "gen_ai.content.prompt", "timestamp": when, "attributes":
         {"gen_ai.prompt": json.dumps([{"role": "user", "content": "Read a.txt"}])}},
        {"name": "gen_ai.content.completion", "timestamp": when, "attributes":
         {"gen_ai.completion": json.dumps([{"role": "assistant", "content": "I read."}])}},
    ]  # fmt: skip
    said = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "I read."}}
    one = span(0, bare)
    ids = {"trace_id": one["context"]["trace_id"], "span_id": one["context"]["span_id"], "timestamp": when}
    logs = [
        {"body": {"content": "Read a.txt"}, "attributes": {"event.name": "gen_ai.user.message"}, **ids},
        {"body": said, "event_name": "gen_ai.choice", "attributes": {}, **ids},
    ]
    choice = {"event.name": "gen_ai.choice", "message": {"role": "assistant", "content": "I read."}}
    listed = json.dumps([{"event.name": "gen_ai.user.message", "content": "Read a.txt", "role": "user"}, choice])
    ways = [
        lines_of(span(0, bare, events=[event])), as_bytes(otlp([span(0, bare, events=[event])])),
        lines_of(span(0, bare, events=old)), lines_of([one, *logs]), lines_of([*logs, one]),
        lines_of(span(0, {**bare, "events": listed})),
    ]  # fmt: skip
    for data in ways:
        (call,) = calls(session := read(data, NAME))
        assert [text for *_, text in texts(session, call.response_head)][2:4] == ["Read a.txt", "I read."], data[:200]
    (alone,) = calls(session := read(lines_of(logs), NAME))
    assert [text for *_, text in texts(session, alone.response_head)] == ["Read a.txt", "I read."]


def test_log_records_without_content_make_no_messages() -> None:
    one = span(0, {name: value for name, value in semconv(0).items() if "messages" not in name})
    log = {"traceId": one["context"]["trace_id"][2:], "spanId": one["context"]["span_id"][2:], "body": {},
           "eventName": "gen_ai.user.message", "attributes": []}  # fmt: skip
    both = {**otlp([one]), "resourceLogs": [{"scopeLogs": [{"logRecords": [log]}]}]}
    (call,) = calls(session := read(as_bytes(both), NAME))
    assert [section for section, *_ in texts(session, call.raw_head)] == ["tools", "system"]


def agent(n: int, name: str, parent: str | None = None, **rest: Any) -> dict[str, Any]:
    held = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "gen_ai.usage.input_tokens": 999,
        **rest,
    }
    return span(n, held, parent_id=parent, name=f"invoke_agent {name}")


def test_conversations_and_agents_are_threads() -> None:
    own, other = "0x000000000000000a", "0x000000000000000b"
    spans = [
        agent(10, "shopkeeper", **{"gen_ai.conversation.id": "conv-1"}),
        agent(11, "searcher", own),
        *(span(n, semconv(n), parent_id=own) for n in range(3)),
        *(span(20 + n, {**legacy(n), "gen_ai.response.id": f"other_{n}"}, parent_id=other) for n in range(2)),
        span(30, {**semconv(0), "gen_ai.response.id": "z", "gen_ai.conversation.id": "conv-2"}),
    ]
    session = read(lines_of(spans), NAME)
    assert set(session.threads) == {"main", "searcher", "conv-2"}
    assert [len(calls(session, name)) for name in ("main", "searcher", "conv-2")] == [3, 2, 1]
    assert session.threads["searcher"].parent == "main" and session.threads["main"].label == "shopkeeper"
    assert session.about.id == "conv-1"


def test_an_agent_whose_calls_nobody_recorded_is_a_sum() -> None:
    (call,) = calls(read(lines_of(agent(0, "remote")), NAME))
    assert call.fidelity is Fidelity.TOTALS and call.usage and call.usage.input == 999
    used = {"input_tokens": 77, "output_tokens": 9, "details.thinking_tokens": 3}
    summed = {"gen_ai.usage.input_tokens": None, **{f"gen_ai.aggregated_usage.{k}": v for k, v in used.items()}}
    (call,) = calls(read(lines_of(agent(0, "remote", **summed)), NAME))
    assert call.usage and (call.usage.input, call.usage.output, call.usage.reasoning) == (77, 9, 3)


def test_what_is_no_call_is_told_or_left_out() -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ls", "error.type": "OSError"}
    spans = [
        span(0, semconv(0)), span(1, {"gen_ai.operation.name": "embeddings"}, name="embed e"),
        span(2, tool, name="execute_tool ls"), span(3, {"http.method": "GET"}, name="GET /"),
    ]  # fmt: skip
    session = read(lines_of(spans), NAME)
    assert len(session.calls) == 1
    assert [(one.kind, one.text) for one in session.happenings] == [
        ("other request", "embed e"), ("tool error", "execute_tool ls: OSError"),
    ]  # fmt: skip


def test_a_trace_without_a_model_is_named() -> None:
    data = as_bytes(otlp([span(0, {"http.method": "GET"})]))
    assert describe_file(data, NAME) == "an OpenTelemetry trace without any call of a model"


def test_nested_attributes_are_those_with_dots() -> None:
    message = {"message": {"role": "user", "content": "Hi"}}
    used = {"prompt": 7, "completion": 1}
    held = {"openinference": {"span": {"kind": "LLM"}},
            "llm": {"input_messages": [message], "model_name": "m", "token_count": used}}  # fmt: skip
    (call,) = calls(session := read(lines_of(span(0, held)), NAME))
    assert call.model == "m" and call.usage and call.usage.input == 7
    assert [text for *_, text in texts(session, call.raw_head)] == ["Hi"]


def test_input_that_cannot_hold_the_cache_stands_beside_it() -> None:
    held = {**semconv(1), "gen_ai.usage.input_tokens": 10}
    (call,) = calls(read(lines_of(span(0, held)), NAME))
    assert call.usage and (call.usage.fresh, call.usage.input) == (10, 130)


def test_an_empty_list_of_reasons_hides_no_other_one() -> None:
    attributes = {**semconv(0), "gen_ai.response.finish_reasons": [], "llm.finish_reason": "stop"}
    (call,) = calls(read(lines_of([span(0, attributes)]), NAME))
    assert call.stop_reason == "stop"


def test_a_span_that_comes_before_the_one_around_it_is_no_second_call() -> None:
    around = {key: value for key, value in semconv(0).items() if key != "gen_ai.response.id"}
    inner = {key: value for key, value in around.items() if "messages" not in key}
    data = lines_of([{**span(1, inner), "parent_id": span(0, around)["context"]["span_id"]}, span(0, around)])
    assert len(calls(read(data, NAME))) == 1
    law_2(data, NAME)


@pytest.mark.parametrize("convention", few(CONVENTIONS))
def test_laws(convention: str) -> None:
    for way in ("otlp over many lines", "lines", "otlp a line"):
        data = WAYS[way](three(convention))
        law_2(data, NAME)
        survives_cuts(data, NAME)


@pytest.mark.parametrize("convention", few(CONVENTIONS))
def test_any_value_in_any_place_stops_no_reader(convention: str) -> None:
    survives_values(otlp(three(convention)[:2]), NAME)
    survives_values(three(convention)[:2], NAME)


@pytest.mark.parametrize("text", ["²", "--5", "-", "9" * 5000])
def test_a_text_that_is_nearly_a_number_is_none(text: str) -> None:
    held = {**semconv(0), "gen_ai.usage.output_tokens": text, f"gen_ai.prompt.{text}.role": "user"}
    trace = otlp([span(0, held)])
    exported = trace["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    exported["startTimeUnixNano"] = text
    exported["attributes"].append({"key": "gen_ai.usage.reasoning_tokens", "value": {"intValue": text}})
    (call,) = calls(read(as_bytes(trace), NAME))
    assert call.started is None and call.usage and (call.usage.output, call.usage.reasoning) == (0, 0)
