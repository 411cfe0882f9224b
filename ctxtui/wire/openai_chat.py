"""OpenAI Chat Completions: answers and event streams, also of other servers (facts §4, §5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_dict, as_str
from ctxtui.wire.grammar import CHAT_SHAPE
from ctxtui.wire.message import split_message
from ctxtui.wire.request import Response
from ctxtui.wire.sse import ServerEvent
from ctxtui.wire.stream import Delta, error_text, merge_delta, parse_answer
from ctxtui.wire.usage import chat_usage, extra_usage

_MAPPED_KEYS: Final = frozenset({"id", "model", "choices", "usage", "message"})
"""Members of an answer that become fields or blocks of `Response`. Choices after the first go to its `extra`."""
# In the order in which clients send an answer back.
_RESENT_KEYS: Final = (
    "role", "content", "reasoning_content", "reasoning", "refusal", "audio", "tool_calls", "function_call",
)  # fmt: skip
"""Members of a message that a client sends again."""


def decode_response(body: bytes | Json) -> Response:
    """Decode an answer (JSON bytes or the parsed value): its first choice, or an error.

    Raises `Malformed`. Ollama's own shape (``message`` next to ``done``) is read too.
    """
    value = parse_answer(body)
    choices = _find_choices(value)
    if choices is None:
        return Response(error=error_text(value), extra=dict(value))
    first = choices[0] if choices else {}
    message = first.get("message") if isinstance(first, dict) else None
    if choices and not isinstance(message, dict):
        raise Malformed("message is missing", place="$.choices[0]")
    items, beside = _answer_items(message) if isinstance(message, dict) else ((), {})
    other_members = {"choices": choices[1:], "message": beside}
    extra = {key: item for key, item in value.items() if key not in _MAPPED_KEYS and item is not None}
    return Response(
        items=items,
        usage=chat_usage(value.get("usage"), value),
        id=as_str(value.get("id")),
        model=as_str(value.get("model")),
        stop_reason=as_str(first.get("finish_reason")),
        error=error_text(value) if value.get("error") else "",
        extra={
            **extra,
            **{key: item for key, item in other_members.items() if item},
            **extra_usage(value.get("usage")),
        },
    )


def _find_choices(value: dict[str, Json]) -> list[Json] | None:
    """None for an error body."""
    choices = value.get("choices")
    if isinstance(choices, list):
        return choices
    if isinstance(value.get("message"), dict):
        return [{"message": value["message"], "finish_reason": value.get("done_reason")}]
    if "error" in value:
        return None
    raise Malformed("choices is missing", place="$", way_out="is this an answer of another dialect?")


def _answer_items(message: dict[str, Json]) -> tuple[tuple[Item, ...], dict[str, Json]]:
    """The blocks that a client sends again, a header first, and the message's other members."""
    resent_message: dict[str, Json] = {
        key: message[key] for key in _RESENT_KEYS if key in message and (message[key] or key == "content")
    }
    resent_message.setdefault("role", "assistant")
    calls = resent_message.get("tool_calls")
    if isinstance(calls, list):
        resent_message["tool_calls"] = [_without_index(call) for call in calls]
    other_members = {key: item for key, item in message.items() if key not in _RESENT_KEYS and item not in (None, [])}
    return tuple(part.item for part in split_message(resent_message, "$.choices[0].message", CHAT_SHAPE)), other_members


def _without_index(call: Json) -> Json:
    # Only a stream's calls are numbered; gateways leave the numbers in non-streamed answers.
    return {key: item for key, item in call.items() if key != "index"} if isinstance(call, dict) else call


DONE: Final = "[DONE]"
_CHUNK_KEYS: Final = frozenset({"choices", "object", "obfuscation", "error"})
"""Members of a chunk that are not copied into the answer."""


class _StreamedChoice:
    """One choice of a streamed answer."""

    def __init__(self) -> None:
        self.message: dict[str, Json] = {"role": "assistant", "content": None}
        self.calls: list[dict[str, Json]] = []
        self.finish: Json = None
        self._slots: dict[int, int] = {}

    def add(self, delta: dict[str, Json]) -> Iterator[tuple[str, str]]:
        """Add a delta; yield the name of each field that grew and its new text.

        Names are ``text``, ``tool_call N``, or those of other members.
        """
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                yield self._add_call(call)
        merge_delta(self.message, delta, skip=frozenset({"tool_calls", "role"}))
        for key, value in delta.items():
            if isinstance(value, str) and value and key != "role":
                yield ("text" if key == "content" else key), value

    def _add_call(self, news: dict[str, Json]) -> tuple[str, str]:
        slot = self._find_call(news)
        call = self.calls[slot]
        inner_key = "custom" if isinstance(news.get("custom"), dict) else "function"
        inner = news.get(inner_key)
        merge_delta(call, news, skip=frozenset({"index", "id", "type", inner_key}))
        for key in ("id", "type"):
            call[key] = call.get(key) or news.get(key) or ("function" if key == "type" else "")
        text = ""
        if isinstance(inner, dict):
            called = call[inner_key] = as_dict(call.get(inner_key))
            # Some servers repeat the name in every chunk: append nothing.
            called["name"] = called.get("name") or inner.get("name") or ""
            field = "input" if inner_key == "custom" else "arguments"
            arguments = inner.get(field)
            text = (
                "" if arguments is None else arguments if isinstance(arguments, str) else canonical.dump_text(arguments)
            )
            called[field] = as_str(called.get(field)) + text
            merge_delta(called, inner, skip=frozenset({"name", field}))
        return f"tool_call {slot}", text

    def _find_call(self, news: dict[str, Json]) -> int:
        """The number of the call that a chunk continues, or of a new one.

        Indexes may be missing or all zero; ids may be missing or empty.
        """
        index, id_ = news.get("index"), news.get("id")
        slot = self._slots.get(index) if isinstance(index, int) else len(self.calls) - 1 if self.calls else None
        if slot is not None and id_ and self.calls[slot].get("id") not in ("", id_, None):
            slot = next((n for n, call in enumerate(self.calls) if call.get("id") == id_), None)
        elif slot is not None and not isinstance(index, int) and not id_ and as_dict(news.get("function")).get("name"):
            slot = None
        if slot is None:
            self.calls.append({"id": "", "type": ""})
            slot = len(self.calls) - 1
        if isinstance(index, int):
            self._slots[index] = slot
        return slot

    def to_answer(self) -> dict[str, Json]:
        message = dict(self.message)
        if self.calls:
            message["tool_calls"] = self.calls
            message["content"] = message["content"] or None
        elif message["content"] is None and not message.get("function_call"):
            message["content"] = ""
        return {"message": message, "finish_reason": self.finish}


class StreamReader:
    """Assembles a streamed chat completion; see `stream.StreamReader`."""

    def __init__(self) -> None:
        self._top: dict[str, Json] = {}
        self._choices: dict[int, _StreamedChoice] = {}
        self._delta_indexes: dict[str, int] = {}
        """The `Delta.block` of each field and call, by first appearance."""
        self._error = ""
        self._done = False

    def feed(self, events: Iterable[ServerEvent]) -> list[Delta]:
        return [delta for event in events for delta in self._handle_event(event)]

    def _handle_event(self, event: ServerEvent) -> Iterator[Delta]:
        if event.data.strip() == DONE:
            self._done = True
            return
        chunk = event.value()
        if not isinstance(chunk, dict):
            return
        if chunk.get("error"):
            self._error = error_text(chunk)
        self._top |= {k: v for k, v in chunk.items() if k not in _CHUNK_KEYS and v is not None}
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                yield from self._handle_choice(choice)

    def _handle_choice(self, choice: dict[str, Json]) -> Iterator[Delta]:
        index = choice.get("index")
        number = index if isinstance(index, int) else 0
        state = self._choices.setdefault(number, _StreamedChoice())
        state.finish = choice.get("finish_reason") or state.finish
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return
        for name, text in state.add(delta):
            if number == 0:
                index = self._delta_indexes.setdefault(name, len(self._delta_indexes))
                yield Delta(index, name.partition(" ")[0], text)

    def response(self) -> Response:
        """Complete at ``[DONE]`` or the first choice's finish reason, unless an error has arrived."""
        choices = [self._choices[n] for n in sorted(self._choices)]
        response = decode_response({**self._top, "choices": [choice.to_answer() for choice in choices]})
        ended = self._done or any(choice.finish for choice in choices[:1])
        return response if ended and not self._error else response.as_interrupted(self._error)
