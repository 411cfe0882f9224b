"""Decode exchanges to context and answer; the API is detected from the address and the shape of the bodies."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.call import COUNTED, ESTIMATED_INPUT, Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.transcripts.kit.fields import count, obj, word
from ctxtui.transcripts.kit.http_exchange import bedrock, cohere, google, shapes
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, value
from ctxtui.wire import sse
from ctxtui.wire.grammar import ANTHROPIC, CHAT, RESPONSES
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Response
from ctxtui.wire.stream import error_text

GOOGLE: Final = google.NAME
CONVERSE: Final = "converse"
COHERE: Final = "cohere"

_OTHER: Final = re.compile(
    r"/(embeddings?|embed|moderations|rerank|images|audio|files|batches|fine_tuning|vector_stores|classify|tokenize"
    r"|input_tokens|compact|realtime|count-tokens|cachedContents)(/|$)|:(embedContent|batchEmbedContents|countTokens)\b"
)
_MODEL: Final = re.compile(r"/models?/([^/]+?)(?::(?:stream)?generateContent|/(?:invoke|converse)|$)", re.IGNORECASE)
_COUNT: Final = "/count_tokens"


class Decoded(NamedTuple):
    """A request's context and its answer.

    `skeleton` is None for an API that ctxtui cannot encode byte for byte; `params` then holds everything but the
    context.
    """

    dialect: str
    items: tuple[Item, ...]
    model: str
    params: dict[str, Json]
    response: Response
    skeleton: Skeleton | None = None


def decode(exchange: Exchange) -> Decoded | None:
    """Decode an exchange with a model; None if no model was to read a context.

    Raises `Malformed` if one was and the request cannot be read.
    """
    body = value(exchange.request)
    dialect = dialect_of(exchange, body) if isinstance(body, dict) else ""
    if not dialect:
        return None
    asked = _MODEL.search(exchange.path)
    model = word(body.get("model")) or (asked.group(1) if asked else "")
    if exchange.path.endswith(_COUNT):
        return _request(dialect, exchange, body, model, _count(exchange))
    return _request(dialect, exchange, body, model, response_of(dialect, exchange))


def _request(dialect: str, exchange: Exchange, body: dict[str, Json], model: str, response: Response) -> Decoded:
    if dialect in (GOOGLE, CONVERSE):
        module = google if dialect == GOOGLE else bedrock
        params = {key: item for key, item in body.items() if key not in module.CONTEXT}
        return Decoded(dialect, tuple(module.request_items(body)), model, params, response)
    found = DIALECTS[CHAT if dialect == COHERE else dialect].decode_request(exchange.request, None)
    return Decoded(dialect, found.items, model, found.params, response, found.skeleton)


def dialect_of(exchange: Exchange, body: dict[str, Json]) -> str:
    """Detect the API of a request; "" if it does not send a context to a model."""
    path = exchange.path
    if _OTHER.search(path):
        return ""
    if "/converse" in path or ("toolConfig" in body and "messages" in body) or "inferenceConfig" in body:
        return CONVERSE
    if "contents" in body and not path.endswith("/cachedContents"):
        return GOOGLE
    if isinstance(body.get("messages"), list):
        return _by_messages(exchange, body)
    if "input" in body and ("/responses" in path or (not path.strip("/") and "model" in body)):
        return RESPONSES
    return ""


def _by_messages(exchange: Exchange, body: dict[str, Json]) -> str:
    path = exchange.path
    if not path.strip("/"):
        answer = obj(value(exchange.response))
        return shapes.answer_dialect(answer) if shapes.is_answer(answer) else shapes.dialect(body)
    if path.endswith(("/messages", _COUNT)) or "anthropic_version" in body:
        return ANTHROPIC
    if path.endswith("/v2/chat"):
        return COHERE
    said = exchange.response[:400]
    if not path.endswith("/completions") and (b'"type":"message"' in said or b"message_start" in said):
        return ANTHROPIC
    return CHAT


def response_of(dialect: str, exchange: Exchange) -> Response:
    """Decode the answer of `exchange`; an unreadable one becomes an answer with an error that says so."""
    body = exchange.response
    if not body.strip():
        refused = exchange.status >= 400
        return Response(error=f"HTTP {exchange.status}" if refused else "", extra={"answer": "not recorded"})
    text = body[:512].decode("utf-8", "replace")
    try:
        if sse.is_stream(text):
            return streamed(dialect, sse.parse_stream(body))
        return _whole(dialect, exchange, value(body))
    except Malformed as error:
        return Response(complete=False, error=f"HTTP {exchange.status}" if exchange.status >= 400 else str(error))


def streamed(dialect: str, events: list[sse.ServerEvent]) -> Response:
    """Assemble the answer of the events of one stream."""
    if dialect == GOOGLE:
        return google.answer(event.value() for event in events)
    if dialect == COHERE:
        return cohere.stream(event.value() for event in events)
    if dialect == CONVERSE:
        return Response(complete=False, error="a stream of events in Amazon's binary framing")
    reader = DIALECTS[dialect].stream_reader()
    reader.feed(events)
    return reader.response()


def _whole(dialect: str, exchange: Exchange, body: Json) -> Response:
    if body is None:
        words = exchange.response[:200].decode("utf-8", "replace")
        return Response(complete=False, error=f"an answer that is no JSON: {words}")
    if dialect == GOOGLE:
        return google.answer(body if isinstance(body, list) else [body])
    if exchange.status >= 400 or "detail" in obj(body):
        return Response(error=_refusal(body) or f"HTTP {exchange.status}", extra=obj(body))
    if dialect in (CONVERSE, COHERE):
        return bedrock.answer(obj(body)) if dialect == CONVERSE else cohere.answer(obj(body))
    return DIALECTS[dialect].decode_response(body)


def _refusal(body: Json) -> str:
    held = obj(body)
    said = held.get("error") or held.get("message") or held.get("detail")
    if isinstance(said, dict):
        return error_text({"error": said})
    return said if isinstance(said, str) else canonical.dump_text(body)[:500]


def _count(exchange: Exchange) -> Response:
    body = obj(value(exchange.response))
    refused = exchange.status >= 400 or "input_tokens" not in body
    return Response(error=_refusal(body)) if refused else counted(body)


def counted(body: dict[str, Json]) -> Response:
    """Build the answer to a request that only counts tokens: no model read it, so it costs nothing (facts §1).

    It holds the size of the input.
    """
    return Response(stop_reason=COUNTED, extra={ESTIMATED_INPUT: count(body.get("input_tokens"))})
