"""What the strict validators of OpenAI's two dialects refuse, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.offline.openai import validate_chat, validate_responses
from ctxtui.offline.openai.cipher import encrypt
from tests.offline.talks import MORE_TOOLS, Edit, at, chat, edited, responses, without

CALL = {"id": "call_2", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": encrypt("thoughts")}
PASSED = "internal_chat_message_metadata_passthrough"
AGENT = {
    "type": "agent_message",
    "author": "/root",
    "recipient": "/root/count",
    "content": [{"type": "input_text", "text": "NEW_TASK"}, {"type": "encrypted_content", "encrypted_content": "x"}],
}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def both(*edits: Edit) -> Edit:
    def edit(body: dict[str, Any]) -> None:
        for one in edits:
            one(body)

    return edit


def put(place: int, item: dict[str, Any]) -> Edit:
    def edit(body: dict[str, Any]) -> None:
        body["input" if "input" in body else "messages"].insert(place, dict(item))

    return edit


CHAT: list[tuple[str, Edit, str, str | None, str]] = [
    ("no model", without("model"), "no model", None, "you must provide a model parameter"),
    ("no messages", without("messages"), "missing required parameter", "missing_required_parameter", "'messages'"),
    ("empty messages", at("messages", []), "empty array", "empty_array", "minimum length 1"),
    (
        "unknown model",
        at("model", "gpt-5.2-proo"),
        "unknown model",
        "model_not_found",
        "The model `gpt-5.2-proo` does not",
    ),
    ("line break in the model", at("model", "gpt-5\n[x]"), "unknown model", "model_not_found", "does not exist"),
    ("unknown member", at("foo", 1), "unknown parameter", "unknown_parameter", "Unknown parameter: 'foo'."),
    ("unknown role", at("messages.0.role", "x"), "invalid value", "invalid_value", "Supported values are: 'system'"),
    ("no content", at("messages.1.content", None), "content required", None, "expected a string, got null"),
    (
        "content number",
        at("messages.1.content", 4),
        "invalid type",
        "invalid_type",
        "expected one of a string or an array",
    ),
    (
        "unknown part",
        at("messages.5.content.0.type", "x"),
        "invalid value",
        "invalid_value",
        "Supported values are: 'text'",
    ),
    (
        "image by tool",
        at("messages.3.content", [IMAGE]),
        "image place",
        "invalid_value",
        "but this message with role 'tool'",
    ),
    ("no answer", without("messages.3"), "call without result", None, "did not have response messages: call_1"),
    ("no call", without("messages.2"), "result without call", None, "must be a response to a preceeding message"),
    (
        "other call",
        at("messages.3.tool_call_id", "x"),
        "result without call",
        None,
        "'tool_call_id' of 'x' not found in",
    ),
    (
        "two answers",
        put(4, {"role": "tool", "tool_call_id": "call_1", "content": "b"}),
        "two results",
        None,
        "Duplicate",
    ),
    ("late answer", put(3, {"role": "user", "content": "x"}), "call without result", None, "must be followed by tool"),
    ("answer missing of two", at("messages.2.tool_calls.1", CALL), "call without result", None, "messages: call_2"),
    ("calls empty", at("messages.2.tool_calls", []), "content required", None, "got null"),
    (
        "calls empty but said",
        both(at("messages.2.content", "x"), at("messages.2.tool_calls", []), without("messages.3")),
        "empty array",
        "empty_array",
        "'messages[2].tool_calls'",
    ),
    (
        "arguments object",
        at("messages.2.tool_calls.0.function.arguments", {}),
        "invalid type",
        "invalid_type",
        "a string",
    ),
    (
        "max_tokens",
        at("max_tokens", 5),
        "unsupported parameter",
        "unsupported_parameter",
        "Use 'max_completion_tokens'",
    ),
    (
        "both limits",
        both(at("model", "gpt-4o"), at("max_tokens", 5), at("max_completion_tokens", 5)),
        "max_tokens",
        "invalid_parameter_combination",
        "at the same time",
    ),
    (
        "effort on 4o",
        both(at("model", "gpt-4o"), at("reasoning_effort", "low")),
        "unsupported parameter",
        None,
        "Unrecognized request argument supplied: reasoning_effort",
    ),
    (
        "temperature on o3",
        both(at("model", "o3"), at("temperature", 0.2)),
        "unsupported value",
        "unsupported_value",
        "'temperature' does not support 0.2 with this model.",
    ),
    (
        "developer on o1-mini",
        both(at("model", "o1-mini"), at("messages.0.role", "developer")),
        "role",
        "unsupported_value",
        "'messages[0].role' does not support 'developer' with this model.",
    ),
    (
        "web search",
        at("web_search_options", {}),
        "web search",
        None,
        "Web search options not supported with this model.",
    ),
    ("tool name", at("tools.0.function.name", "a b"), "tool name", "invalid_value", "does not match pattern"),
    ("line break", at("tools.0.function.name", "a\n"), "tool name", "invalid_value", "does not match pattern"),
    ("long name", at("tools.0.function.name", "a" * 65), "tool name", "string_above_max_length", "maximum length 64"),
    ("no tools", at("tools", []), "empty array", "empty_array", "'tools'"),
    (
        "schema",
        at("tools.0.function.parameters", {"type": "string"}),
        "input schema",
        "invalid_function_parameters",
        "got 'type: \"string\"'.",
    ),
    ("choice without tools", both(without("tools"), at("tool_choice", "auto")), "no tools", None, "only allowed when"),
    ("unknown choice", at("tool_choice", {"type": "function", "function": {"name": "x"}}), "unknown tool", None, "'x'"),
    (
        "stream options",
        at("stream_options", {"include_usage": True}),
        "stream options",
        None,
        "when 'stream' is enabled",
    ),
    ("five stops", at("stop", list("abcde")), "array too long", "array_above_max_length", "maximum length 4"),
    (
        "breakpoint on an answer",
        at("messages.4.content", [{"type": "text", "text": "x", "prompt_cache_breakpoint": {}}]),
        "unknown parameter",
        "unknown_parameter",
        "prompt_cache_breakpoint",
    ),
]


@pytest.mark.parametrize(("edit", "rule", "code", "words"), [c[1:] for c in CHAT], ids=[c[0] for c in CHAT])
def test_chat_refused(edit: Edit, rule: str, code: str | None, words: str) -> None:
    found = validate_chat.refusals(edited(chat(), edit))
    assert found, "taken"
    assert (found[0].rule, found[0].code) == (rule, code)
    assert words in found[0].message
    assert found[0].status == (404 if rule == "unknown model" else 400)


CHAT_TAKEN: list[tuple[str, Edit]] = [
    ("as it is", lambda body: None),
    ("the offline model", at("model", "offline")),
    ("dated model", at("model", "gpt-4o-mini-2024-07-18")),
    ("image of the user", at("messages.1.content", [IMAGE])),
    ("empty string", at("messages.4.content", "")),
    ("two users", put(1, {"role": "user", "content": "x"})),
    ("what litellm keeps", at("messages.4.provider_specific_fields", {"refusal": None})),
    ("max_tokens on 4o", both(at("model", "gpt-4o"), at("max_tokens", 5))),
    ("assistant last", put(6, {"role": "assistant", "content": "x"})),
    ("temperature on 5.4", at("temperature", 0.2)),
    ("streamed usage", both(at("stream", True), at("stream_options", {"include_usage": True}))),
]


@pytest.mark.parametrize("edit", [c[1] for c in CHAT_TAKEN], ids=[c[0] for c in CHAT_TAKEN])
def test_chat_taken(edit: Edit) -> None:
    assert validate_chat.refusals(edited(chat(), edit)) == []


RESPONSES: list[tuple[str, Edit, str, str | None, str]] = [
    ("no model", without("model"), "missing required parameter", "missing_required_parameter", "'model'"),
    (
        "unknown model",
        at("model", "gpt-5.2-proo"),
        "unknown model",
        "model_not_found",
        "model 'gpt-5.2-proo' does not exist",
    ),
    ("no input", without("input"), "no input", "missing_required_parameter", "must be provided"),
    ("unknown member", at("messages", []), "unknown parameter", "unknown_parameter", "Unknown parameter: 'messages'."),
    ("unknown item", at("input.0", {"type": "x"}), "invalid value", "invalid_value", "Invalid value: 'x'."),
    ("no output", without("input.2"), "call without result", None, "No tool output found for function call call_1."),
    (
        "no call",
        without("input.1"),
        "result without call",
        None,
        "No tool call found for function call output with call_id",
    ),
    (
        "two outputs",
        put(3, {"type": "function_call_output", "call_id": "call_1", "output": "b"}),
        "two results",
        None,
        "call_1",
    ),
    (
        "reasoning alone",
        put(4, REASONING),
        "reasoning alone",
        None,
        "'rs_1' of type 'reasoning' was provided without its",
    ),
    ("reasoning last", put(5, REASONING), "reasoning alone", None, "without its required following item"),
    (
        "reasoning twice",
        both(put(1, REASONING), put(1, REASONING)),
        "duplicate item",
        None,
        "Duplicate item found with id rs_1",
    ),
    (
        "changed cipher",
        put(1, {**REASONING, "encrypted_content": encrypt("a")[:-8] + "AAAAAAA="}),
        "encrypted content",
        "invalid_encrypted_content",
        "could not be verified",
    ),
    ("item id", at("input.1.id", "call_1"), "item id", "invalid_value", "Expected an ID that begins with 'fc'."),
    (
        "said by user",
        at("input.0.content", [{"type": "output_text", "text": "x"}]),
        "invalid value",
        "invalid_value",
        "input_text",
    ),
    (
        "said by assistant",
        at("input.3.content", [{"type": "input_text", "text": "x"}]),
        "invalid value",
        "invalid_value",
        "Supported values are: 'output_text', and 'refusal'.",
    ),
    ("arguments object", at("input.1.arguments", {}), "invalid type", "invalid_type", "'input[1].arguments'"),
    (
        "few tokens",
        at("max_output_tokens", 5),
        "integer below min value",
        "integer_below_min_value",
        ">= 16, but got 5",
    ),
    (
        "effort on 4.1",
        both(at("model", "gpt-4.1"), at("reasoning", {"effort": "low"})),
        "unsupported parameter",
        "unsupported_parameter",
        "'reasoning.effort'",
    ),
    (
        "exclusive",
        both(at("previous_response_id", "resp_1"), at("conversation", "conv_1")),
        "exclusive",
        "mutually_exclusive_parameters",
        "only providing one of",
    ),
    (
        "trigger inside",
        put(2, {"type": "compaction_trigger"}),
        "compaction trigger",
        None,
        "must be the last input item",
    ),
    ("tool name", at("tools.0.name", "a.b"), "tool name", "invalid_value", "'tools[0].name'"),
    ("client metadata a string", at("client_metadata", "x"), "invalid type", "invalid_type", "'client_metadata'"),
    ("item metadata a list", at(f"input.1.{PASSED}", []), "invalid type", "invalid_type", f"'input[1].{PASSED}'"),
    (
        "agent without name",
        put(0, {**AGENT, "author": None}),
        "invalid type",
        "invalid_type",
        "'input[0].author'",
    ),
    (
        "agent says output",
        put(0, {**AGENT, "content": [{"type": "output_text", "text": "x"}]}),
        "invalid value",
        "invalid_value",
        "'encrypted_content'",
    ),
    (
        "tool of an item",
        put(0, {**MORE_TOOLS, "tools": [{"type": "function"}]}),
        "missing required parameter",
        "missing_required_parameter",
        "'input[0].tools[0].name'",
    ),
    (
        "namespace of namespaces",
        put(0, {**MORE_TOOLS, "tools": [{**MORE_TOOLS["tools"][0], "tools": MORE_TOOLS["tools"]}]}),
        "invalid value",
        "invalid_value",
        "'function', and 'custom'",
    ),
    (
        "tool name in a namespace",
        put(0, {**MORE_TOOLS, "tools": [{**MORE_TOOLS["tools"][0], "tools": [{"type": "custom", "name": "a b"}]}]}),
        "tool name",
        "invalid_value",
        "'input[0].tools[0].tools[0].name'",
    ),
    ("tools said by the user", put(0, {**MORE_TOOLS, "role": "user"}), "invalid value", "invalid_value", "'developer'"),
    ("unknown custom", at("tool_choice", {"type": "custom", "name": "exec"}), "unknown tool", None, "'exec'"),
    (
        "compaction changed",
        put(0, {"type": "compaction", "encrypted_content": encrypt("a")[:-8] + "AAAAAAA="}),
        "encrypted content",
        "invalid_encrypted_content",
        "could not be verified",
    ),
    ("forced without tools", both(without("tools"), at("tool_choice", "required")), "no tools", None, "'required'"),
    ("unknown choice", at("tool_choice", {"type": "function", "name": "x"}), "unknown tool", None, "'x'"),
    ("truncation", at("truncation", "some"), "invalid value", "invalid_value", "'auto', and 'disabled'"),
]


@pytest.mark.parametrize(("edit", "rule", "code", "words"), [c[1:] for c in RESPONSES], ids=[c[0] for c in RESPONSES])
def test_responses_refused(edit: Edit, rule: str, code: str | None, words: str) -> None:
    found = validate_responses.refusals(edited(responses(), edit))
    assert found, "taken"
    assert (found[0].rule, found[0].code) == (rule, code)
    assert words in found[0].message


RESPONSES_TAKEN: list[tuple[str, Edit]] = [
    ("as it is", lambda body: None),
    ("one string", at("input", "hello")),
    ("the offline model", at("model", "offline")),
    ("reasoning before the call", put(1, REASONING)),
    ("a provider's cipher", put(1, {**REASONING, "encrypted_content": "gAAAAABo" + "x_-Y" * 12})),
    ("output of a call that is kept", both(without("input.1"), at("previous_response_id", "resp_1"))),
    ("trigger last", put(5, {"type": "compaction_trigger"})),
    ("what Codex says of itself", at("client_metadata", {"session_id": "s"})),
    ("what Codex hangs on items", at("input.1.internal_chat_message_metadata_passthrough", {"turn_id": "t"})),
    ("a message between agents", put(0, AGENT)),
    ("reasoning cut for a message between agents", both(put(5, AGENT), put(5, REASONING))),
    ("tools as an item", both(without("tools"), put(0, MORE_TOOLS), at("tool_choice", "required"))),
    ("one of them chosen", both(put(0, MORE_TOOLS), at("tool_choice", {"type": "custom", "name": "exec"}))),
    ("namespaces among the tools", at("tools", MORE_TOOLS["tools"])),
    ("compacted by others", put(0, {"type": "compaction", "id": "cmp_1", "encrypted_content": "abcde"})),
    ("compacted before", put(0, {"type": "compaction", "id": "cmp_1", "encrypted_content": encrypt("earlier")})),
    ("a reference", put(1, {"type": "item_reference", "id": "msg_1"})),
]


@pytest.mark.parametrize("edit", [c[1] for c in RESPONSES_TAKEN], ids=[c[0] for c in RESPONSES_TAKEN])
def test_responses_taken(edit: Edit) -> None:
    assert validate_responses.refusals(edited(responses(), edit)) == []


def test_what_the_server_keeps() -> None:
    call = responses()["input"][1]
    answer = {"model": "gpt-5.4", "previous_response_id": "resp_1", "input": [responses()["input"][2]]}
    assert validate_responses.refusals(answer, before=[call], stored={}) == []
    lost = validate_responses.refusals(answer, stored={})[0]
    assert (lost.code, lost.message) == ("previous_response_not_found", "Previous response with id 'resp_1' not found.")
    silent = {**answer, "input": "go on"}
    assert validate_responses.refusals(silent, before=[call], stored={})[0].message.startswith("No tool output found")
    reference = {"model": "gpt-5.4", "input": [{"type": "item_reference", "id": "fc_1"}, answer["input"][0]]}
    assert validate_responses.refusals(reference, stored={"fc_1": call}) == []
    unknown = validate_responses.refusals({**reference, "store": False}, stored={})[0]
    assert (unknown.status, "Items are not persisted" in unknown.message) == (404, True)
    bare = {"model": "gpt-5.4", "input": [{"type": "reasoning", "id": "rs_9", "summary": []}, call, answer["input"][0]]}
    assert validate_responses.refusals(bare, stored={})[0].message == "Item with id 'rs_9' not found."


def test_unknown_parameters_are_refused_in_the_order_of_the_request() -> None:
    names = [f"member{n}" for n in range(20)]
    body = {"model": "gpt-5.6", "input": "hi", **dict.fromkeys(names, 1)}
    assert [refusal.param for refusal in validate_responses.refusals(body)] == names
