"""One call of a model, recorded by one span or several: its context, answer and usage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.call import Call, Fidelity, Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_dict, as_list, as_number, as_str
from ctxtui.core.usage import Usage
from ctxtui.transcripts.formats.opentelemetry import messages
from ctxtui.transcripts.formats.opentelemetry.spans import (
    Attributes,
    OtelSpan,
    SpanEvent,
    first_count,
    first_text,
    first_value,
)
from ctxtui.transcripts.kit.http_exchange.decode import Decoded, decode
from ctxtui.transcripts.kit.http_exchange.pair import Exchange
from ctxtui.transcripts.kit.readers import decode_column
from ctxtui.wire.request import Response

_IN_SUM: Final = "gen_ai.aggregated_usage."
"""Prefix of the attributes with an agent's total usage."""
_CALLS: Final = ("chat", "text_completion", "generate_content", "completion", "message", "responses")
_OTHER: Final = (
    "embeddings", "retrieval", "create_agent", "invoke_agent", "execute_tool", "invoke_workflow", "rerank", "embedding",
)  # fmt: skip
_DETAILS: Final = "gen_ai.client.inference.operation.details"
"""Event that holds further attributes of a call, such as its messages."""
_PROVIDERS: Final = {
    "gcp.gemini": "google", "gcp.gen_ai": "google", "gcp.vertex_ai": "google", "vertex_ai": "google",
    "vertexai": "google", "gemini": "google", "aws.bedrock": "aws", "aws_bedrock": "aws", "bedrock": "aws",
    "azure.ai.openai": "azure",
    "azure.ai.inference": "azure", "az.ai.openai": "azure", "az.ai.inference": "azure", "mistral_ai": "mistral",
    "mistralai": "mistral", "x_ai": "x-ai", "xai": "x-ai",
}  # fmt: skip
_PARAMETERS: Final = (
    "temperature", "top_p", "top_k", "max_tokens", "seed", "stop_sequences", "frequency_penalty", "presence_penalty",
    "choice.count", "stream", "service_tier", "reasoning.level", "thinking_budget",
)  # fmt: skip


def operation(span: OtelSpan) -> str:
    """Return the operation of a span (``chat``, ``invoke_agent``); "": unknown."""
    attributes = span.attributes
    named = first_text(attributes, "gen_ai.operation.name")
    kind = first_text(attributes, "openinference.span.kind", "traceloop.span.kind", "llm.request.type").lower()
    if named in (*_CALLS, *_OTHER):
        return named
    if kind in ("llm", "chat", "completion"):
        return "chat"
    if kind in ("agent", "tool", "embedding", "workflow", "retriever", "reranker"):
        return {"agent": "invoke_agent", "tool": "execute_tool", "embedding": "embeddings"}.get(kind, kind)
    if named:
        return named
    model = first_value(attributes, "gen_ai.request.model", "gen_ai.response.model")
    used = first_count(attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
    return "chat" if model is not None and (used is not None or "gen_ai.prompt.0.role" in attributes) else ""


def is_call(span: OtelSpan) -> bool:
    return operation(span) in _CALLS


class _SpanContent(Struct, frozen=True):
    """The request's and the answer's items that attributes and events hold.

    `follows` is the id of the previous answer that the request names, `response` that of this answer ("": none).
    `skeleton` is that of the provider's own JSON of the request; None if it is not recorded or names no model.
    """

    request_items: tuple[Item, ...] = ()
    answer_items: tuple[Item, ...] = ()
    follows: str = ""
    response: str = ""
    skeleton: Skeleton | None = None


class ModelCall(Struct):
    """The spans of one call, the most detailed first; `content` is the content of that one."""

    spans: list[OtelSpan]
    content: _SpanContent = field(default_factory=_SpanContent)

    @property
    def span(self) -> OtelSpan:
        return self.spans[0]

    @property
    def attributes(self) -> Attributes:
        """The merged attributes of all spans; the most detailed one takes precedence."""
        merged: Attributes = {}
        for span in reversed(self.spans):
            merged |= {name: value for name, value in span.attributes.items() if value not in (None, "")}
        return merged


def merge_details(span: OtelSpan) -> None:
    """Copy the attributes and the body of a details event to the span, where it lacks them."""
    for event in span.events:
        if event.name == _DETAILS:
            attributes = {name: value for name, value in event.attributes.items() if name not in span.attributes}
            span.attributes |= {**{k: v for k, v in event.body.items() if k not in span.attributes}, **attributes}


def read_content(span: OtelSpan) -> _SpanContent:
    """Read the content of a span: the provider's own JSON if recorded, else by the conventions.

    Request, answer, and tools each come from the first convention that has them.
    """
    raw = _decode_raw_bodies(span.attributes)
    if raw is not None:
        return raw
    attributes = span.attributes
    request_items = messages.genai_messages(
        first_value(
            attributes,
            "gen_ai.input.messages",
            "langfuse.observation.input",
            "gen_ai.prompt",
            "pydantic_ai.all_messages",
        ),
        "user",
    )
    answer_items = messages.genai_messages(
        first_value(attributes, "gen_ai.output.messages", "langfuse.observation.output", "gen_ai.completion"),
        "assistant",
    )
    event_requests, answers = messages.event_items([*span.events, *_listed_events(attributes)])
    request_items = request_items or event_requests or messages.openinference_messages(attributes, "llm.input_messages")
    request_items = request_items or messages.openllmetry_messages(attributes, "gen_ai.prompt")
    answer_items = answer_items or answers or messages.openinference_messages(attributes, "llm.output_messages")
    answer_items = answer_items or messages.openllmetry_messages(attributes, "gen_ai.completion")
    tools = messages.tool_items(first_value(attributes, "gen_ai.tool.definitions", "gen_ai.request.tools"))
    tools = (
        tools
        or messages.openllmetry_tools(attributes)
        or messages.openinference_tools(attributes)
        or messages.tool_items(_parameter_tools(attributes))
    )
    system = messages.system_items(attributes.get("gen_ai.system_instructions"))
    # Their order is not recorded; this is the providers' order.
    return _SpanContent((*tools, *system, *request_items), tuple(answer_items))


def _decode_raw_bodies(attributes: Attributes) -> _SpanContent | None:
    """Decode the provider's own JSON in OpenInference; None if it is not there."""
    body, answer = decode_column(attributes.get("input.value")), decode_column(attributes.get("output.value"))
    if not isinstance(body, dict) or not _is_request(body):
        return None
    provider = first_text(attributes, "llm.provider", "llm.system", "gen_ai.provider.name").lower()
    url = "https://host/v1/messages" if provider == "anthropic" and "messages" in body else ""
    clean = {key: item for key, item in body.items() if item is not None}
    answer_body = canonical.dumps(answer) if isinstance(answer, dict) else b""
    try:
        decoded = decode(Exchange(canonical.dumps(clean), answer_body, url))
    except Malformed:
        return None
    if decoded is None:
        return None
    answered = decoded.response.items or tuple(messages.openinference_messages(attributes, "llm.output_messages"))
    follows = as_str(decoded.params.get("previous_response_id"))
    return _SpanContent(
        decoded.items, answered, follows, decoded.response.id, decoded.skeleton if decoded.model else None
    )


def _is_request(body: dict[str, Json]) -> bool:
    messages = body.get("messages")
    if isinstance(messages, list):
        return bool(messages) and all(isinstance(message, dict) and as_str(message.get("role")) for message in messages)
    request_input = body.get("input")
    return (
        "model" in body
        and bool(request_input)
        and (isinstance(request_input, str) or all(isinstance(i, dict) for i in as_list(request_input)))
    )


def _listed_events(attributes: Attributes) -> list[SpanEvent]:
    """Events stored in an attribute, as Logfire and Pydantic AI do."""
    listed = decode_column(first_value(attributes, "events", "all_messages_events"))
    events = [as_dict(event) for event in as_list(listed)]
    return [
        SpanEvent(as_str(event.get("event.name")), {}, event) for event in events if as_str(event.get("event.name"))
    ]


def _parameter_tools(attributes: Attributes) -> Json:
    """Tools in Pydantic AI's request parameters."""
    parameters = as_dict(decode_column(attributes.get("model_request_parameters")))
    definitions: list[Json] = []
    for tool in map(as_dict, as_list(parameters.get("function_tools"))):
        definition = {"name": tool.get("name"), "description": tool.get("description")}
        definitions.append({**definition, "input_schema": tool.get("parameters_json_schema")})
    return definitions


def decode_call(call: ModelCall) -> Decoded:
    """Return the context and the answer of `call`, without its times and parameters."""
    attributes, content = call.attributes, call.content
    model = first_text(attributes, "gen_ai.response.model", "llm.response.model_name", "llm.model_name",
                       "gen_ai.request.model", "llm.request.model_name", "model_name")  # fmt: skip
    stopped = first_text(attributes, "gen_ai.response.finish_reasons", "anthropic.message.stop_reason",
                         "llm.finish_reason",
                   "gen_ai.completion.0.finish_reason")  # fmt: skip
    id_ = response_id(call) or call.span.id
    used, failed = usage(attributes), error(call)
    response = Response(items=content.answer_items, usage=used, id=id_, model=model, stop_reason=stopped, error=failed)
    follows: dict[str, Json] = {"previous_response_id": content.follows} if content.follows else {}
    return Decoded("", content.request_items, model, follows, response, content.skeleton)


def base_call(call: ModelCall) -> Call:
    """Return the fields of `call` besides its content: provider, times, parameters."""
    attributes, span = call.attributes, call.span
    provider = first_text(attributes, "gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system").lower()
    began = min((span.started for span in call.spans if span.started is not None), default=None)
    waited = as_number(
        first_value(attributes, "gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token")
    )
    call_extra: dict[str, Json] = {
        key: attributes[name]
        for key in _PARAMETERS
        if (name := f"gen_ai.request.{key}") in attributes and attributes[name] is not None
    }
    call_extra |= {"span": span.name} if span.name else {}
    if attributes.get("llm.invocation_parameters") and not call_extra.keys() - {"span"}:
        call_extra["parameters"] = decode_column(attributes["llm.invocation_parameters"])
    fidelity = Fidelity.WIRE if call.content.skeleton is not None else Fidelity.TRANSCRIPT
    return Call(
        "",
        "",
        provider=_PROVIDERS.get(provider, provider),
        started=began,
        first_byte=began + waited if began is not None and waited and waited < 1e6 else None,
        ended=max((span.ended for span in call.spans if span.ended is not None), default=None),
        fidelity=fidelity if is_call(span) else Fidelity.TOTALS,
        line=span.line,
        extra=call_extra,
    )


def response_id(call: ModelCall) -> str:
    return first_text(call.attributes, "gen_ai.response.id", "llm.response.id") or call.content.response


def error(call: ModelCall) -> str:
    """Return the reason that a call failed; "" if it did not."""
    for span in call.spans:
        thrown = next((event for event in span.events if event.name == "exception"), None)
        message = first_text(thrown.attributes, "exception.message", "exception.type") if thrown else ""
        kind = first_text(span.attributes, "error.type")
        if span.failed or kind:
            return span.message or message or kind or "failed"
    return ""


def usage(attributes: Attributes) -> Usage | None:
    """Convert the usage of a call; input includes cached tokens, unless it is smaller."""
    input_tokens = first_count(attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens",
                               "llm.token_count.prompt", "llm.usage.prompt_tokens")  # fmt: skip
    output = first_count(attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens",
                         "llm.token_count.completion", "llm.usage.completion_tokens")  # fmt: skip
    if input_tokens is None and output is None:
        # An agent's total usage, as named by Pydantic AI.
        in_sum = {name: value for name, value in attributes.items() if name.startswith(_IN_SUM)}
        return (
            usage({name.replace(_IN_SUM, "gen_ai.usage."): value for name, value in in_sum.items()}) if in_sum else None
        )
    read = first_count(attributes, "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
                  "gen_ai.usage.details.cache_read_tokens", "gen_ai.usage.details.cache_read_input_tokens",
                  "llm.token_count.prompt_details.cache_read", "gen_ai.usage.input_tokens.cached",
                  "gen_ai.usage.prompt_tokens_details.cached_tokens")  # fmt: skip
    written = first_count(attributes, "gen_ai.usage.cache_creation.input_tokens",
                     "gen_ai.usage.cache_write.input_tokens",
                     "gen_ai.usage.cache_creation_input_tokens", "gen_ai.usage.details.cache_write_tokens",
                     "gen_ai.usage.details.cache_creation_input_tokens",
                     "llm.token_count.prompt_details.cache_write")  # fmt: skip
    thought = first_count(attributes, "gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens",
                     "gen_ai.usage.details.reasoning_tokens", "gen_ai.usage.details.thinking_tokens",
                     "llm.token_count.completion_details.reasoning")  # fmt: skip
    hour = min(first_count(attributes, "anthropic.usage.cache_creation.ephemeral_1h_input_tokens") or 0, written or 0)
    cached = (read or 0) + (written or 0)
    input_total = input_tokens or 0
    return Usage(
        fresh=input_total - cached if input_total >= cached else input_total,
        cache_read=read or 0,
        write_5m=(written or 0) - hour,
        write_1h=hour,
        output=output or 0,
        reasoning=min(thought or 0, output or 0),
        has_cache=read is not None or written is not None,
        cost=as_number(first_value(attributes, "llm.cost.total", "gen_ai.usage.cost", "operation.cost")),
    )


def group_spans(spans: Sequence[OtelSpan]) -> list[ModelCall]:
    """Group spans that record the same call.

    A client's own span and that of its instrumentation record one call if they have the same answer, or one contains
    the other.
    """
    calls: list[ModelCall] = []
    by_response: dict[tuple[str, str], ModelCall] = {}
    by_span: dict[str, ModelCall] = {}
    for span in spans:
        content = read_content(span)
        response = first_text(span.attributes, "gen_ai.response.id", "llm.response.id") or content.response
        call = by_response.get((span.trace, response)) if response else None
        call = call or by_span.get(span.parent) or _find_containing_call(calls, span, response)
        if call is None:
            call = ModelCall([span], content)
            calls.append(call)
        elif _content_size(content) > _content_size(call.content):
            call.spans.insert(0, span)
            call.content = content
        else:
            call.spans.append(span)
        by_span[span.id] = call
        if response:
            by_response[span.trace, response] = call
    return calls


def _find_containing_call(calls: Sequence[ModelCall], span: OtelSpan, response: str) -> ModelCall | None:
    """Find another library's call that contains a span, if neither names a response."""
    for call in reversed(calls[-4:]):
        call_span = call.span
        is_unrelated = call_span.trace != span.trace or call_span.parent != span.parent or call_span.scope == span.scope
        if (
            is_unrelated
            or response
            or response_id(call)
            or None in (call_span.started, call_span.ended, span.started, span.ended)
        ):
            continue
        if (call_span.started or 0) <= (span.started or 0) and (span.ended or 0) <= (call_span.ended or 0):
            return call
    return None


def _content_size(content: _SpanContent) -> int:
    return 2 * len(content.request_items) + len(content.answer_items)
