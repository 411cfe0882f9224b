"""Decodes exchanges to context and answer, by address and shape of the bodies."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.call import COUNTED, ESTIMATED_INPUT, Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_count, as_dict, as_str
from ctxtui.transcripts.kit.http_exchange import bedrock, cohere, shapes
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, parse_body
from ctxtui.wire import amazon_event_stream, sse
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, OLLAMA, RESPONSES
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Response
from ctxtui.wire.stream import error_text

_CONVERSE: Final = "converse"
COHERE: Final = "cohere"

# Paths of requests that are not shown as calls of a model.
_OTHER: Final = re.compile(
    r"/(embeddings?|embed|moderations|rerank|images|audio|files|batches|fine_tuning|vector_stores|classify|tokenize"
    r"|input_tokens|compact|realtime|count-tokens|cachedContents)(/|$)|:(embedContent|batchEmbedContents|countTokens)\b"
)
_MODEL: Final = re.compile(
    r"/models?/([^/]+?)(?::(?:stream)?(?:generateContent|rawPredict)|/(?:invoke|converse)|$)", re.IGNORECASE
)
"""The model in a path, for requests whose body does not name it."""
_STREAMS: Final = re.compile(
    r":stream(?:GenerateContent|RawPredict)$|/(?:converse-stream|invoke-with-response-stream)$"
)
_CODE_ASSIST: Final = ("v1internal:generateContent", "v1internal:streamGenerateContent")
"""Ends of the paths of Gemini CLI's Code Assist, whose bodies contain a request of Google's API."""
_COUNT: Final = ("/count_tokens", "/count-tokens:rawPredict")
"""Ends of the paths of requests that only count tokens."""


class Decoded(NamedTuple):
    """A request's context and its answer.

    `skeleton` is None if ctxtui cannot encode the body byte for byte (Converse, a body inside another). `params` holds
    everything but the context.
    """

    dialect: str
    items: tuple[Item, ...]
    model: str
    params: dict[str, Json]
    response: Response
    skeleton: Skeleton | None = None


def decode(exchange: Exchange) -> Decoded | None:
    """Decode an exchange with a model; None if `detect_dialect` finds no context.

    Raises `Malformed` if a context cannot be read.
    """
    body = parse_body(exchange.request)
    if isinstance(body, dict) and _is_wrapped(exchange.path, body):
        inner = decode(_unwrap(exchange, body))
        # A skeleton of the inner body would not give the body that was sent.
        return inner and inner._replace(model=as_str(body.get("model")) or inner.model, skeleton=None)
    dialect = detect_dialect(exchange, body) if isinstance(body, dict) else ""
    if not dialect:
        return None
    model = asked_model(exchange.path, body)
    if exchange.path.endswith(_COUNT):
        return _decode_request(dialect, exchange, body, model, _decode_count(exchange))
    response = decode_response(dialect, exchange)
    if response.model and "/invoke" in exchange.path:
        # Prices of Bedrock are listed by Bedrock's ids; the answer has the id of the model's maker.
        response = replace(response, model=model)
    return _decode_request(dialect, exchange, body, model, response)


def _is_wrapped(path: str, body: dict[str, Json]) -> bool:
    """Whether a request is one of Google's inside another (Gemini CLI's Code Assist)."""
    return path.endswith(_CODE_ASSIST) and "contents" in as_dict(body.get("request"))


def _unwrap(exchange: Exchange, body: dict[str, Json]) -> Exchange:
    answer = exchange.response
    if sse.is_stream(answer[:512].decode("utf-8", "replace")):
        chunks: Json = [as_dict(event.value()).get("response", event.value()) for event in sse.parse_stream(answer)]
        answer = canonical.dumps(chunks)
    elif (inner_answer := as_dict(parse_body(answer)).get("response")) is not None:
        answer = canonical.dumps(inner_answer)
    return replace(exchange, request=canonical.dumps(body["request"]), response=answer)


def asked_model(path: str, body: dict[str, Json]) -> str:
    """The model that a request names in its body, else in its path; "" for none."""
    named = _MODEL.search(path)
    return as_str(body.get("model")).removeprefix("models/") or (named.group(1) if named else "")


def wants_stream(path: str, body: dict[str, Json]) -> bool:
    return body.get("stream") is True or bool(_STREAMS.search(path))


def _decode_request(dialect: str, exchange: Exchange, body: dict[str, Json], model: str, response: Response) -> Decoded:
    if dialect == _CONVERSE:
        params = {key: item for key, item in body.items() if key not in bedrock.CONTEXT}
        return Decoded(dialect, tuple(bedrock.request_items(body)), model, params, response)
    request = DIALECTS[CHAT if dialect == COHERE else dialect].decode_request(exchange.request, None)
    return Decoded(dialect, request.items, model, request.params, response, request.skeleton)


def detect_dialect(exchange: Exchange, body: dict[str, Json]) -> str:
    """Detect the API of a request; "" if it does not send a context to a model."""
    path = exchange.path
    if _OTHER.search(path):
        return ""
    if "/converse" in path or ("toolConfig" in body and "messages" in body) or "inferenceConfig" in body:
        return _CONVERSE
    if "contents" in body:
        return GOOGLE
    if isinstance(body.get("messages"), list):
        return _detect_by_messages(exchange, body)
    if "input" in body and ("/responses" in path or (not path.strip("/") and "model" in body)):
        return RESPONSES
    return ""


def _detect_by_messages(exchange: Exchange, body: dict[str, Json]) -> str:
    path = exchange.path
    if not path.strip("/"):
        answer = as_dict(parse_body(exchange.response))
        return shapes.answer_dialect(answer) if shapes.is_answer(answer) else shapes.detect_dialect(body)
    if path.endswith(("/messages", *_COUNT)) or "anthropic_version" in body:
        return ANTHROPIC
    if path.endswith("/v2/chat"):
        return COHERE
    if path.endswith("/api/chat"):
        return OLLAMA
    answer_head = exchange.response[:400]
    if not path.endswith("/completions") and (b'"type":"message"' in answer_head or b"message_start" in answer_head):
        return ANTHROPIC
    return CHAT


def decode_response(dialect: str, exchange: Exchange) -> Response:
    """Decode the answer of `exchange`; an unreadable one becomes an answer with an error."""
    body = exchange.response
    if not body.strip():
        refused = exchange.status >= 400
        return Response(error=f"HTTP {exchange.status}" if refused else "", extra={"answer": "not recorded"})
    text = body[:512].decode("utf-8", "replace")
    try:
        if amazon_event_stream.is_event_stream(body):
            return decode_stream(dialect, amazon_event_stream.parse_event_stream(body))
        value = parse_body(body)
        # Ollama streams one JSON object a line.
        if sse.is_stream(text) or (dialect == OLLAMA and value is None):
            return decode_stream(dialect, sse.parse_stream(body))
        return _decode_whole(dialect, exchange, value)
    except Malformed as error:
        return Response(complete=False, error=f"HTTP {exchange.status}" if exchange.status >= 400 else str(error))


def decode_stream(dialect: str, events: list[sse.ServerEvent]) -> Response:
    if dialect == COHERE:
        return cohere.decode_stream(event.value() for event in events)
    if dialect == _CONVERSE:
        return bedrock.decode_stream(events)
    reader = DIALECTS[dialect].stream_reader()
    reader.feed(events)
    return reader.response()


def _decode_whole(dialect: str, exchange: Exchange, body: Json) -> Response:
    if body is None:
        text = exchange.response[:200].decode("utf-8", "replace")
        return Response(complete=False, error=f"an answer that is not JSON: {text}")
    if exchange.status >= 400 or "detail" in as_dict(body):
        return Response(error=_refusal_text(body) or f"HTTP {exchange.status}", extra=as_dict(body))
    if dialect in (_CONVERSE, COHERE):
        return bedrock.decode_answer(as_dict(body)) if dialect == _CONVERSE else cohere.decode_answer(as_dict(body))
    return DIALECTS[dialect].decode_response(body)


def _refusal_text(body: Json) -> str:
    # Google streams a list if no server-sent events were asked for, and then its errors are a list, too.
    fields = as_dict(body[0] if isinstance(body, list) and body else body)
    error = fields.get("error") or fields.get("message") or fields.get("detail")
    if isinstance(error, dict):
        return error_text({"error": error})
    return error if isinstance(error, str) else canonical.dump_text(body)[:500]


def _decode_count(exchange: Exchange) -> Response:
    body = as_dict(parse_body(exchange.response))
    refused = exchange.status >= 400 or "input_tokens" not in body
    return Response(error=_refusal_text(body)) if refused else count_response(body)


def count_response(body: dict[str, Json]) -> Response:
    """Build the answer to a request that only counts tokens: free, with the size of the input."""
    return Response(stop_reason=COUNTED, extra={ESTIMATED_INPUT: as_count(body.get("input_tokens"))})
