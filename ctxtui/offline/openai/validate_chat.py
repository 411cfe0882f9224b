"""What OpenAI's Chat Completions API refuses, written from its types and reports alone (facts §4).

Independent of `curation.legality.legality` on purpose: what that lets through is held against this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import (
    ANY,
    ARRAY,
    FLAG,
    MAP,
    NUMBER,
    OBJECT,
    ROWS,
    STRING,
    TEXT,
    ShapeField,
    faults,
    members,
    needed,
    one_of,
    rows,
)
from ctxtui.offline.openai.models import Gpt, gpt
from ctxtui.offline.openai.validate_chat_messages import message_refusals, pair_refusals
from ctxtui.offline.openai.validate_fields import (
    FUNCTION,
    LOGPROBS,
    MOST_CHOICES,
    SHARE,
    TEMPERATURE,
    called,
    empty_array,
    function_refusals,
    large_output,
    list_refusals,
    long_array,
    object_refusals,
    temperature_refusals,
    unknown_choice,
    unsupported,
    worded,
)

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_PENALTY: Final = ShapeField((NUMBER,), at_least=-2, at_most=2)
_TOKENS: Final = ShapeField(("integer",), at_least=1)
_FIELDS: Final[dict[str, ShapeField]] = {
    "model": needed(STRING),
    "messages": needed(ARRAY),
    "max_completion_tokens": _TOKENS,
    "max_tokens": _TOKENS,
    "tools": ROWS,
    "tool_choice": ShapeField((STRING, OBJECT)),
    "functions": ROWS,
    "function_call": ShapeField((STRING, OBJECT)),
    "parallel_tool_calls": FLAG,
    "response_format": MAP,
    "reasoning_effort": one_of(*EFFORTS),
    "verbosity": one_of("low", "medium", "high"),
    "stop": ShapeField((STRING, ARRAY)),
    "n": ShapeField(("integer",), at_least=1, at_most=MOST_CHOICES),
    "temperature": TEMPERATURE,
    "top_p": SHARE,
    "frequency_penalty": _PENALTY,
    "presence_penalty": _PENALTY,
    "logit_bias": MAP,
    "logprobs": FLAG,
    "top_logprobs": LOGPROBS,
    "seed": ShapeField(("integer",), at_least=-(2**63), at_most=2**63 - 1),
    "store": FLAG,
    "metadata": MAP,
    "service_tier": one_of("auto", "default", "flex", "scale", "priority", "fast"),
    "stream": FLAG,
    "stream_options": MAP,
    "prompt_cache_key": TEXT,
    "prompt_cache_options": MAP,
    "prompt_cache_retention": TEXT,
    "safety_identifier": TEXT,
    "user": TEXT,
    "prediction": MAP,
    "modalities": ROWS,
    "moderation": ANY,
    "audio": MAP,
    "web_search_options": MAP,
}
_CHOICES: Final = ("none", "auto", "required")
_STOPS: Final = 4


def refusals(body: Json) -> list[Refusal]:
    """Everything in `body`, a request's JSON value, that the API would refuse; empty where it takes it. The provider
    says only the first one. Where the fields themselves are wrong, nothing further is looked at."""
    if not isinstance(body, dict):
        return [Refusal("We could not parse the JSON body of your request.", rule="no object")]
    if body.get("model") is None:
        return [Refusal("you must provide a model parameter", rule="no model")]
    found = [worded(fault) for fault in faults(body, _FIELDS)]
    if found:
        return found
    model = gpt(body["model"])
    if model is None:
        told = f"The model `{body['model']}` does not exist or you do not have access to it."
        return [Refusal(told, 404, code="model_not_found", rule="unknown model")]
    messages = body["messages"]
    if not messages:
        return [empty_array("messages")]
    found = [refusal for n, message in enumerate(messages) for refusal in message_refusals(message, n, model)]
    if found:
        return found
    return [*pair_refusals(messages), *_parameters(body, model), *_tools(body)]


def _parameters(body: Mapping[str, Json], model: Gpt) -> Iterator[Refusal]:
    for key in ("max_tokens", "max_completion_tokens"):
        if (large := large_output(key, body.get(key), model.max_output)) is not None:
            yield large
    if body.get("max_tokens") is not None:
        if model.reasons:
            yield unsupported("max_tokens", "max_completion_tokens")
        elif body.get("max_completion_tokens") is not None:
            told = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
            yield Refusal(told, code="invalid_parameter_combination", rule="max_tokens")
    if body.get("reasoning_effort") is not None and not model.reasons:
        told = "Unrecognized request argument supplied: reasoning_effort"
        yield Refusal(told, rule="unsupported parameter")
    yield from temperature_refusals(body, model.fixed)
    stop = body.get("stop")
    if isinstance(stop, list) and len(stop) > _STOPS:
        yield long_array("stop", _STOPS, len(stop))
    if body.get("stream_options") is not None and body.get("stream") is not True:
        told = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        yield Refusal(told, param="stream_options", rule="stream options")
    if body.get("web_search_options") is not None and "search" not in model.id:
        told = "Web search options not supported with this model."
        yield Refusal(told, param="web_search_options", rule="web search")


def _tools(body: Mapping[str, Json]) -> Iterator[Refusal]:
    yield from list_refusals(body)
    for n, tool in enumerate(rows(body.get("tools"))):
        kind = members(tool).get("type")
        inner = {"function": needed(OBJECT)} if kind == "function" else {"custom": needed(OBJECT)}
        fields = {"type": ShapeField((STRING,), required=True, null=False, choices=("function", "custom"))}
        yield from object_refusals(tool, fields | inner, ("tools", n))
        if isinstance(members(tool).get("function"), dict):
            yield from object_refusals(tool["function"], FUNCTION, ("tools", n, "function"))
            yield from function_refusals(tool["function"], ("tools", n, "function"), f"tools[{n}].function.parameters")
    choice = body.get("tool_choice")
    if isinstance(choice, str) and choice not in _CHOICES:
        told = f"Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'."
        yield Refusal(told, param="tool_choice", code="invalid_value", rule="invalid value")
    elif isinstance(choice, dict) and choice.get("type") == "function":
        yield from unknown_choice(called(choice).get("name"), [called(t).get("name") for t in rows(body.get("tools"))])
