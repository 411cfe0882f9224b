"""What the strict Anthropic validator refuses, rule by rule."""

from __future__ import annotations

import base64
import copy
import json
import time
from typing import Any

import pytest

from ctxtui.offline.anthropic.validate import OLD_VERSION, refusals
from ctxtui.offline.exchange import NotJson, parse
from tests.corpus import CORPUS
from tests.offline.signing import sign_all
from tests.offline.talks import Edit, anthropic, at, edited, without

PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (100).to_bytes(4, "big") + (100).to_bytes(4, "big") + bytes(20)
).decode()
WIDE = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (9000).to_bytes(4, "big") + (100).to_bytes(4, "big") + bytes(20)
).decode()
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
MCP_CALL = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "look", "server_name": "s", "input": {}}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
THOUGHT = {"type": "thinking", "thinking": "3", "signature": ""}
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def image(data: str = PNG, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def marks(*places: str, ttl: str = "5m") -> Edit:
    def edit(body: dict[str, Any]) -> None:
        for place in places:
            at(f"{place}.cache_control", {"type": "ephemeral", "ttl": ttl})(body)

    return edit


def both(*edits: Edit) -> Edit:
    def edit(body: dict[str, Any]) -> None:
        for one in edits:
            one(body)

    return edit


CASES: list[tuple[str, Edit, str, str]] = [
    ("no max_tokens", without("max_tokens"), "field required", "max_tokens: Field required"),
    ("no messages", without("messages"), "field required", "messages: Field required"),
    ("empty messages", at("messages", []), "no messages", "at least one message"),
    ("unknown member", at("foo", 1), "extra field", "foo: Extra inputs are not permitted"),
    ("beta member", at("context_management", {}), "extra field", "context_management"),
    ("temperature", at("temperature", 1), "extra field", "temperature: Extra inputs"),
    ("unknown model", at("model", "claude-opus-9"), "unknown model", "model: claude-opus-9"),
    ("too many tokens", at("max_tokens", 200_000), "max_tokens", "200000 > 128000, which is the maximum"),
    ("tokens as text", at("max_tokens", "9"), "wrong type", "max_tokens: Input should be a valid integer"),
    ("bad role", at("messages.0.role", "tool"), "role", "messages.0.role"),
    ("unknown block", at("messages.1.content.0.type", "txt"), "unknown block", "Input tag 'txt' found using 'type'"),
    ("block field", at("messages.1.content.0.foo", 1), "extra field", "messages.1.content.0.text.foo: Extra"),
    ("empty text", at("messages.1.content.0.text", ""), "empty text", "text content blocks must be non-empty"),
    ("blank text", at("messages.1.content.0.text", " \n"), "empty text", "must contain non-whitespace text"),
    ("blank string", at("messages.0.content", "  "), "empty text", "must contain non-whitespace text"),
    ("empty user", at("messages.0.content", ""), "empty content", "messages.0: user messages must have non-empty"),
    ("empty answer", at("messages.3.content", []), "empty content", "messages.3: all messages must have non-empty"),
    (
        "empty result text",
        at("messages.2.content.0.content", [{"type": "text", "text": ""}]),
        "empty text",
        "non-empty",
    ),
    ("no result", without("messages.2.content.0"), "call without result", "immediately after: toolu_1. Each"),
    ("result of none", at("messages.2.content.0.tool_use_id", "x"), "call without result", "toolu_1"),
    ("no call", without("messages.1.content.1"), "result without call", "unexpected `tool_use_id` found in"),
    (
        "text before results",
        at("messages.2.content", [{"type": "text", "text": "x"}, anthropic()["messages"][2]["content"][0]]),
        "call without result",
        "messages.1: `tool_use` ids were found without",
    ),
    (
        "two results",
        at("messages.2.content.1", {"type": "tool_result", "tool_use_id": "toolu_1", "content": "b"}),
        "two results",
        "each tool_use must have a single result",
    ),
    (
        "same id twice",
        at("messages.1.content.2", {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}}),
        "ids unique",
        "ids must be unique",
    ),
    (
        "call by user",
        at("messages.0.content", [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]),
        "wrong side",
        "can only be in `assistant`",
    ),
    (
        "result by assistant",
        at("messages.3.content.1", {"type": "tool_result", "tool_use_id": "toolu_1", "content": "b"}),
        "wrong side",
        "can only be in `user`",
    ),
    (
        "error with image",
        at(
            "messages.2.content.0", {**anthropic()["messages"][2]["content"][0], "is_error": True, "content": [image()]}
        ),
        "error result not text",
        "`is_error` is true",
    ),
    (
        "input no object",
        at("messages.1.content.1.input", "x"),
        "wrong type",
        "tool_use.input: Input should be a valid d",
    ),
    (
        "prefill",
        at("messages.5", {"role": "assistant", "content": "It"}),
        "prefill",
        "does not support assistant message",
    ),
    (
        "prefill after an answered server call",
        both(without("messages.4"), at("messages.3.content", [SEARCH, FOUND, {"type": "text", "text": "It"}])),
        "prefill",
        "does not support assistant message",
    ),
    (
        "server result alone",
        at("messages.3.content.0", {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
        "server result without call",
        "Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.",
    ),
    (
        "server call open",
        at("messages.3.content.1", SEARCH),
        "server call without result",
        "without a corresponding `web_search_tool_result` block",
    ),
    ("server call by user", at("messages.4.content", [SEARCH]), "wrong side", "can only be in `assistant`"),
    ("server result by user", at("messages.4.content", [FOUND]), "wrong side", "can only be in `assistant`"),
    ("system first", at("messages", [{"role": "system", "content": "x"}]), "system place", "must follow"),
    (
        "system before user",
        both(at("messages.5", {"role": "system", "content": "x"}), at("messages.6", {"role": "user", "content": "y"})),
        "system place",
        "last one or be followed",
    ),
    (
        "system on sonnet 5",
        both(at("model", "claude-sonnet-5"), at("messages.5", {"role": "system", "content": "x"})),
        "system role",
        "role 'system' is not supported on this model",
    ),
    (
        "five markers",
        marks("tools.0", "system.0", "messages.1.content.0", "messages.1.content.1", "messages.2.content.0"),
        "too many markers",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    (
        "1h after 5m",
        both(marks("system.0"), marks("messages.1.content.0", ttl="1h")),
        "ttl order",
        "messages.1.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after",
    ),
    (
        "marker on empty",
        both(at("messages.1.content.0.text", ""), marks("messages.1.content.0")),
        "cache on empty",
        "cache_control cannot be set for empty text blocks",
    ),
    (
        "marker on thinking",
        at("messages.3.content.0", {"type": "thinking", "thinking": "x", "signature": "y", "cache_control": MARK}),
        "extra field",
        "thinking.cache_control: Extra inputs are not permitted",
    ),
    (
        "bad ttl",
        marks("system.0", ttl="2h"),
        "wrong value",
        "system.0.text.cache_control.ttl: Input should be '5m' or '1h'",
    ),
    (
        "automatic as fifth",
        both(marks("tools.0", "system.0", "messages.1.content.0", "messages.1.content.1"), at("cache_control", MARK)),
        "too many markers",
        "none is left",
    ),
    (
        "automatic against last",
        both(
            marks("messages.2.content.1", ttl="1h"),
            without("messages.4"),
            without("messages.3"),
            at("cache_control", MARK),
        ),
        "automatic ttl",
        "different ttl",
    ),
    ("automatic 1h after 5m", both(marks("system.0"), at("cache_control", HOUR)), "ttl order", "cache_control.ttl"),
    ("tool name", at("tools.0.name", "a b"), "tool name", "tools.0.custom.name: String should match pattern"),
    ("tools alike", at("tools.1", anthropic()["tools"][0]), "tool names unique", "tools: Tool names must be unique."),
    ("no schema", without("tools.0.input_schema"), "field required", "tools.0.custom.input_schema: Field required"),
    ("schema no object", at("tools.0.input_schema", {}), "input schema", "input_schema.type: Field required"),
    ("unknown tool type", at("tools.1", {"type": "web_20990101", "name": "w"}), "unknown tool type", "Input tag"),
    ("all deferred", at("tools.0.defer_loading", True), "all tools deferred", "at least one tool"),
    ("choice", at("tool_choice", {"type": "some"}), "wrong value", "tool_choice.type: Input should be 'auto', 'any'"),
    ("choice of none", at("tool_choice", {"type": "tool", "name": "x"}), "unknown tool", "Tool 'x' not found"),
    (
        "choice without tools",
        both(without("tools"), at("tool_choice", {"type": "auto"})),
        "no tools",
        "while providing",
    ),
    (
        "enabled on 4.8",
        at("thinking", {"type": "enabled", "budget_tokens": 2000}),
        "thinking type",
        "thinking.type.adapt",
    ),
    (
        "adaptive on 4.5",
        both(at("model", "claude-sonnet-4-5"), at("thinking", {"type": "adaptive"})),
        "thinking type",
        "adaptive thinking is not supported on this model",
    ),
    (
        "off on fable",
        both(at("model", "claude-fable-5-2"), at("thinking", {"type": "disabled"})),
        "thinking type",
        "thinking.type.disabled",
    ),
    (
        "off at max",
        both(
            at("model", "claude-opus-5"), at("thinking", {"type": "disabled"}), at("output_config", {"effort": "max"})
        ),
        "thinking off",
        "at effort 'max'",
    ),
    (
        "small budget",
        both(at("model", "claude-sonnet-4-5"), at("thinking", {"type": "enabled", "budget_tokens": 100})),
        "wrong value",
        "greater than or equal to 1024",
    ),
    (
        "budget above max",
        both(at("model", "claude-sonnet-4-5"), at("thinking", {"type": "enabled", "budget_tokens": 2000})),
        "thinking budget",
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    (
        "forced while thinking",
        both(
            at("model", "claude-sonnet-4-5"),
            at("max_tokens", 9000),
            at("thinking", {"type": "enabled", "budget_tokens": 2000}),
            at("tool_choice", {"type": "any"}),
        ),
        "forced call while thinking",
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    (
        "forced on fable 5.1",
        both(at("model", "claude-fable-5-1"), at("tool_choice", {"type": "any"})),
        "forced call",
        "not supported on this model",
    ),
    (
        "loop without thinking",
        both(
            at("model", "claude-sonnet-4-5"),
            at("max_tokens", 9000),
            at("thinking", {"type": "enabled", "budget_tokens": 2000}),
            without("messages.4"),
            without("messages.3"),
            without("messages.2.content.1"),
        ),
        "thinking first",
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.",
    ),
    (
        "thinking last",
        at("messages.3.content.1", {"type": "redacted_thinking", "data": "abc"}),
        "thinking last",
        "messages.3: The final block in an assistant message cannot be `redacted_thinking`.",
    ),
    (
        "forged signature",
        at("messages.1.content.0", {"type": "thinking", "thinking": "x", "signature": "made up"}),
        "signature",
        "Invalid `signature` in `thinking` block",
    ),
    (
        "effort of 4.6",
        both(at("model", "claude-opus-4-6"), at("output_config", {"effort": "xhigh"})),
        "effort",
        "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
    ),
    ("no image", at("messages.0.content", [image("AAAA")]), "image unreadable", "Could not process image"),
    ("no base64", at("messages.0.content", [image("%%")]), "base64", "invalid base64"),
    ("other type", at("messages.0.content", [image(PNG, "image/jpeg")]), "media type", "appears to be a image/png"),
    ("bmp", at("messages.0.content", [image(PNG, "image/bmp")]), "wrong value", "media_type: Input should be"),
    ("wide image", at("messages.0.content", [image(WIDE)]), "image size", "max allowed size: 8000 pixels"),
    ("too many images", at("messages.0.content", [image()] * 601), "too many images", "601 > 600"),
    ("assistant document", at("messages.3.content.0", DOCUMENT), "assistant document", "not permitted directly"),
    ("user citations", at("messages.2.content.1.citations", [{"x": 1}]), "user citations", "citations"),
    ("first stop", at("stop_sequences", [3]), "wrong type", "stop_sequences.0: Input should be a valid string"),
    ("third stop", at("stop_sequences", ["a", "b", {}]), "wrong type", "stop_sequences.2: Input should be a valid"),
    ("stop of blanks", at("stop_sequences", ["\n"]), "stop sequence", "non-whitespace"),
    ("warm stream", both(at("max_tokens", 0), at("stream", True)), "pre-warm", "`stream`"),
]


@pytest.mark.parametrize(("edit", "rule", "words"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_refused(edit: Edit, rule: str, words: str) -> None:
    found = refusals(edited(anthropic(), edit))
    assert found, "taken"
    assert found[0].rule == rule
    assert words in found[0].message
    assert found[0].status == (404 if rule == "unknown model" else 400)


TAKEN: list[tuple[str, Edit]] = [
    ("as it is", lambda body: None),
    ("dated model", at("model", "claude-opus-4-5-20251101")),
    ("the offline model", at("model", "offline")),
    ("string system", at("system", "Be kind.")),
    ("two user messages", at("messages.5", {"role": "user", "content": "and"})),
    (
        "prefill on 4.5",
        both(at("model", "claude-sonnet-4-5"), at("messages.5", {"role": "assistant", "content": "It"})),
    ),
    ("system at the end", at("messages.5", {"role": "system", "content": "x"})),
    ("four markers", marks("tools.0", "system.0", "messages.1.content.0", "messages.2.content.1")),
    ("automatic beside three", both(marks("tools.0", "system.0", "messages.1.content.0"), at("cache_control", MARK))),
    (
        "automatic on the last's own",
        both(marks("messages.2.content.1"), without("messages.4"), without("messages.3"), at("cache_control", MARK)),
    ),
    ("1h before 5m", both(marks("system.0", ttl="1h"), marks("messages.1.content.0"))),
    ("image", at("messages.0.content", [image()])),
    ("empty result", at("messages.2.content.0.content", "")),
    ("result without content", without("messages.2.content.0.content")),
    ("answer's own fields", at("messages.1.content.0.citations", None)),
    ("caller of a call", at("messages.1.content.1.caller", {"type": "direct"})),
    (
        "a provider's signature",
        at("messages.1.content.0", {"type": "thinking", "thinking": "", "signature": "Eo" * 40}),
    ),
    ("adaptive", at("thinking", {"type": "adaptive"})),
    (
        "a turn paused after a result sent back",
        both(at("messages.3.content", [{"type": "text", "text": "It"}, SEARCH, FOUND]), without("messages.4")),
    ),
    ("the assistant begins", without("messages.0")),
    ("a paused turn sent back", both(at("messages.3.content.1", SEARCH), without("messages.4"))),
    ("pre-warm", at("max_tokens", 0)),
]


@pytest.mark.parametrize("edit", [c[1] for c in TAKEN], ids=[c[0] for c in TAKEN])
def test_taken(edit: Edit) -> None:
    body = edited(anthropic(), edit)
    if any(
        m["content"][-1:] and isinstance(m["content"], list) and m["content"][-1].get("type") == "server_tool_use"
        for m in body["messages"]
    ):
        del body["messages"][4:]  # a paused turn is sent back as it is
    assert refusals(body) == []


def test_versions() -> None:
    old = anthropic(temperature=0.5, top_k=3, model="claude-opus-4-6")
    assert refusals(old, version=OLD_VERSION) == []
    assert refusals(old)[0].rule == "extra field"
    new = anthropic(temperature=0.5)
    assert refusals(new, version=OLD_VERSION)[0].message == "`temperature` is deprecated for this model."
    assert refusals(anthropic(temperature=1.0), version=OLD_VERSION) == []
    assert refusals(anthropic(top_k=1), version=OLD_VERSION)[0].rule == "sampling"
    assert refusals(anthropic(temperature=1.0))[0].rule == "extra field"
    said = edited(anthropic(), at("messages.3.content.0", DOCUMENT))
    assert refusals(said, version=OLD_VERSION) == []


def test_betas() -> None:
    body = anthropic(context_management={"edits": []})
    assert refusals(body, betas=["context-management-2025-06-27"]) == []


MCP_BETA = "mcp-client-2025-11-20"


@pytest.mark.parametrize(
    ("edit", "rule"),
    [
        (at("messages.3.content", [MCP_CALL, {"type": "text", "text": "x"}]), None),
        (both(at("messages.3.content", [MCP_CALL]), without("messages.4")), None),
        (at("messages.4.content", [MCP_CALL]), "wrong side"),
        (at("messages.3.content", [MCP_CALL, MCP_CALL]), "ids unique"),
    ],
    ids=["by the assistant", "paused", "by the user", "twice"],
)
def test_mcp_calls(edit: Edit, rule: str | None) -> None:
    rules = [refusal.rule for refusal in refusals(edited(anthropic(), edit), betas=[MCP_BETA])]
    assert rules == ([rule] if rule else [])


def test_names_that_end_with_a_line_break() -> None:
    name = edited(anthropic(), at("tools.0.name", "read_file\n"))
    assert refusals(name)[0].rule == "tool name"
    kind = edited(anthropic(), at("tools.1", {"type": "web_search_20260318\n", "name": "web_search"}))
    assert refusals(kind)[0].rule == "unknown tool type"


SAFEGUARDED = "dangerous-tool-use-2026-09-03"


def test_safeguards() -> None:
    check = {"type": "dangerous_tool_use", "classifier_context": {"v": 1}}
    assert refusals(anthropic(safeguards=[check]), betas=[SAFEGUARDED]) == []
    assert refusals(anthropic(safeguards=[check]))[0].message == "safeguards: Extra inputs are not permitted"
    for wrong, words in [
        ({"v": 1}, "safeguards: Input should be a valid list"),
        ([{"type": "dangerous_tool_use"}], "classifier_context: Field required"),
        ([{**check, "type": "kind"}], "Input tag 'kind' found using 'type'"),
        (["x"], "safeguards.0: Input should be a valid dictionary"),
    ]:
        assert words in refusals(anthropic(safeguards=wrong), betas=[SAFEGUARDED])[0].message


def test_a_system_turn_that_only_sets_the_effort() -> None:
    """Claude Code's first one after a compaction."""
    told = {"role": "system", "content": [], "output_config": {"effort": "medium"}}
    body = edited(anthropic(), at("messages.5", told))
    assert refusals(body, betas=["effort-2025-11-24"]) == []
    silent = edited(anthropic(), at("messages.5", {"role": "system", "content": []}))
    assert refusals(silent, betas=["effort-2025-11-24"])[0].rule == "empty content"


def test_counting() -> None:
    body = anthropic()
    del body["max_tokens"]
    assert refusals(body, counting=True) == []
    assert refusals(anthropic(), counting=True)[0].message == "max_tokens: Extra inputs are not permitted"


def thinking(model: str = "claude-opus-5-5") -> dict[str, Any]:
    body = anthropic(model=model)
    for n in (1, 3):
        block = {"type": "thinking", "thinking": f"thought {n}", "signature": ""}
        body["messages"][n]["content"].insert(0, block)
    return sign_all(body)


EARLIER: list[tuple[str, Edit]] = [
    ("a message", at("messages.0.content", "What is in b.txt?")),
    ("the system prompt", at("system.0.text", "Be quick.")),
    ("a tool", at("tools.0.description", "reads")),
    ("a result", at("messages.2.content.0.content", "bye")),
    ("a message dropped", both(without("messages.0"))),
]


@pytest.mark.parametrize("edit", [c[1] for c in EARLIER], ids=[c[0] for c in EARLIER])
def test_bound_to_what_was_before(edit: Edit) -> None:
    body = thinking()
    assert refusals(body) == []
    edit(body)
    assert "bound to a different conversation" in refusals(body)[0].message
    # Models that do not bind it take it, and so does the same request that lets go of what does not fit.
    free = sign_all(anthropic(model="claude-opus-4-8"))
    edit(free)
    assert refusals(free) == []
    body["thinking"] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert refusals(body)[0].message.endswith("block_binding: Extra inputs are not permitted")
    assert refusals(body, betas=["thinking-binding-controls-2026-08-01"]) == []


HARMLESS: list[tuple[str, Edit]] = [
    ("markers", marks("system.0", "messages.2.content.0")),
    ("spelling of a string", at("messages.0.content", [{"type": "text", "text": "What is in a.txt?"}])),
    ("spelling of the system prompt", at("system", "Be kind.")),
    ("effort", at("output_config", {"effort": "low"})),
    ("max_tokens", at("max_tokens", 5)),
    (
        "an unused deferred tool",
        at("tools.1", {"name": "b", "input_schema": {"type": "object"}, "defer_loading": True}),
    ),
    ("thinking taken from the front", without("messages.1.content.0")),
    ("all thinking taken away", both(without("messages.1.content.0"), without("messages.3.content.0"))),
    ("display omitted", at("messages.1.content.0.thinking", "")),
]


@pytest.mark.parametrize("edit", [c[1] for c in HARMLESS], ids=[c[0] for c in HARMLESS])
def test_no_edit(edit: Edit) -> None:
    assert refusals(edited(thinking(), edit)) == []


def test_thinking_in_the_middle_is_missed() -> None:
    body = thinking()
    body["messages"].append(
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "3", "signature": ""}, {"type": "text", "text": "ok"}],
        }
    )
    body["messages"].append({"role": "user", "content": "bye"})
    body = sign_all(body)
    assert refusals(body) == []
    without("messages.3.content.0")(body)
    assert refusals(body)[0].rule == "thinking bound elsewhere"


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-opus-4-8"])
def test_words_of_thinking(model: str) -> None:
    body = thinking(model)
    at("messages.3.content.0.thinking", "other words")(body)
    assert "in the latest assistant message cannot be modified" in refusals(body)[0].message
    body = thinking(model)
    at("messages.1.content.0.thinking", "other words")(body)
    assert refusals(body)[0].message == "messages.1.content.0: Invalid `signature` in `thinking` block"


def test_thinking_moved_in_the_latest_message() -> None:
    body = thinking("claude-opus-4-8")
    said = body["messages"][3]["content"]
    said.append({"type": "text", "text": "more"})
    said[0], said[1] = said[1], said[0]
    assert "messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest" in refusals(body)[0].message


def test_newer_thinking_is_dropped() -> None:
    assert refusals({**thinking("claude-opus-5-5"), "model": "claude-opus-4-8"}) == []


def test_strip_models_look_at_the_current_turn_only() -> None:
    body = thinking("claude-sonnet-4-5")
    at("messages.1.content.0.thinking", "other words")(body)
    assert refusals(body) == []


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"a": "\xff"}', "invalid UTF-8 at byte 7"),
        (b'{"a": "\x00"}', "Invalid control character"),
        (b'{"a": "\\ud83d"}', r"no low surrogate in string: line 1 column 8 \(char 7\)"),
        (b'{"a":"\\ud83d\\ude00",\n "b":"\\uD800\\u0041"}', r"no low surrogate in string: line 2 column 7 "),
        (b'{"a": "\\\\ud83d\\ude00"}', "no high surrogate in string: line 1 column 15 "),
        (b'{"a": "\\ud800", "a": 1}', "no low surrogate"),
        (b'{"a": "\\uDC00"}', "no high surrogate"),
        (b'{"a": NaN}', "NaN is not a JSON value"),
        (b'{"a": 1', "Expecting"),
        (b"[1]", "not an object"),
        (b'{"a":' + b"[" * 100_000, "^nested too deeply$"),
        (b'{"a": ' + b"1" * 5_000 + b"}", "^an integer of more than 4,300 digits$"),
    ],
)
def test_bodies_that_are_no_json(raw: bytes, words: str) -> None:
    with pytest.raises(NotJson, match=words):
        parse(raw)
    assert parse(b'{"a": "\\ud83d\\uDE00", "b": "\\\\ud83d"}') == {"a": "\U0001f600", "b": "\\ud83d"}


def test_wording_of_recorded_refusals() -> None:
    """The errors that people were given, word for word but for the place and the ids."""
    path = CORPUS / "errors" / "provider_errors_from_issues.json"
    if not path.exists():
        pytest.skip("no corpus")
    recorded = json.dumps(json.loads(path.read_text()), ensure_ascii=False)
    for edit, keep in [
        (without("messages.2.content.0"), "immediately after: "),
        (without("messages.1.content.1"), "blocks: "),
    ]:
        message = refusals(edited(anthropic(), edit))[0].message
        before, _, after = message.partition(keep)
        assert before.partition(": ")[2] + keep in recorded
        assert after.partition(". ")[2] in recorded
    changed = edited(thinking(), at("messages.3.content.0.thinking", "other words"))
    assert refusals(changed)[0].message.partition(": ")[2] in recorded


def test_quick() -> None:
    body = thinking()
    refusals(body)
    start = time.perf_counter()
    for _ in range(100):
        refusals(copy.copy(body))
    assert (time.perf_counter() - start) / 100 < 0.005
