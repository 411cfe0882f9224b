"""Spans as the libraries of 2026 write them: one conversation of three calls in each of their conventions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

TRACE = "0af7651916cd43dd8448eb211c80319c"
SYSTEM = "You help in a shop."
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOL = {"name": "read_file", "description": "Reads.", "input_schema": SCHEMA}
USAGES = [(100, 0, 90, 12), (130, 90, 30, 9), (150, 120, 0, 7)]
"""Of each call: input with what the cache held, read, written, output."""

Said = dict[str, Any]


def talk() -> list[tuple[list[Said], list[Said]]]:
    """(asked, answered) of each call, in the parts of the GenAI conventions."""
    call = {"type": "tool_call", "id": "c1", "name": "read_file", "arguments": {"path": "a.txt"}}
    first = [{"role": "user", "parts": [{"type": "text", "content": "Read a.txt"}]}]
    one = [{"role": "assistant", "parts": [{"type": "text", "content": "I read."}, call], "finish_reason": "tool_call"}]
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "price = 5"}]}
    two = [{"role": "assistant", "parts": [{"type": "text", "content": "Five."}], "finish_reason": "stop"}]
    second = [*first, *one, result]
    more = {"role": "user", "parts": [{"type": "text", "content": "Sure?"}]}
    three = [{"role": "assistant", "parts": [{"type": "text", "content": "Yes."}], "finish_reason": "stop"}]
    return [(first, one), (second, two), ([*second, *two, more], three)]


def semconv(n: int) -> dict[str, Any]:
    """The GenAI conventions of today."""
    asked, answered = talk()[n]
    given, read, written, output = USAGES[n]
    return {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "m",
        "gen_ai.response.model": "m-1", "gen_ai.response.id": f"msg_{n}", "gen_ai.request.temperature": 0.5,
        "gen_ai.response.finish_reasons": [answered[-1]["finish_reason"]],
        "gen_ai.usage.input_tokens": given, "gen_ai.usage.output_tokens": output,
        "gen_ai.usage.cache_read.input_tokens": read, "gen_ai.usage.cache_creation.input_tokens": written,
        "gen_ai.usage.reasoning.output_tokens": 2,
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": SYSTEM}]),
        "gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(answered),
        "gen_ai.tool.definitions": json.dumps([TOOL]),
    }  # fmt: skip


def legacy(n: int) -> dict[str, Any]:
    """OpenLLMetry's conventions before those."""
    asked, answered = talk()[n]
    given, read, written, output = USAGES[n]
    made: dict[str, Any] = {
        "llm.request.type": "chat", "gen_ai.system": "Anthropic", "gen_ai.request.model": "m", "gen_ai.response.model":
        "m-1", "gen_ai.response.id": f"msg_{n}", "gen_ai.usage.prompt_tokens": given, "gen_ai.usage.completion_tokens":
        output, "gen_ai.usage.cache_read_input_tokens": read, "gen_ai.usage.cache_creation_input_tokens": written,
        "gen_ai.usage.reasoning_tokens": 2,
        "llm.usage.total_tokens": given + output, "llm.request.functions.0.name": "read_file",
        "llm.request.functions.0.description": "Reads.", "llm.request.functions.0.parameters": json.dumps(SCHEMA),
        "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": SYSTEM,
    }  # fmt: skip
    for at, message in enumerate(asked, 1):
        made |= numbers(f"gen_ai.prompt.{at}", message)
    made |= numbers("gen_ai.completion.0", answered[0])
    made["gen_ai.completion.0.finish_reason"] = answered[0]["finish_reason"]
    return made


def numbers(start: str, message: Said) -> dict[str, Any]:
    made: dict[str, Any] = {f"{start}.role": message["role"]}
    calls = 0
    for part in message["parts"]:
        if part["type"] == "tool_call":
            made |= {f"{start}.tool_calls.{calls}.{key}": part[key] for key in ("id", "name")}
            made[f"{start}.tool_calls.{calls}.arguments"] = json.dumps(part["arguments"])
            calls += 1
        elif part["type"] == "tool_call_response":
            made |= {f"{start}.content": part["response"], f"{start}.tool_call_id": part["id"]}
        else:
            made[f"{start}.content"] = part["content"]
    return made


def openinference(n: int) -> dict[str, Any]:
    """OpenInference's conventions, with the request cut where the attribute was too long."""
    asked, answered = talk()[n]
    given, read, written, output = USAGES[n]
    made: dict[str, Any] = {
        "openinference.span.kind": "LLM", "llm.provider": "anthropic", "llm.model_name": "m-1",
        "llm.token_count.prompt": given, "llm.token_count.completion": output,
        "llm.token_count.prompt_details.cache_read": read,
        "llm.token_count.prompt_details.cache_write": written, "llm.token_count.completion_details.reasoning": 2,
        "llm.finish_reason": answered[0]["finish_reason"], "input.value": '{"messages": [{"role"',
        "output.value": json.dumps({"id": f"msg_{n}"})[:12],
        "llm.invocation_parameters": '{"max_tokens": 9}',
        "llm.tools.0.tool.json_schema": json.dumps(TOOL),
        "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": SYSTEM,
    }  # fmt: skip
    for at, message in enumerate(asked, 1):
        made |= inferred(f"llm.input_messages.{at}.message", message)
    return made | inferred("llm.output_messages.0.message", answered[0])


def inferred(start: str, message: Said) -> dict[str, Any]:
    made: dict[str, Any] = {f"{start}.role": message["role"]}
    for part in message["parts"]:
        if part["type"] == "tool_call":
            at = f"{start}.tool_calls.0.tool_call"
            made |= {f"{at}.id": part["id"], f"{at}.function.name": part["name"]}
            made[f"{at}.function.arguments"] = json.dumps(part["arguments"])
        elif part["type"] == "tool_call_response":
            made |= {f"{start}.content": part["response"], f"{start}.tool_call_id": part["id"]}
        else:
            made[f"{start}.content"] = part["content"]
    return made


CONVENTIONS: dict[str, Callable[[int], dict[str, Any]]] = {
    "semconv": semconv, "openllmetry": legacy, "openinference": openinference,
}  # fmt: skip


def span(n: int, attributes: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """One span as a console's exporter prints it; `n` tells when it was."""
    return {
        "name": "chat m", "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{n:016x}", "trace_state": "[]"},
        "kind": "SpanKind.CLIENT", "parent_id": None, "start_time": f"2026-11-22T09:00:{n:02}.500000Z",
        "end_time": f"2026-11-22T09:00:{n + 1:02}.500000Z", "status": {"status_code": "UNSET"},
        "attributes": attributes, "events": [], "links": [],
        "resource": {"attributes": {"service.name": "shop", "service.version": "1.2"}}, **rest,
    }  # fmt: skip


def typed(value: Any) -> dict[str, Any]:
    """A value as OTLP spells it."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [typed(item) for item in value]}}
        case dict():
            return {"kvlistValue": {"values": pairs(value)}}
    return {"stringValue": value}


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": typed(value)} for key, value in attributes.items()]


def nanoseconds(time: str) -> str:
    """A time of the day of these spans, as OTLP spells it."""
    seconds = int(time[17:19]) + 60 * int(time[14:16])
    return str((1_795_338_000 + seconds) * 1_000_000_000 + 500_000_000)


def otlp(spans: list[dict[str, Any]]) -> dict[str, Any]:
    """The same spans as OTLP's exporters write them."""
    made = []
    for one in spans:
        code = {"ERROR": {"code": "STATUS_CODE_ERROR", "message": one["status"].get("description", "")}}
        events = [
            {"name": event["name"], "timeUnixNano": nanoseconds(event["timestamp"]), "attributes":
             pairs(event["attributes"])} for event in one["events"]
        ]  # fmt: skip
        made.append({
            "traceId": one["context"]["trace_id"][2:], "spanId": one["context"]["span_id"][2:],
            "parentSpanId": (one["parent_id"] or "")[2:], "name": one["name"], "kind": 3,
            "startTimeUnixNano": nanoseconds(one["start_time"]), "endTimeUnixNano": nanoseconds(one["end_time"]),
            "attributes": pairs(one["attributes"]), "events": events,
            "status": code.get(one["status"]["status_code"], {}),
        })  # fmt: skip
    resource = {"attributes": pairs({"service.name": "shop", "service.version": "1.2"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "lib"}, "spans": made}]}]}
