"""Streamed Chat Completions: chunks in, the answer out (facts §4; the local servers' habits: §5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.wire.openai_chat import decode_response
from ctxtui.wire.request import Response
from ctxtui.wire.sse import ServerEvent
from ctxtui.wire.stream import Delta, error_words, merge

DONE: Final = "[DONE]"
_PADDING: Final = frozenset({"choices", "object", "obfuscation", "error"})


class _Choice:
    """One choice of a streamed answer."""

    def __init__(self) -> None:
        self.message: dict[str, Json] = {"role": "assistant", "content": None}
        self.calls: list[dict[str, Json]] = []
        self.finish: Json = None
        self._slots: dict[int, int] = {}

    def add(self, delta: dict[str, Json]) -> Iterator[tuple[str, str]]:
        """Take in a delta; yields (what grew, new words)."""
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                yield self._call(call)
        merge(self.message, delta, skip=frozenset({"tool_calls", "role"}))
        for key, value in delta.items():
            if isinstance(value, str) and value and key != "role":
                yield ("text" if key == "content" else key), value

    def _call(self, news: dict[str, Json]) -> tuple[str, str]:
        slot = self._slot(news)
        call = self.calls[slot]
        inner_key = "custom" if isinstance(news.get("custom"), dict) else "function"
        inner = news.get(inner_key)
        merge(call, news, skip=frozenset({"index", "id", "type", inner_key}))
        for key in ("id", "type"):
            call[key] = call.get(key) or news.get(key) or ("function" if key == "type" else "")
        words = ""
        if isinstance(inner, dict):
            into = call.setdefault(inner_key, {"name": ""})
            # Some servers say the name with every chunk.
            name = inner.get("name")
            into["name"] = name if name and name != into["name"] and not into["name"] else into["name"]
            field = "input" if inner_key == "custom" else "arguments"
            given = inner.get(field)
            words = given if isinstance(given, str) else "" if given is None else canonical.text_of(given)
            into[field] = into.get(field, "") + words
            merge(into, inner, skip=frozenset({"name", field}))
        return f"tool_call {slot}", words

    def _slot(self, news: dict[str, Json]) -> int:
        """The call that a chunk goes on with. Numbers may be missing or all zero; ids may be missing or empty."""
        index, id_ = news.get("index"), news.get("id")
        known = self._slots.get(index) if isinstance(index, int) else len(self.calls) - 1 if self.calls else None
        if known is not None and id_ and self.calls[known].get("id") not in ("", id_, None):
            known = next((n for n, call in enumerate(self.calls) if call.get("id") == id_), None)
        elif known is not None and not isinstance(index, int) and not id_ and self._named(news):
            known = None
        if known is None:
            self.calls.append({"id": "", "type": ""})
            known = len(self.calls) - 1
        if isinstance(index, int):
            self._slots[index] = known
        return known

    @staticmethod
    def _named(news: dict[str, Json]) -> bool:
        inner = news.get("function")
        return isinstance(inner, dict) and bool(inner.get("name"))

    def whole(self) -> dict[str, Json]:
        """The choice as an answer in one piece has it."""
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
        self._choices: dict[int, _Choice] = {}
        self._shown: dict[str, int] = {}
        self._error = ""
        self._done = False

    @property
    def finished(self) -> bool:
        """Whether ``[DONE]`` or an error has come."""
        return self._done or bool(self._error)

    def feed(self, events: Iterable[ServerEvent]) -> list[Delta]:
        """Take in chunks."""
        return [delta for event in events for delta in self._event(event)]

    def _event(self, event: ServerEvent) -> Iterator[Delta]:
        if event.data.strip() == DONE:
            self._done = True
            return
        chunk = event.value()
        if not isinstance(chunk, dict):
            return
        if chunk.get("error"):
            self._error = error_words(chunk)
        self._top |= {k: v for k, v in chunk.items() if k not in _PADDING and v is not None}
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                yield from self._choice(choice)

    def _choice(self, choice: dict[str, Json]) -> Iterator[Delta]:
        index = choice.get("index")
        number = index if isinstance(index, int) else 0
        held = self._choices.setdefault(number, _Choice())
        held.finish = choice.get("finish_reason") or held.finish
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return
        for name, words in held.add(delta):
            if number == 0:
                yield Delta(self._shown.setdefault(name, len(self._shown)), name.partition(" ")[0], words)

    def response(self) -> Response:
        """The answer so far. It is whole once a choice has said why it stopped, even if ``[DONE]`` is missing."""
        choices = [self._choices[n].whole() for n in sorted(self._choices)]
        found = decode_response({**self._top, "choices": choices})
        ended = self._done or any(choice.finish for choice in self._choices.values())
        return found if ended and not self._error else found.broken(self._error)
