"""What OpenAI's Chat Completions API refuses, written from its types and reports alone (facts §4).

Independent of `curation.legality.legality` on purpose: what that lets through is held against this."""

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
    NUMBER,
    OBJECT,
    ROWS,
    STRING,
    TEXT,
    Fields,
    Path,
    ShapeFault,
    ShapeField,
    faults,
    members,
    needed,
    one_of,
    rows,
)
from ctxtui.offline.openai.models import Gpt, gpt
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
    spelled,
    temperature_refusals,
    unknown_choice,
    unsupported,
    worded,
    wrong_value,
)

ROLES: Final = ("system", "assistant", "user", "function", "tool", "developer")
_WORDS: Final = ShapeField((STRING, ARRAY))
_SAID: Final = {"role": needed(STRING), "content": _WORDS, "name": TEXT}
_ASSISTANT: Final = {
    "refusal": TEXT,
    "audio": MAP,
    "tool_calls": ROWS,
    "function_call": MAP,
    "annotations": ROWS,
    # What litellm keeps beside an answer goes back with it (facts §13.3).
    "provider_specific_fields": MAP,
}
_BY_ROLE: Final[dict[str, Fields]] = {
    "assistant": _SAID | _ASSISTANT,
    "tool": _SAID | {"tool_call_id": needed(STRING)},
}
_TYPE: Final = {"type": needed(STRING), "prompt_cache_breakpoint": MAP}
_PARTS: Final[dict[str, Fields]] = {
    "text": _TYPE | {"text": needed(STRING)},
    "image_url": _TYPE | {"image_url": needed(OBJECT)},
    "input_audio": _TYPE | {"input_audio": needed(OBJECT)},
    "file": _TYPE | {"file": needed(OBJECT)},
}
_SAID_PARTS: Final[dict[str, Fields]] = {
    "text": {"type": needed(STRING), "text": needed(STRING)},
    "refusal": {"type": needed(STRING), "refusal": needed(STRING)},
}
_CALL: Final[dict[str, Fields]] = {
    "function": {"id": needed(STRING), "type": needed(STRING), "function": needed(OBJECT)},
    "custom": {"id": needed(STRING), "type": needed(STRING), "custom": needed(OBJECT)},
}
_CALLED: Final[dict[str, Fields]] = {
    "function": {"name": needed(STRING), "arguments": needed(STRING)},
    "custom": {"name": needed(STRING), "input": needed(STRING)},
}


def message_refusals(message: Json, n: int, model: Gpt) -> Iterator[Refusal]:
    """What is wrong with message `n` by itself."""
    path: Path = ("messages", n)
    role = members(message).get("role")
    if isinstance(role, str) and role not in ROLES:
        yield wrong_value(role, ROLES, f"messages[{n}].role")
        return
    yield from object_refusals(message, _BY_ROLE.get(str(role), _SAID), path)
    if role in ("system", "developer") and not model.system_role:
        told = f"Unsupported value: 'messages[{n}].role' does not support '{role}' with this model."
        yield Refusal(told, param=f"messages[{n}].role", code="unsupported_value", rule="role")
    value = members(message)
    yield from _content(value, n)
    if role == "assistant":
        if value.get("tool_calls") == []:
            yield empty_array(f"messages[{n}].tool_calls")
        for m, call in enumerate(rows(value.get("tool_calls"))):
            yield from _call(call, (*path, "tool_calls", m))


def _content(message: Mapping[str, Json], n: int) -> Iterator[Refusal]:
    content, role = message.get("content"), message.get("role")
    silent = role == "assistant" and any(
        message.get(key) for key in ("tool_calls", "function_call", "refusal", "audio")
    )
    if content is None and not silent:
        told = "Invalid value for 'content': expected a string, got null."
        yield Refusal(told, param=f"messages.[{n}].content", rule="content required")
    elif content == [] and not silent:
        yield empty_array(f"messages[{n}].content")
    known = _SAID_PARTS if role == "assistant" else _PARTS
    for m, part in enumerate(rows(content)):
        yield from _part(part, ("messages", n, "content", m), known, str(role))


def _part(part: Json, path: Path, known: Mapping[str, Fields], role: str) -> Iterator[Refusal]:
    kind = members(part).get("type")
    if not isinstance(part, dict):
        yield worded(ShapeFault("type", path, ShapeField((OBJECT,)), part))
    elif kind == "image_url" and role != "user":
        told = f"Image URLs are only allowed for messages with role 'user', but this message with role '{role}'"
        where = spelled(path[:2])
        yield Refusal(
            f"Invalid '{where}'. {told} contains an image URL.", param=where, code="invalid_value", rule="image place"
        )
    elif not isinstance(kind, str) or kind not in known or (role not in ("user", "assistant") and kind != "text"):
        yield wrong_value(str(kind), tuple(known), f"{spelled(path)}.type")
    else:
        yield from object_refusals(part, known[kind], path)


def _call(call: Json, path: Path) -> Iterator[Refusal]:
    kind = members(call).get("type")
    if not isinstance(kind, str) or kind not in _CALL:
        if not isinstance(call, dict) or kind is None:
            yield worded(ShapeFault("missing", (*path, "type"), ShapeField(), None))
        else:
            yield wrong_value(str(kind), tuple(_CALL), f"{spelled(path)}.type")
        return
    yield from object_refusals(call, _CALL[kind], path)
    if kind in call:
        yield from object_refusals(call[kind], _CALLED[kind], (*path, kind))


def pair_refusals(messages: Sequence[Mapping[str, Json]]) -> Iterator[Refusal]:
    """Every call answered before anybody else speaks, every answer asked for."""
    asked: list[str] = []
    open_: list[str] = []
    for n, message in enumerate([*messages, {}]):
        if message.get("role") == "tool":
            yield from _answer(str(message.get("tool_call_id")), n, asked, open_)
            continue
        if open_:
            told = (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(open_)}"
            )
            yield Refusal(told, param=f"messages.[{n}].role", rule="call without result")
        asked = [str(members(call).get("id")) for call in rows(message.get("tool_calls"))]
        open_ = list(asked)


def _answer(id_: str, n: int, asked: list[str], open_: list[str]) -> Iterator[Refusal]:
    if not asked:
        told = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        yield Refusal(f"Invalid parameter: {told}", param=f"messages.[{n}].role", rule="result without call")
    elif id_ not in asked:
        told = f"Invalid parameter: 'tool_call_id' of '{id_}' not found in 'tool_calls' of previous message."
        yield Refusal(told, param=f"messages.[{n}].tool_call_id", rule="result without call")
    elif id_ not in open_:
        told = f"Invalid parameter: Duplicate value for 'tool_call_id' of '{id_}' in message[{n}]"
        yield Refusal(told, param=f"messages.[{n}].tool_call_id", rule="two results")
    else:
        open_.remove(id_)


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
