from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ctxtui.tokens.encode import count_text
from ctxtui.tokens.openai_overhead import tool_tokens
from tests.tokens.conftest import encoding

Count = Callable[[str], int]

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_current_weather",
        "description": "Get the current weather in a given location",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
                "unit": {
                    "type": "string",
                    "description": "The unit of temperature to return",
                    "enum": ["celsius", "fahrenheit"],
                },
            },
            "required": ["location"],
        },
    },
}
ASKING = [
    {"role": "system", "content": "You are a helpful assistant that can answer to questions about the weather."},
    {"role": "user", "content": "What's the weather like in San Francisco?"},
]


def request_tokens(count: Count, name: str) -> int:
    """The whole request by the cookbook: 3 per message, 3 for the reply, 12 for having tools."""
    messages = 3 + sum(3 + count(message["role"]) + count(message["content"]) for message in ASKING)
    return messages + 12 + (tool_tokens(WEATHER, count, name) or 0)


def test_the_cookbooks_example(count: Count) -> None:
    # OpenAI cookbook: 101 tokens for gpt-4o, 105 for gpt-4, as the API reports them.
    assert request_tokens(count, "o200k_base") == 101
    old = encoding("cl100k_base")
    assert request_tokens(lambda text: count_text(old, text), "cl100k_base") == 105


def test_spellings_of_one_function_count_the_same(count: Count) -> None:
    flat = {"type": "function", **WEATHER["function"]}
    assert tool_tokens(flat, count, "o200k_base") == tool_tokens(WEATHER, count, "o200k_base")


def test_what_is_no_function(count: Count) -> None:
    assert tool_tokens({"type": "web_search"}, count, "o200k_base") is None


def test_odd_schemas_do_not_raise(count: Count) -> None:
    for parameters in (None, [], {"properties": None}, {"properties": {"a": True, "b": {"type": ["string", "null"]}}}):
        assert tool_tokens({"name": "f", "parameters": parameters}, count, "o200k_base")


def test_a_schema_nested_too_deeply_has_no_published_count(count: Count) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(2000):
        schema = {"type": "object", "properties": {"a": schema}}
    assert tool_tokens({"name": "f", "parameters": schema}, count, "o200k_base") is None


def test_nested_objects_cost_more_than_flat_ones(count: Count) -> None:
    inner = {"type": "object", "properties": {"b": {"type": "string", "description": "deep"}}}
    flat = {"name": "f", "parameters": {"properties": {"a": {"type": "object"}}}}
    nested = {"name": "f", "parameters": {"properties": {"a": inner}}}
    listed = {"name": "f", "parameters": {"properties": {"a": {"type": "array", "items": inner}}}}
    tokens = [tool_tokens(tool, count, "o200k_base") or 0 for tool in (flat, nested, listed)]
    assert tokens[0] < tokens[1] <= tokens[2]
