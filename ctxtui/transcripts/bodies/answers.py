"""Answers in whatever form a record keeps them: a body, an event stream, a bare message, an error."""

from __future__ import annotations

from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.transcripts.bodies.shapes import answer_dialect, is_answer, is_message
from ctxtui.transcripts.fields import obj, word
from ctxtui.wire import sse
from ctxtui.wire.grammars import ANTHROPIC, CHAT, GRAMMARS, RESPONSES
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Response
from ctxtui.wire.stream import error_words

_PREFIXES: Final = (("response.", RESPONSES), ("message_", ANTHROPIC), ("content_block_", ANTHROPIC))


def answer_of(value: Json, dialect: str) -> Response | None:
    """The answer that `value` (a JSON value, or an event stream's text) is to a request in `dialect`; None for no
    answer at all. One that breaks off, or that no dialect reads, is kept as far as it goes."""
    if isinstance(value, str):
        return _streamed(value, dialect)
    if not isinstance(value, dict):
        return None
    try:
        if is_answer(value):
            return DIALECTS[answer_dialect(value)].decode_response(value)
        if is_message(value):
            messages = next(s for s in GRAMMARS[dialect].sections if s.name == "messages")
            return Response(items=tuple(part.item for part in messages.split(value, "$")))
    except Malformed as error:
        return Response(error=str(error), complete=False, extra=dict(value))
    return Response(error=error_words(value), extra=dict(value)) if value.get("error") else None


def _streamed(text: str, dialect: str) -> Response | None:
    events = sse.parse(text.encode("utf-8", "surrogateescape"))
    reader = DIALECTS[_spoken(events) or dialect].stream_reader()
    reader.feed(events)
    try:
        return reader.response()
    except Malformed as error:
        return Response(error=str(error), complete=False)


def _spoken(events: list[sse.ServerEvent]) -> str:
    for event in events:
        value = obj(event.value())
        kind = word(value.get("type"))
        if "choices" in value:
            return CHAT
        for prefix, name in _PREFIXES:
            if kind.startswith(prefix):
                return name
    return ""
