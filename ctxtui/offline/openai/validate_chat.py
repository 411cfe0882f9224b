"""Validates requests as OpenAI's Chat Completions API does (facts §4).

It is written from the API's types and reports, and deliberately independent of `curation.legality.legality`: tests
compare the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import Fields, Path, ShapeFault, ShapeField, fields, find_faults
from ctxtui.offline.openai.models import Gpt, gpt
from ctxtui.offline.openai.validate_fields import (
    EFFORTS,
    FUNCTION,
    SHARED_FIELDS,
    choice_refusals,
    format_path,
    function_refusals,
    invalid,
    large_output,
    object_refusals,
    refusal_of_fault,
    sampling_refusals,
    stream_refusals,
    unsupported,
    wrong_value,
)

MAX_CHOICES: Final = 128
ROLES: Final = ("system", "assistant", "user", "function", "tool", "developer")
_MESSAGE_FIELDS: Final = fields("role! string, content string|array, name string")
_BY_ROLE: Final[dict[str, Fields]] = {
    # The last field: litellm resends its own data with an answer (facts §13.3).
    "assistant": _MESSAGE_FIELDS
    | fields(
        "refusal string, audio object, tool_calls array, function_call object, annotations array, "
        "provider_specific_fields object"
    ),
    "tool": _MESSAGE_FIELDS | fields("tool_call_id! string"),
}
_PARTS: Final[dict[str, Fields]] = {
    name: fields(f"type! string, prompt_cache_breakpoint object, {name}! {kind}")
    for name, kind in {"text": "string", "image_url": "object", "input_audio": "object", "file": "object"}.items()
}
_ASSISTANT_PARTS: Final[dict[str, Fields]] = {
    "text": fields("type! string, text! string"),
    "refusal": fields("type! string, refusal! string"),
}
_CALL: Final[dict[str, Fields]] = {
    name: fields(f"id! string, type! string, {name}! object") for name in ("function", "custom")
}
_CALLED: Final[dict[str, Fields]] = {
    "function": fields("name! string, arguments! string"),
    "custom": fields("name! string, input! string"),
}


def message_refusals(message: Json, n: int, model: Gpt) -> Iterator[Refusal]:
    """Refusals of message `n` by itself."""
    path: Path = ("messages", n)
    role = as_dict(message).get("role")
    if isinstance(role, str) and role not in ROLES:
        yield wrong_value(role, ROLES, f"messages[{n}].role")
        return
    yield from object_refusals(message, _BY_ROLE.get(str(role), _MESSAGE_FIELDS), path)
    if role in ("system", "developer") and not model.system_role:
        reason = f"Unsupported value: 'messages[{n}].role' does not support '{role}' with this model."
        yield Refusal(reason, param=f"messages[{n}].role", code="unsupported_value", rule="role")
    value = as_dict(message)
    yield from _content_refusals(value, n)
    if role == "assistant":
        if value.get("tool_calls") == []:
            yield _empty_array(f"messages[{n}].tool_calls")
        for m, call in enumerate(as_list(value.get("tool_calls"))):
            yield from _call_refusals(call, (*path, "tool_calls", m))


def _content_refusals(message: Mapping[str, Json], n: int) -> Iterator[Refusal]:
    content, role = message.get("content"), message.get("role")
    needs_no_content = role == "assistant" and any(
        message.get(key) for key in ("tool_calls", "function_call", "refusal", "audio")
    )
    if content is None and not needs_no_content:
        reason = "Invalid value for 'content': expected a string, got null."
        yield Refusal(reason, param=f"messages.[{n}].content", rule="content required")
    elif content == [] and not needs_no_content:
        yield _empty_array(f"messages[{n}].content")
    known_parts = _ASSISTANT_PARTS if role == "assistant" else _PARTS
    for m, part in enumerate(as_list(content)):
        yield from _part_refusals(part, ("messages", n, "content", m), known_parts, str(role))


def _part_refusals(part: Json, path: Path, known_parts: Mapping[str, Fields], role: str) -> Iterator[Refusal]:
    kind = as_dict(part).get("type")
    if not isinstance(part, dict):
        yield refusal_of_fault(ShapeFault("type", path, ShapeField(("object",)), part))
    elif kind == "image_url" and role != "user":
        message = f"Image URLs are only allowed for messages with role 'user', but this message with role '{role}'"
        yield invalid(format_path(path[:2]), f"{message} contains an image URL.", rule="image place")
    elif not isinstance(kind, str) or kind not in known_parts or (role not in ("user", "assistant") and kind != "text"):
        yield wrong_value(str(kind), tuple(known_parts), f"{format_path(path)}.type")
    else:
        yield from object_refusals(part, known_parts[kind], path)


def _call_refusals(call: Json, path: Path) -> Iterator[Refusal]:
    kind = as_dict(call).get("type")
    if not isinstance(kind, str) or kind not in _CALL:
        if not isinstance(call, dict) or kind is None:
            yield refusal_of_fault(ShapeFault("missing", (*path, "type"), ShapeField(), None))
        else:
            yield wrong_value(str(kind), tuple(_CALL), f"{format_path(path)}.type")
        return
    yield from object_refusals(call, _CALL[kind], path)
    if kind in call:
        yield from object_refusals(call[kind], _CALLED[kind], (*path, kind))


def pair_refusals(messages: Sequence[Mapping[str, Json]]) -> Iterator[Refusal]:
    """Refuse calls that are not answered before the next message, and answers without a call."""
    call_ids: list[str] = []
    open_ids: list[str] = []
    for n, message in enumerate([*messages, {}]):
        if message.get("role") == "tool":
            yield from _answer_refusals(str(message.get("tool_call_id")), n, call_ids, open_ids)
            continue
        if open_ids:
            reason = (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(open_ids)}"
            )
            yield Refusal(reason, param=f"messages.[{n}].role", rule="call without result")
        call_ids = [str(as_dict(call).get("id")) for call in as_list(message.get("tool_calls"))]
        open_ids = list(call_ids)


def _answer_refusals(id_: str, n: int, call_ids: list[str], open_ids: list[str]) -> Iterator[Refusal]:
    if not call_ids:
        message = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        yield Refusal(f"Invalid parameter: {message}", param=f"messages.[{n}].role", rule="result without call")
    elif id_ not in call_ids:
        message = f"Invalid parameter: 'tool_call_id' of '{id_}' not found in 'tool_calls' of previous message."
        yield Refusal(message, param=f"messages.[{n}].tool_call_id", rule="result without call")
    elif id_ not in open_ids:
        message = f"Invalid parameter: Duplicate value for 'tool_call_id' of '{id_}' in message[{n}]"
        yield Refusal(message, param=f"messages.[{n}].tool_call_id", rule="two results")
    else:
        open_ids.remove(id_)


_FIELDS: Final = (
    fields(
        "model! string, messages! array, max_completion_tokens integer >=1, max_tokens integer >=1, tools array, "
        "tool_choice string|object, functions array, function_call string|object, parallel_tool_calls boolean, "
        f"response_format object, reasoning_effort ={EFFORTS}, verbosity =low|medium|high, stop string|array, "
        f"n integer >=1 <={MAX_CHOICES}, frequency_penalty number >=-2 <=2, presence_penalty number >=-2 <=2, "
        f"logit_bias object, logprobs boolean, seed integer >={-(2**63)} <={2**63 - 1}, store boolean, stream boolean, "
        "stream_options object, prediction object, modalities array, audio object, web_search_options object"
    )
    | SHARED_FIELDS
)
_MAX_STOPS: Final = 4
_MAX_TOOLS: Final = 128


def refusals(body: Json, *, strict: bool = True) -> list[Refusal]:
    """All reasons to refuse `body`, a request's JSON value; empty if it is valid.

    The provider reports only the first reason of the list. If fields are wrong, nothing else is checked. Without
    `strict` any model and any ``max_tokens`` are accepted.
    """
    if not isinstance(body, dict):
        return [Refusal("We could not parse the JSON body of your request.", rule="no object")]
    if body.get("model") is None:
        return [Refusal("you must provide a model parameter", rule="no model")]
    errors = [refusal_of_fault(fault) for fault in find_faults(body, _FIELDS)]
    if errors:
        return errors
    model = gpt(body["model"], strict)
    if model is None:
        reason = f"The model `{body['model']}` does not exist or you do not have access to it."
        return [Refusal(reason, 404, code="model_not_found", rule="unknown model")]
    messages = body["messages"]
    if not messages:
        return [_empty_array("messages")]
    errors = [refusal for n, message in enumerate(messages) for refusal in message_refusals(message, n, model)]
    if errors:
        return errors
    return [*pair_refusals(messages), *_parameter_refusals(body, model), *_tool_refusals(body)]


def _parameter_refusals(body: Mapping[str, Json], model: Gpt) -> Iterator[Refusal]:
    for key in ("max_tokens", "max_completion_tokens"):
        yield from large_output(key, body.get(key), model.max_output)
    if body.get("max_tokens") is not None:
        if not model.max_tokens:
            yield unsupported("max_tokens", "max_completion_tokens")
        elif body.get("max_completion_tokens") is not None:
            message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
            yield Refusal(message, code="invalid_parameter_combination", rule="max_tokens")
    if body.get("reasoning_effort") is not None and not model.reasons:
        message = "Unrecognized request argument supplied: reasoning_effort"
        yield Refusal(message, rule="unsupported parameter")
    yield from sampling_refusals(body, model.fixed)
    stop = body.get("stop")
    if isinstance(stop, list) and len(stop) > _MAX_STOPS:
        yield _long_array("stop", _MAX_STOPS, len(stop))
    yield from stream_refusals(body)
    if body.get("web_search_options") is not None and "search" not in model.id:
        message = "Web search options not supported with this model."
        yield Refusal(message, param="web_search_options", rule="web search")


def _tool_refusals(body: Mapping[str, Json]) -> Iterator[Refusal]:
    yield from _tool_list_refusals(body)
    for n, tool in enumerate(as_list(body.get("tools"))):
        kind = as_dict(tool).get("type")
        named = "function" if kind == "function" else "custom"
        yield from object_refusals(tool, fields(f"type! =function|custom, {named}! object"), ("tools", n))
        if isinstance(as_dict(tool).get("function"), dict):
            yield from object_refusals(tool["function"], FUNCTION, ("tools", n, "function"))
            yield from function_refusals(tool["function"], ("tools", n, "function"), f"tools[{n}].function.parameters")
    choice = body.get("tool_choice")
    name = _function_of(choice).get("name") if as_dict(choice).get("type") == "function" else None
    yield from choice_refusals(choice, name, [_function_of(tool).get("name") for tool in as_list(body.get("tools"))])


def _tool_list_refusals(body: Mapping[str, Json]) -> Iterator[Refusal]:
    """Refusals of the list of tools, and of settings that need one."""
    tools = body.get("tools")
    if tools == []:
        yield _empty_array("tools")
    elif isinstance(tools, list) and len(tools) > _MAX_TOOLS:
        yield _long_array("tools", _MAX_TOOLS, len(tools))
    if not as_list(tools):
        for key in ("tool_choice", "parallel_tool_calls"):
            if body.get(key) is not None and body.get(key) != "none":
                message = f"'{key}' is only allowed when 'tools' are specified."
                yield Refusal(message, param=key, rule="no tools")


def _function_of(value: Json) -> Mapping[str, Json]:
    """The member ``function`` of a Chat tool or choice; empty without one."""
    return as_dict(as_dict(value).get("function"))


def _empty_array(where: str) -> Refusal:
    message = "empty array. Expected an array with minimum length 1, but got an empty array instead."
    return invalid(where, message, "empty_array")


def _long_array(where: str, maximum: int, length: int) -> Refusal:
    message = f"array too long. Expected an array with maximum length {maximum}, but got an array with length {length}"
    return invalid(where, f"{message} instead.", "array_above_max_length", "array too long")
