"""OpenAI Chat Completions and the many servers that speak it: requests, answers, event streams (facts §4, §5)."""

from __future__ import annotations

from typing import Final

from ctxtui.core.block import Item
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.wire.codec import codec
from ctxtui.wire.codec.memo import Memo
from ctxtui.wire.grammars import CHAT as NAME
from ctxtui.wire.grammars import CHAT_SHAPE, GRAMMARS
from ctxtui.wire.message import split
from ctxtui.wire.request import Request, Response
from ctxtui.wire.stream import answer_value, error_words
from ctxtui.wire.usage import beyond, chat

_TOLD: Final = frozenset({"id", "model", "choices", "usage", "message"})
# In the order in which clients send an answer back.
_RESENT: Final = (
    "role", "content", "reasoning_content", "reasoning", "refusal", "audio", "tool_calls", "function_call",
)  # fmt: skip


def decode_request(body: bytes, memo: Memo | None = None) -> Request:
    """The request that `body` is. Raises `Malformed` with a place; see `codec.decode`."""
    return codec.decode(body, GRAMMARS[NAME], memo)


def encode_request(request: Request) -> bytes:
    """The body of `request`, byte for byte the decoded one where nothing was changed (law 1)."""
    return codec.encode(request, GRAMMARS[NAME])


def decode_response(body: bytes | Json) -> Response:
    """The answer that `body` (JSON bytes, or its value) is: its first choice; further ones stay in `extra`.

    Ollama's own shape (``message`` beside ``done``) is read too. An error body becomes a response with `error`.
    Raises `Malformed` where it is none of these.
    """
    value = answer_value(body)
    choices = _choices(value)
    if choices is None:
        return Response(error=error_words(value), extra=dict(value))
    first = choices[0] if choices else {}
    message = first.get("message") if isinstance(first, dict) else None
    if choices and not isinstance(message, dict):
        raise Malformed("message is missing", place="$.choices[0]")
    items, beside = _items(message) if isinstance(message, dict) else ((), {})
    rest = {"choices": choices[1:], "message": beside}
    extra = {key: item for key, item in value.items() if key not in _TOLD and item is not None}
    return Response(
        items=items,
        usage=chat(value.get("usage"), value),
        id=_word(value.get("id")),
        model=_word(value.get("model")),
        stop_reason=_word(first.get("finish_reason")),
        error=error_words(value) if value.get("error") else "",
        extra={**extra, **{key: item for key, item in rest.items() if item}, **beyond(value.get("usage"))},
    )


def _choices(value: dict[str, Json]) -> list[Json] | None:
    """The answer's choices; None for an error body."""
    choices = value.get("choices")
    if isinstance(choices, list):
        return choices
    if isinstance(value.get("message"), dict):
        return [{"message": value["message"], "finish_reason": value.get("done_reason")}]
    if "error" in value:
        return None
    raise Malformed("choices is missing", place="$", way_out="is this an answer of another dialect?")


def _items(message: dict[str, Json]) -> tuple[tuple[Item, ...], dict[str, Json]]:
    """The answer's blocks under the header that a client sends back, and what a client leaves out."""
    sent: dict[str, Json] = {
        key: message[key] for key in _RESENT if key in message and (message[key] or key == "content")
    }
    sent.setdefault("role", "assistant")
    calls = sent.get("tool_calls")
    if isinstance(calls, list):
        sent["tool_calls"] = [_without_index(call) for call in calls]
    beside = {key: item for key, item in message.items() if key not in _RESENT and item not in (None, [])}
    return tuple(part.item for part in split(sent, "$.choices[0].message", CHAT_SHAPE)), beside


def _without_index(call: Json) -> Json:
    # Only a stream's calls are numbered; gateways leave the number in whole answers.
    return {key: item for key, item in call.items() if key != "index"} if isinstance(call, dict) else call


def _word(value: Json) -> str:
    return value if isinstance(value, str) else ""
