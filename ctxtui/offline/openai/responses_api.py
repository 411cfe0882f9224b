"""The Responses API of the offline provider (facts §4), with stored responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.cache.outcome import CacheOutcome
from ctxtui.core import canonical
from ctxtui.core.block import from_part
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.answer import LENGTH, ModelAnswer, PlainText, Thought, limit_answer
from ctxtui.offline.conversation import Task, find_namespace, read_task
from ctxtui.offline.exchange import ApiRequest, Refusal, Reply, StoredResponse, named_event, named_events, split_text
from ctxtui.offline.model import AnswerOptions, summarize
from ctxtui.offline.openai.cipher import decrypt, encrypt
from ctxtui.offline.openai.models import Gpt, gpt
from ctxtui.offline.openai.validate_responses import items_of, kind_of, refusals
from ctxtui.offline.provider import Provider
from ctxtui.offline.usage_ledger import WeighedRequest, output_tokens, text_counter
from ctxtui.wire.grammar import RESPONSES

Event = dict[str, Json]


def events(response: dict[str, Json]) -> Iterator[Event]:
    """The numbered events that stream `response`."""
    for number, event in enumerate(_unnumbered_events(response)):
        yield {**event, "sequence_number": number}


def _unnumbered_events(response: dict[str, Json]) -> Iterator[Event]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        position = {"output_index": index}
        yield {"type": "response.output_item.added", **position, "item": _started_item(item)}
        yield from _item_events(item, {**position, "item_id": item["id"]})
        yield {"type": "response.output_item.done", **position, "item": item}
    last = "response.incomplete" if response["status"] == "incomplete" else "response.completed"
    yield {"type": last, "response": response}


def _started_item(item: Event) -> Event:
    empty: dict[str, Event] = {
        "message": {"content": [], "status": "in_progress"},
        "function_call": {"arguments": "", "status": "in_progress"},
        "custom_tool_call": {"input": "", "status": "in_progress"},
        "reasoning": {"summary": []},
        "compaction": {},
    }
    return {**item, **empty[item["type"]]}


_CALL_EVENTS: Final = {
    "function_call": ("response.function_call_arguments", "arguments", ("name", "arguments")),
    "custom_tool_call": ("response.custom_tool_call_input", "input", ("input",)),
}
"""For the input of a call: names of events and members, by the item's type."""
_PART_EVENTS: Final[dict[str, tuple[str, str, str, str, Event]]] = {
    "reasoning": ("summary", "summary_index", "reasoning_summary_part", "reasoning_summary_text", {}),
    "message": ("content", "content_index", "content_part", "output_text", {"logprobs": []}),
}
"""By an item's type: its list of parts, the index in it, names of events, and further members of an event."""


def _item_events(item: Event, position: Event) -> Iterator[Event]:
    if item["type"] in _CALL_EVENTS:
        name, arguments_key, done = _CALL_EVENTS[item["type"]]
        yield from ({"type": f"{name}.delta", **position, "delta": piece} for piece in split_text(item[arguments_key]))
        yield {"type": f"{name}.done", **position, **{key: item[key] for key in done}}
    elif item["type"] in _PART_EVENTS:
        parts_key, index, outer, inner, more = _PART_EVENTS[item["type"]]
        for n, part in enumerate(item[parts_key]):
            place = {**position, index: n}
            yield {"type": f"response.{outer}.added", **place, "part": {**part, "text": ""}}
            for piece in split_text(part["text"]):
                yield {"type": f"response.{inner}.delta", **place, "delta": piece, **more}
            yield {"type": f"response.{inner}.done", **place, "text": part["text"], **more}
            yield {"type": f"response.{outer}.done", **place, "part": part}


def read_input(provider: Provider, request: ApiRequest, model: Gpt) -> tuple[WeighedRequest, list[Json]]:
    """The request as `model` reads it, and the report ``input_transformations``.

    Older models do not read the reasoning of earlier turns: it is removed and listed in the report. With automatic
    truncation, the oldest items of a request that is too long are also removed, but not reported.
    """
    previous = previous_response(provider, request)
    items = [
        provider.items.get(str(item.get("id")), item) if kind_of(item) == "item_reference" else item
        for item in [*(previous.items if previous else ()), *items_of(request.body)]
    ]
    items, removed = (items, []) if model.all_turns else _without_old_reasoning(items)
    weighed = _weigh_items(provider, request, items)
    while request.body.get("truncation") == "auto" and weighed.tokens > model.window and len(items) > 1:
        items = _drop_oldest(items)
        weighed = _weigh_items(provider, request, items)
    return weighed, removed


def previous_response(provider: Provider, request: ApiRequest) -> StoredResponse | None:
    """The stored response that the request continues; None if there is none.

    Responses are stored for all requests, or for those on the same WebSocket.
    """
    id_ = str(request.body.get("previous_response_id"))
    return (request.socket_responses or {}).get(id_) or provider.responses.get(id_)


def _weigh_items(provider: Provider, request: ApiRequest, items: Sequence[Json]) -> WeighedRequest:
    raw = request.raw
    if items != request.body.get("input"):
        raw = canonical.dumps({**request.body, "input": list(items)})
    return provider.ledger.weigh(RESPONSES, raw, request.model)


def _without_old_reasoning(items: list[dict[str, Json]]) -> tuple[list[dict[str, Json]], list[Json]]:
    """Remove the reasoning before the last user message; also returns the report on it."""
    last = max((n for n, item in enumerate(items) if item.get("role") == "user"), default=0)
    removed = [item for item in items[:last] if kind_of(item) == "reasoning"]
    report = [
        {"id": item.get("id") or "", "type": "reasoning", "action": "removed", "reason": "turn_boundary"}
        for item in removed
    ]
    return [item for n, item in enumerate(items) if n >= last or kind_of(item) != "reasoning"], report


def _drop_oldest(items: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Remove the oldest item, and the output of its call."""
    first, later_items = items[0], items[1:]
    id_ = first.get("call_id")
    return [item for item in later_items if id_ is None or item.get("call_id") != id_]


_ECHOED: Final[dict[str, Json]] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "safety_identifier": None,
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
"""Parameters that a response repeats, with their defaults."""
_CALL_ITEMS: Final = ("function_call", "custom_tool_call")
"""Types of output items that are one block each."""
_TRIGGER: Final = "compaction_trigger"
"""The last item of a request for compaction instead of an answer (facts §13.2)."""

_BROKEN: Final = {
    "type": "error",
    "sequence_number": 0,
    "code": "server_error",
    "message": "The server had an error while processing your request.",
    "param": None,
}


def find_refusals(provider: Provider, request: ApiRequest, counting: bool = False) -> list[Refusal]:
    """The reasons to refuse the request, except that it is too long."""
    previous = previous_response(provider, request)
    if request.body.get("conversation") is not None:
        conversation = request.body["conversation"]
        message = f"Conversation with id '{as_dict(conversation).get('id') or conversation}' not found."
        return [Refusal(message, 404, param="conversation", rule="conversation")]
    return refusals(
        request.body,
        before=previous.items if previous else None,
        stored=provider.items,
        counting=counting,
        by_socket=request.socket_responses is not None,
        strict=provider.strict_models,
    )


def count_tokens(provider: Provider, request: ApiRequest) -> Reply | Refusal:
    weighed, _ = read_input(provider, request, _model_rules(provider, request))
    return Reply(body={"object": "response.input_tokens", "input_tokens": weighed.tokens})


def create_response(provider: Provider, request: ApiRequest) -> Reply | Refusal:
    """Answer a request, or compact its conversation; a refusal if it is too long."""
    model = _model_rules(provider, request)
    weighed, removed = read_input(provider, request, model)
    if weighed.tokens > model.window:
        message = "Your input exceeds the context window of this model. Please adjust your input and try again."
        return Refusal(message, param="input", code="context_length_exceeded", rule="context window")
    now = provider.now()
    if request.body.get("generate") is False:
        return _empty_reply(provider, request, now)
    outcome = provider.ledger.predict(weighed, request.model, now, provider="openai")
    task = read_task(weighed.request)
    if as_dict(request.body.get("prompt_cache_options")).get("prewarm") is True:
        answer, output = ModelAnswer(()), []
    elif any(as_dict(item).get("type") == _TRIGGER for item in as_list(request.body.get("input"))[-1:]):
        # Only the provider reads the item that replaces the conversation from here on.
        compacted = {"type": "compaction", "encrypted_content": encrypt(summarize(task, with_task=True))}
        answer, output = ModelAnswer(()), [{"id": provider.names.new("cmp_"), **compacted}]
    else:
        answer = _make_answer(provider, request, weighed, task, model)
        output = list(_output_items(provider, request, answer, task))
    response = _make_response(provider, request, now, answer, output)
    response["usage"] = usage = _make_usage(request, outcome, answer, output)
    if removed:
        response["input_transformations"] = removed
    _store_response(provider, request, response)
    provider.limits.count_request(now, usage["input_tokens"], usage["output_tokens"])
    return Reply(
        body=response,
        events=named_events(events(response)) if request.streams else None,
        headers=provider.limits.openai_headers(now),
        begin=lambda: provider.ledger.record(outcome, provider.now()),
        output_tokens=usage["output_tokens"],
        failure_event=named_event("error", _BROKEN),
    )


def _empty_reply(provider: Provider, request: ApiRequest, now: float) -> Reply:
    """The reply to a request with generation disabled: a response to continue, without usage."""
    response = _make_response(provider, request, now, ModelAnswer(()), [])
    counts = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    response["usage"] = counts | details
    _store_response(provider, request, response)
    return Reply(body=response, events=named_events(events(response)), headers=provider.limits.openai_headers(now))


def _model_rules(provider: Provider, request: ApiRequest) -> Gpt:
    model = gpt(request.model, provider.strict_models)
    assert model is not None
    return model


def _make_answer(
    provider: Provider, request: ApiRequest, weighed: WeighedRequest, task: Task, model: Gpt
) -> ModelAnswer:
    max_tokens = min(int(request.body.get("max_output_tokens") or model.max_output), model.window - weighed.tokens)
    answer = provider.make_answer(weighed.request, task, _answer_options(request, model))
    return limit_answer(answer, (), max_tokens, text_counter(request.model))


def _answer_options(request: ApiRequest, model: Gpt) -> AnswerOptions:
    body, choice = request.body, request.body.get("tool_choice")
    form = as_dict(as_dict(body.get("text")).get("format"))
    return AnswerOptions(
        forced_tool="*" if choice == "required" else str(as_dict(choice).get("name") or ""),
        may_call=choice != "none",
        parallel=body.get("parallel_tool_calls") is not False,
        thinks=model.reasons and as_dict(body.get("reasoning")).get("effort") != "none",
        schema=form.get("schema") or ({"type": "object"} if form.get("type") == "json_object" else None),
        model=request.model,
    )


def _output_items(
    provider: Provider, request: ApiRequest, answer: ModelAnswer, task: Task
) -> Iterator[dict[str, Json]]:
    has_summary = as_dict(request.body.get("reasoning")).get("summary")
    status = "incomplete" if answer.ended == LENGTH else "completed"
    for part in answer.parts:
        if isinstance(part, Thought):
            fields: dict[str, Json] = {"summary": [{"type": "summary_text", "text": part.text}] if has_summary else []}
            fields["encrypted_content"] = encrypt(part.text)
            yield {"id": provider.names.new("rs_"), "type": "reasoning", **fields}
        elif isinstance(part, PlainText):
            content = [{"type": "output_text", "annotations": [], "logprobs": [], "text": part.text}]
            fields = {"status": status, "role": "assistant", "content": content}
            yield {"id": provider.names.new("msg_"), "type": "message", **fields}
        else:
            namespace, free = find_namespace(part, task.tools)
            kind, id_, arguments_key = (
                ("custom_tool_call", "ctc_", "input") if free else ("function_call", "fc_", "arguments")
            )
            call: dict[str, Json] = {"call_id": provider.names.new("call_"), "name": part.name}
            call |= {"namespace": namespace} if namespace else {}
            call[arguments_key] = part.arguments_text if free else canonical.dump_text(part.arguments)
            yield {"id": provider.names.new(id_), "type": kind, "status": "completed", **call}


def _make_response(
    provider: Provider, request: ApiRequest, now: float, answer: ModelAnswer, output: list[dict[str, Json]]
) -> dict[str, Json]:
    echoed = {
        key: request.body.get(key) if request.body.get(key) is not None else default for key, default in _ECHOED.items()
    }
    cut = answer.ended == LENGTH
    return {
        "id": provider.names.new("resp_"),
        "object": "response",
        "created_at": int(now),
        "status": "incomplete" if cut else "completed",
        "background": False,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "model": request.model,
        "output": output,
        "reasoning": {"effort": None, "summary": None, **as_dict(request.body.get("reasoning"))},
        "service_tier": "default",
        **echoed,
        "text": {**_ECHOED["text"], **as_dict(request.body.get("text"))},
    }


def _make_usage(
    request: ApiRequest, outcome: CacheOutcome, answer: ModelAnswer, output: list[dict[str, Json]]
) -> dict[str, Json]:
    count = text_counter(request.model)
    reasoning = sum(count(part.text) for part in answer.parts if isinstance(part, Thought))
    summary_tokens = sum(count(decrypt(item["encrypted_content"])) for item in output if item["type"] == "compaction")
    blocks = [from_part(part) for item in output for part in as_list(item.get("content"))]
    blocks += [from_part(item) for item in output if item["type"] in _CALL_ITEMS]
    output_count = reasoning + (summary_tokens or output_tokens(request.model, blocks))
    writes = dict(outcome.writes)
    details: dict[str, Json] = {"cached_tokens": outcome.read, "cache_write_tokens": outcome.written}
    if outcome.written:
        split = {"ttl_30m_tokens": writes.get(1800.0, 0), "ttl_12h_tokens": writes.get(43200.0, 0)}
        details["cache_write_tokens_details"] = split
    return {
        "input_tokens": outcome.total,
        "input_tokens_details": details,
        "output_tokens": output_count,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": outcome.total + output_count,
    }


def _store_response(provider: Provider, request: ApiRequest, response: dict[str, Json]) -> None:
    earlier = previous_response(provider, request)
    items = [*(earlier.items if earlier else ()), *items_of(request.body), *response["output"]]
    stored = StoredResponse(items, response, len(request.raw))
    if request.socket_responses is not None:
        request.socket_responses[response["id"]] = stored
    if request.body.get("store") is not False:
        provider.store_response(response["id"], stored)
