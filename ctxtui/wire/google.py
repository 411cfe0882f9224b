"""Google's generateContent: answers and streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.call import TOOL_USE_INPUT
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_dict, as_list, as_str
from ctxtui.wire import usage
from ctxtui.wire.google_parts import SIGNATURES, part_kind
from ctxtui.wire.grammar import GOOGLE_SHAPE
from ctxtui.wire.message import split_message
from ctxtui.wire.request import Response
from ctxtui.wire.sse import ServerEvent
from ctxtui.wire.stream import Delta, error_text

_ANSWER_KEYS: Final = frozenset({"candidates", "promptFeedback", "usageMetadata", "error"})
"""Members of which an answer, or a chunk of one, has at least one."""
_MAPPED_KEYS: Final = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId", "error"})
"""Members of an answer that become fields of `Response`."""


def decode_response(body: bytes | Json) -> Response:
    """Decode an answer (JSON bytes or the parsed value): its first candidate, or an error.

    Raises `Malformed`. A list is read as the chunks of a stream without ``alt=sse``.
    """
    try:
        value = canonical.loads(body) if isinstance(body, bytes) else body
    except (ValueError, RecursionError) as error:
        raise Malformed(f"an answer that is no JSON: {error}", place="$") from None
    chunks = value if isinstance(value, list) else [value]
    if not chunks or not all(isinstance(chunk, dict) for chunk in chunks):
        raise Malformed("an answer must be an object", place="$")
    if not any(chunk.keys() & _ANSWER_KEYS for chunk in chunks):
        raise Malformed("candidates is missing", place="$", way_out="is this an answer of another dialect?")
    if "error" in chunks[0] and "candidates" not in chunks[0]:
        return Response(error=error_text(chunks[0]), extra=dict(chunks[0]))
    reader = StreamReader()
    for chunk in chunks:
        list(reader.add(chunk))
    return reader.response()


class StreamReader:
    """Assembles a streamed answer from its chunks, each an answer of its own.

    See `stream.StreamReader`.
    """

    def __init__(self) -> None:
        self._top: dict[str, Json] = {}
        self._content: dict[str, Json] = {}
        self._parts: list[Json] = []
        self._others: dict[Json, Json] = {}
        self._reason = ""
        self._blocked = ""
        self._error = ""

    def feed(self, events: Iterable[ServerEvent]) -> list[Delta]:
        return [delta for event in events for delta in self.add(event.value())]

    def add(self, chunk: Json) -> Iterator[Delta]:
        """Add one chunk's JSON value; yield the new text of its first candidate."""
        if not isinstance(chunk, dict):
            return
        self._top |= {key: item for key, item in chunk.items() if item is not None}
        if chunk.get("error"):
            self._error = error_text(chunk)
        self._blocked = as_str(as_dict(chunk.get("promptFeedback")).get("blockReason")) or self._blocked
        for n, candidate in enumerate(as_list(chunk.get("candidates"))):
            candidate_object = as_dict(candidate)
            if candidate_object.get("index", n):
                index = str(candidate_object.get("index", n))
                self._others[index] = (
                    _join_chunks(as_dict(self._others[index]), candidate_object) if index in self._others else candidate
                )
                continue
            self._reason = as_str(candidate_object.get("finishReason")) or self._reason
            content = as_dict(candidate_object.get("content"))
            self._content |= content
            for part in as_list(content.get("parts")):
                yield self._add_part(part)

    def _add_part(self, part: Json) -> Delta:
        last, news = as_dict(self._parts[-1]) if self._parts else {}, as_dict(part)
        # Streamed text continues the last chunk's text; a signature ends a part.
        joins = isinstance(last.get("text"), str) and isinstance(news.get("text"), str)
        joins = joins and last.get("thought") == news.get("thought") and not any(key in last for key in SIGNATURES)
        if joins:
            self._parts[-1] = {**last, **news, "text": last["text"] + news["text"]}
        else:
            self._parts.append(part)
        call = as_dict(news.get("functionCall"))
        words = canonical.dump_text(call.get("args", {})) if call else as_str(news.get("text"))
        return Delta(len(self._parts) - 1, part_kind(news) if news else "text", words)

    def response(self) -> Response:
        content = {"role": "model", **self._content, "parts": self._parts}
        if "role" in self._content:
            content = {**self._content, "parts": self._parts}
        report = self._top.get("usageMetadata")
        brought = usage.google_tool_input(report)
        extra = {key: item for key, item in self._top.items() if key not in _MAPPED_KEYS} | usage.extra_usage(report)
        answer = Response(
            items=tuple(part.item for part in split_message(content, "$.candidates[0].content", GOOGLE_SHAPE))
            if self._parts
            else (),
            usage=usage.google_usage(report),
            id=as_str(self._top.get("responseId")),
            model=as_str(self._top.get("modelVersion")),
            stop_reason=self._reason,
            error=self._blocked,
            extra={
                **extra,
                **({TOOL_USE_INPUT: brought} if brought else {}),
                **({"candidates": list(self._others.values())} if self._others else {}),
            },
        )
        ended = self._reason or self._blocked
        return answer if ended and not self._error else answer.as_interrupted(self._error)


def _join_chunks(before: dict[str, Json], chunk: dict[str, Json]) -> dict[str, Json]:
    """A further candidate with the members of its next `chunk` and the parts of both."""
    old, new = as_dict(before.get("content")), as_dict(chunk.get("content"))
    parts = [*as_list(old.get("parts")), *as_list(new.get("parts"))]
    return {**before, **chunk, **({"content": {**old, **new, "parts": parts}} if old or new else {})}
