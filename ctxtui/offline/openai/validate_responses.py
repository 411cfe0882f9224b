"""What OpenAI's Responses API refuses, written from its types and reports alone (facts §4).

Independent of `curation.legality.legality` on purpose: what that lets through is held against this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import (
    ANY,
    ARRAY,
    FLAG,
    MAP,
    OBJECT,
    ROWS,
    STRING,
    TEXT,
    ShapeField,
    faults,
    needed,
    one_of,
    rows,
)
from ctxtui.offline.openai.models import Gpt, gpt
from ctxtui.offline.openai.validate_fields import (
    LOGPROBS,
    SHARE,
    TEMPERATURE,
    large_output,
    object_refusals,
    temperature_refusals,
    unsupported,
    worded,
)
from ctxtui.offline.openai.validate_items import item_refusals
from ctxtui.offline.openai.validate_order import order_refusals
from ctxtui.offline.openai.validate_tools import choice_refusals, offered, tool_refusals

_COUNTED: Final[dict[str, ShapeField]] = {
    "model": needed(STRING),
    "input": ShapeField((STRING, ARRAY)),
    "instructions": TEXT,
    "previous_response_id": TEXT,
    "conversation": ShapeField((STRING, OBJECT)),
    "tools": ROWS,
    "tool_choice": ShapeField((STRING, OBJECT)),
    "parallel_tool_calls": FLAG,
    "reasoning": MAP,
    "text": MAP,
    "truncation": one_of("auto", "disabled"),
    "personality": ANY,
}
_FIELDS: Final[dict[str, ShapeField]] = _COUNTED | {
    "include": ROWS,
    "store": FLAG,
    "stream": FLAG,
    "stream_options": MAP,
    "max_output_tokens": ShapeField(("integer",), at_least=16),
    "max_tool_calls": ShapeField(("integer",), at_least=1),
    "temperature": TEMPERATURE,
    "top_p": SHARE,
    "top_logprobs": LOGPROBS,
    "metadata": MAP,
    "client_metadata": MAP,
    "background": FLAG,
    "context_management": ROWS,
    "prompt": MAP,
    "prompt_cache_key": TEXT,
    "prompt_cache_options": MAP,
    "prompt_cache_retention": TEXT,
    "safety_identifier": TEXT,
    "service_tier": one_of("auto", "default", "flex", "scale", "priority", "fast"),
    "user": TEXT,
    "image": MAP,
    "moderation": ANY,
    "access_programs": MAP,
}
_FRAMED: Final[dict[str, ShapeField]] = {
    "type": needed(STRING, choices=("response.create",)),
    "generate": FLAG,
    "stream_id": TEXT,
}
"""What a frame says beside them."""
_EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_REASONING: Final = {
    "effort": one_of(*_EFFORTS),
    "summary": one_of("auto", "concise", "detailed"),
    "generate_summary": one_of("auto", "concise", "detailed"),
    "context": one_of("auto", "current_turn", "all_turns"),
    "mode": one_of("standard", "pro"),
}


def refusals(
    body: Json,
    *,
    before: Sequence[Mapping[str, Json]] | None = None,
    stored: Mapping[str, Mapping[str, Json]] | None = None,
    counting: bool = False,
    by_socket: bool = False,
) -> list[Refusal]:
    """Everything in `body`, a request's JSON value, that the API would refuse; empty where it takes it.

    What the server holds comes as arguments: `before` is what ``previous_response_id`` stands for (all earlier items;
    None: there is no such response), `stored` every item it knows by id (None: whatever a request refers to is taken
    to be known). `counting` means that it is a request for a count, `by_socket` that it is a WebSocket's frame. The
    provider says only the first refusal. Where the fields themselves are wrong, nothing further is looked at.
    """
    if not isinstance(body, dict):
        return [Refusal("We could not parse the JSON body of your request.", rule="no object")]
    fields = _COUNTED if counting else _FIELDS | _FRAMED if by_socket else _FIELDS
    found = [worded(fault) for fault in faults(body, fields)]
    if found:
        return found
    model = gpt(body["model"])
    if model is None:
        told = f"The requested model '{body['model']}' does not exist."
        return [Refusal(told, param="model", code="model_not_found", rule="unknown model")]
    earlier = body.get("previous_response_id") or body.get("conversation")
    items = items_of(body)
    found = list(_presence(body, items))
    found += [refusal for n, item in enumerate(items) for refusal in item_refusals(item, n)]
    if found:
        return found
    if body.get("previous_response_id") is not None and before is None and stored is not None:
        told = f"Previous response with id '{body['previous_response_id']}' not found."
        code = "previous_response_not_found"
        return [Refusal(told, param="previous_response_id", code=code, rule="previous response")]
    whole = not earlier or before is not None
    order = order_refusals([*(before or ()), *items], stored, len(before or ()), body.get("store") is not False, whole)
    return [*order, *_parameters(body, model), *_tools(body, [*(before or ()), *items])]


def items_of(body: Mapping[str, Json]) -> list[Json]:
    """The request's own input items; a string is one message of the user."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}] if given else []
    return rows(given)


def _presence(body: Mapping[str, Json], items: Sequence[Json]) -> Iterator[Refusal]:
    if body.get("previous_response_id") is not None and body.get("conversation") is not None:
        told = "Mutually exclusive parameters: Ensure you are only providing one of: 'previous_response_id' or "
        code = "mutually_exclusive_parameters"
        yield Refusal(f"{told}'conversation'.", code=code, rule="exclusive")
    if (
        not items
        and body.get("generate") is not False
        and not any(body.get(key) for key in ("previous_response_id", "conversation", "prompt"))
    ):
        told = "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided."
        code = "missing_required_parameter"
        yield Refusal(told, param="input", code=code, rule="no input")


def _parameters(body: Mapping[str, Json], model: Gpt) -> Iterator[Refusal]:
    if (large := large_output("max_output_tokens", body.get("max_output_tokens"), model.max_output)) is not None:
        yield large
    reasoning = body.get("reasoning")
    if isinstance(reasoning, dict):
        yield from object_refusals(reasoning, _REASONING, ("reasoning",))
        if reasoning.get("effort") is not None and not model.reasons:
            yield unsupported("reasoning.effort")
    yield from temperature_refusals(body, model.fixed)
    if body.get("stream_options") is not None and body.get("stream") is not True and "type" not in body:
        told = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        yield Refusal(told, param="stream_options", rule="stream options")
    if body.get("background") is True and body.get("store") is False:
        told = "Background mode requires 'store' to be true."
        yield Refusal(told, param="background", rule="background")


def _tools(body: Mapping[str, Json], items: Sequence[Json]) -> Iterator[Refusal]:
    for n, tool in enumerate(rows(body.get("tools"))):
        yield from tool_refusals(tool, ("tools", n))
    yield from choice_refusals(body.get("tool_choice"), offered(body, items))
