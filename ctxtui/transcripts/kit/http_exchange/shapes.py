"""Classifies a JSON value as request, answer or messages, and detects its dialect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list, as_str
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, RESPONSES

_MAX_EXAMINED: Final = 200
"""Messages and tools that are examined to detect a dialect."""

_ROLES: Final = frozenset({"user", "assistant", "system", "developer", "tool", "function", "model"})
_ITEM_ENDS: Final = ("_call", "_call_output")
"""Ends of the types of items in OpenAI's Responses API."""
_PARTS: Final = {
    **dict.fromkeys("tool_use tool_result thinking redacted_thinking server_tool_use document".split(), ANTHROPIC),
    **dict.fromkeys("image_url input_audio".split(), CHAT),
    **dict.fromkeys("input_text output_text input_image input_file".split(), RESPONSES),
}
"""Dialect of each type of content part that only one dialect has."""
_MEMBERS: Final = {
    ANTHROPIC: {
        "system": 3, "anthropic_version": 3, "anthropic_beta": 3, "stop_sequences": 1, "max_tokens": 0.5, "top_k": 0.5,
        "thinking": 1, "context_management": 0.5,
    },
    CHAT: {
        "functions": 3, "function_call": 3, "response_format": 2, "max_completion_tokens": 2, "stream_options": 1,
        "n": 1, "frequency_penalty": 1, "presence_penalty": 1, "logprobs": 1, "seed": 1, "parallel_tool_calls": 0.5,
        "reasoning_effort": 1,
    },
    RESPONSES: {
        "instructions": 3, "previous_response_id": 3, "max_output_tokens": 2, "include": 1, "truncation": 1,
        "parallel_tool_calls": 0.5,
    },
}  # fmt: skip
"""Votes for a dialect by members of a request; more for members that no other dialect has."""

_PLAIN: Final = frozenset("model input temperature top_p text metadata user service_tier prompt_cache_key".split())
"""Members of a small request of Responses: then only the model's name shows that it is not for embeddings."""
_OTHER_MODELS: Final = re.compile(r"embed|moderation|tts|whisper|transcribe|rerank", re.IGNORECASE)
"""Parts of the names of models that do not generate text."""


class BodyShape(StrEnum):
    """Kind of a JSON value; `MESSAGES` is a list of messages without a request around it."""

    REQUEST = "request"
    ANSWER = "answer"
    MESSAGE = "message"
    MESSAGES = "messages"
    OTHER = "other"


def classify(value: Json) -> BodyShape:
    if isinstance(value, list):
        return BodyShape.MESSAGES if _is_message_list(value) else BodyShape.OTHER
    if not isinstance(value, dict):
        return BodyShape.OTHER
    if value.get("object") == "list" and _is_message_list(value.get("data")):
        return BodyShape.MESSAGES
    if is_answer(value):
        return BodyShape.ANSWER
    if _is_request(value):
        return BodyShape.REQUEST
    return BodyShape.MESSAGE if is_message(value) else BodyShape.OTHER


def list_messages(value: Json) -> list[Json]:
    return as_list(value.get("data")) if isinstance(value, dict) else as_list(value)


def _is_message_list(value: Json) -> bool:
    examined = as_list(value)[:_MAX_EXAMINED]
    typed = all(is_message(item) or as_str(as_dict(item).get("type")) for item in examined)
    return typed and any(is_message(item) for item in examined)


def _is_request(value: Mapping[str, Json]) -> bool:
    if _has_contents(value):
        return True
    messages = value.get("messages")
    named = "model" in value
    if isinstance(messages, list):
        return (named and (not messages or any(map(is_message, messages[:_MAX_EXAMINED])))) or _is_message_list(
            messages
        )
    request_input = value.get("input")
    if not named or "output" in value:
        return False
    if isinstance(request_input, list):
        return any(map(is_message, request_input[:_MAX_EXAMINED]))
    if not isinstance(request_input, str):
        return False
    evidence = value.keys() & {*_MEMBERS[RESPONSES], "tools", "stream", "reasoning", "store"}
    # Requests for embeddings, moderations and speech have a model and an input as well.
    return bool(evidence) or (value.keys() <= _PLAIN and not _OTHER_MODELS.search(as_str(value["model"])))


def _has_contents(value: Mapping[str, Json]) -> bool:
    """Whether `value` has the conversation of a request to Google's API."""
    contents = value.get("contents")
    looked = [contents] if isinstance(contents, dict) else as_list(contents)[:_MAX_EXAMINED]
    return any("parts" in as_dict(content) for content in looked)


def is_message(value: Json) -> bool:
    """Whether `value` is a message, or an item of a Responses context."""
    if not isinstance(value, dict):
        return False
    if as_str(value.get("role")) in _ROLES:
        return bool(value.keys() & {"content", "tool_calls", "function_call"})
    kind = as_str(value.get("type"))
    return (kind.endswith(_ITEM_ENDS) and bool(value.keys() & {"call_id", "id"})) or (
        kind == "reasoning" and "summary" in value
    )


def is_answer(value: Mapping[str, Json]) -> bool:
    """Whether `value` is a non-streamed answer of Anthropic, OpenAI, Google or Ollama."""
    candidates = as_list(value.get("candidates"))
    if candidates and as_dict(candidates[0]).keys() & {"content", "finishReason"}:
        return True
    choices = value.get("choices")
    if isinstance(choices, list) and (not choices or isinstance(as_dict(choices[0]).get("message"), dict)):
        return True
    if value.get("type") == "message" and value.get("role") == "assistant":
        return isinstance(value.get("content"), list) and bool(value.keys() & {"stop_reason", "usage"})
    if isinstance(value.get("output"), list) and "id" in value:
        return value.get("object") == "response" or "usage" in value
    return value.get("done") is True and isinstance(value.get("message"), dict)


def is_count(value: Mapping[str, Json]) -> bool:
    """Whether `value` is the answer to a request that only counts tokens."""
    return value.keys() - {"object", "context_management"} == {"input_tokens"}


def answer_dialect(value: Mapping[str, Json]) -> str:
    if "candidates" in value:
        return GOOGLE
    if "choices" in value or "message" in value:
        return CHAT
    return RESPONSES if isinstance(value.get("output"), list) else ANTHROPIC


def detect_dialect(value: Json, default: str = CHAT) -> str:
    """Detect the dialect of a request or of messages by their features, else `default`."""
    if isinstance(value, dict) and _has_contents(value):
        return GOOGLE
    votes: dict[str, float] = dict.fromkeys((default, CHAT, ANTHROPIC, RESPONSES), 0.0)
    members: Mapping[str, Json] = value if isinstance(value, dict) else {}
    for name, features in _MEMBERS.items():
        votes[name] += sum(n for key, n in features.items() if members.get(key) is not None)
    if "input" in members:
        votes[RESPONSES] += 4
    messages = members.get("messages", members.get("input")) if members else value
    _vote_messages(votes, as_list(messages)[:_MAX_EXAMINED])
    _vote_tools(votes, as_list(members.get("tools"))[:_MAX_EXAMINED])
    if as_str(members.get("model")).startswith(("claude", "anthropic.")):
        votes[ANTHROPIC] += 1
    # Ties go to the first, which is the default.
    return max(votes, key=lambda name: votes[name])


def _vote_messages(votes: dict[str, float], messages: Iterable[Json]) -> None:
    for message in messages:
        if not isinstance(message, dict):
            continue
        role, kind = as_str(message.get("role")), as_str(message.get("type"))
        if role in ("tool", "function") or "tool_calls" in message or "function_call" in message:
            votes[CHAT] += 3
        elif role in ("system", "developer"):
            votes[CHAT] += 1
        if kind and (kind == "message" or not role):
            votes[RESPONSES] += 2
        for part in as_list(message.get("content"))[:_MAX_EXAMINED]:
            home = _PARTS.get(as_str(as_dict(part).get("type")))
            if home:
                votes[home] += 3
            elif as_dict(part).get("type") == "image" and "source" in as_dict(part):
                votes[ANTHROPIC] += 3


def _vote_tools(votes: dict[str, float], tools: Iterable[Json]) -> None:
    for tool in tools:
        fields = as_dict(tool)
        if isinstance(fields.get("function"), dict) or isinstance(fields.get("custom"), dict):
            votes[CHAT] += 3
        elif "input_schema" in fields:
            votes[ANTHROPIC] += 3
        elif fields.get("type") == "function" and "parameters" in fields:
            votes[RESPONSES] += 3
        elif as_str(fields.get("type"))[-8:].isdigit():
            # A provider's own tools carry a date: web_search_20260318.
            votes[ANTHROPIC] += 2
