"""Validates requests as Google's generateContent does.

It is written from Google's types and answers, deliberately independent of `curation.legality.google`: tests compare the
two.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.google.models import Gemini
from ctxtui.offline.json_shape import Fields, Path, fields, find_faults

_CONFIG: Final = fields(
    "stopSequences array, candidateCount integer >=1 <=8, maxOutputTokens integer >=1, temperature number >=0 <=2, "
    "topP number >=0 <=1, topK number >=0, seed integer, presencePenalty number, frequencyPenalty number, "
    "responseMimeType string, responseSchema object, responseJsonSchema, responseFormat object, "
    "responseModalities array, responseLogprobs boolean, logprobs integer, speechConfig object, thinkingConfig object, "
    "mediaResolution string, imageConfig object, enableEnhancedCivicAnswers boolean, audioTimestamp boolean, "
    "routingConfig object, modelSelectionConfig object"
)
_THINKING: Final = fields("includeThoughts boolean, thinkingBudget integer >=-1, thinkingLevel string")
_BODY: Final = fields(
    "model string, contents array|object, tools array|object, toolConfig object, safetySettings array, "
    "systemInstruction object, generationConfig object, cachedContent string, labels object, serviceTier string, "
    "store boolean"
)
CACHED: Final = fields(
    "model! string, contents array|object, tools array|object, toolConfig object, systemInstruction object, "
    "displayName string, name string, ttl string, expireTime string, kmsKeyName string"
)
_CONTENT: Final = fields("role string, parts array|object")
_DATA: Final = {
    "text": "string", "inlineData": "object", "fileData": "object", "functionCall": "object",
    "functionResponse": "object", "executableCode": "object", "codeExecutionResult": "object", "toolCall": "object",
    "toolResponse": "object",
}  # fmt: skip
"""Members that hold a part's data, with their types; exactly one of them must be set."""
_PART: Final = fields(
    "thought boolean, thoughtSignature string, videoMetadata object, partMetadata object, mediaResolution object, "
    + ", ".join(f"{name} {kind}" for name, kind in _DATA.items())
)
_INSIDE: Final[dict[str, Fields]] = {
    "inlineData": fields("mimeType! string, data! string, displayName string"),
    "fileData": fields("mimeType string, fileUri! string, displayName string"),
    "functionCall": fields("id string, name! string, args object, partialArgs array, willContinue boolean"),
    "functionResponse": fields(
        "id string, name! string, response! object, parts array, willContinue boolean, scheduling string"
    ),
}
_TOOL: Final = fields(
    "functionDeclarations array, googleSearch object, googleSearchRetrieval object, codeExecution object, "
    "urlContext object, computerUse object, fileSearch object, mcpServers array, googleMaps object, "
    "enterpriseWebSearch object, retrieval object"
)
_DECLARATION: Final = fields(
    "name! string, description string, parameters object, parametersJsonSchema, response object, responseJsonSchema, "
    "behavior string"
)
_CHOICE: Final = fields(
    "mode =MODE_UNSPECIFIED|AUTO|ANY|NONE|VALIDATED, allowedFunctionNames array, streamFunctionCallArguments boolean"
)
_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_TYPES: Final = {
    "string": "TYPE_STRING", "integer": "TYPE_INT32", "number": "TYPE_FLOAT", "boolean": "TYPE_BOOL",
    "object": "TYPE_MESSAGE", "array": "TYPE_MESSAGE",
}  # fmt: skip
ARGUMENT: Final = "INVALID_ARGUMENT"
SIGNED: Final = frozenset({"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"})
"""Signatures that Google documents for calls of other models."""


def to_camel_case(value: Json) -> Json:
    """An object with its own keys in camel case (Google takes snake case as well).

    Any other value is returned unchanged.
    """
    if not isinstance(value, dict):
        return value
    return {re.sub(r"_([a-z])", lambda match: match[1].upper(), key): item for key, item in value.items()}


def as_entries(value: Json) -> list[Json]:
    """The entries of a repeated field; a single one may be given without a list."""
    return [value] if isinstance(value, dict) else as_list(value)


def invalid_argument(message: str, rule: str) -> Refusal:
    return Refusal(message, type=ARGUMENT, rule=rule)


def format_path(path: Path) -> str:
    """Format a path: ``contents[0].parts[1].text``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def shape_refusals(value: Json, fields: Fields, path: Path) -> Iterator[Refusal]:
    """Refusals of the members of `value`, which is at `path`, in Google's words."""
    if not isinstance(value, dict):
        yield invalid_argument(f"Invalid value at '{format_path(path)}' (type.googleapis.com), {value!r}", "type")
        return
    for fault in find_faults(value, fields, path):
        path_text = format_path(fault.path)
        if fault.kind == "extra":
            parent_text = f" at '{format_path(fault.path[:-1])}'" if fault.path[:-1] else ""
            message = f'Invalid JSON payload received. Unknown name "{fault.path[-1]}"{parent_text}: Cannot find field.'
            yield invalid_argument(message, "unknown name")
        elif fault.kind == "missing":
            yield invalid_argument(
                f"* GenerateContentRequest.{path_text}: [FIELD_INVALID] {fault.path[-1]} is required.", "missing"
            )
        elif fault.kind in ("small", "large"):
            yield invalid_argument(
                f"* GenerateContentRequest.{path_text}: value {fault.value} is out of range.", "range"
            )
        else:
            kind = _TYPES[fault.field.types[0]] if fault.field.types else "TYPE_STRING"
            yield invalid_argument(f"Invalid value at '{path_text}' ({kind}), {fault.value!r}", "type")


def refusals(body: Json, model: Gemini) -> list[Refusal]:
    """All reasons to refuse `body`, a request's JSON value; empty if it is valid.

    The provider reports only the first reason of the list. If fields are wrong, the order of turns is not checked.
    """
    value = to_camel_case(body)
    errors = list(shape_refusals(value, _BODY, ()))
    if errors:
        return errors
    errors = [
        *_config_refusals(value, model),
        *_system_refusals(value),
        *_tool_refusals(value),
        *content_refusals(value),
    ]
    if not as_entries(value.get("contents")):
        errors.append(invalid_argument("* GenerateContentRequest.contents: contents is not specified\n", "no contents"))
    if errors:
        return errors
    contents = [to_camel_case(content) for content in as_entries(value.get("contents"))]
    turns = _merge_turns([as_dict(content) for content in contents])
    return [*_turn_refusals(turns), *(_signature_refusals(turns) if model.signs else ())]


def content_refusals(value: Mapping[str, Json]) -> Iterator[Refusal]:
    for n, content in enumerate(map(to_camel_case, as_entries(value.get("contents")))):
        path: Path = ("contents", n)
        yield from shape_refusals(content, _CONTENT, path)
        role = as_dict(content).get("role")
        if role not in (None, "", "user", "model", "function"):
            yield invalid_argument("Please use a valid role: user, model.", "role")
        parts = as_entries(as_dict(content).get("parts"))
        if not parts:
            yield invalid_argument(
                f"* GenerateContentRequest.{format_path(path)}.parts: contents.parts must not be empty.\n", "empty"
            )
        yield from _part_refusals(parts, path)


def _part_refusals(parts: Sequence[Json], path: Path) -> Iterator[Refusal]:
    for m, part in enumerate(map(to_camel_case, parts)):
        part_path: Path = (*path, "parts", m)
        yield from shape_refusals(part, _PART, part_path)
        data_members = [name for name in _DATA if name in as_dict(part)]
        if not data_members:
            message = "required oneof field 'data' must have one initialized field"
            yield invalid_argument(f"* GenerateContentRequest.{format_path(part_path)}.data: {message}\n", "no data")
        elif len(data_members) > 1:
            message = f"oneof field 'data' is already set. Cannot set '{data_members[1]}'"
            yield invalid_argument(f"Invalid value at '{format_path(part_path)}' (oneof), {message}", "two data")
        for name in data_members:
            inner = to_camel_case(part[name])
            if name in _INSIDE:
                yield from shape_refusals(inner, _INSIDE[name], (*part_path, name))
            if name == "inlineData" and not _is_base64(as_dict(inner).get("data")):
                message = (
                    f"Invalid value at '{format_path((*part_path, name, 'data'))}' (TYPE_BYTES), Base64 decoding failed"
                )
                yield invalid_argument(message, "base64")
        signature = as_dict(part).get("thoughtSignature")
        if isinstance(signature, str) and signature not in SIGNED and not _is_base64(signature):
            yield invalid_argument("Corrupted thought signature.", "signature")


def _is_base64(value: Json) -> bool:
    try:
        return isinstance(value, str) and bool(base64.b64decode(value, validate=True))
    except ValueError:
        return False


def _system_refusals(value: Mapping[str, Json]) -> Iterator[Refusal]:
    system = to_camel_case(value.get("systemInstruction"))
    if system is None:
        return
    yield from shape_refusals(system, _CONTENT, ("systemInstruction",))
    parts = as_entries(as_dict(system).get("parts"))
    if not parts:
        yield invalid_argument(
            "* GenerateContentRequest.system_instruction.parts: contents.parts must not be empty.\n", "empty"
        )
    yield from _part_refusals(parts, ("systemInstruction",))


def _config_refusals(value: Mapping[str, Json], model: Gemini) -> Iterator[Refusal]:
    config = to_camel_case(value.get("generationConfig") or {})
    yield from shape_refusals(config, _CONFIG, ("generationConfig",))
    max_tokens = as_dict(config).get("maxOutputTokens")
    if isinstance(max_tokens, int) and max_tokens > model.max_output:
        message = f"Unable to submit request because it has a maxOutputTokens value of {max_tokens} "
        yield invalid_argument(
            f"{message}but the supported range is from 1 (inclusive) to {model.max_output + 1} (exclusive).",
            "max tokens",
        )
    if as_dict(config).get("thinkingConfig") is not None:
        thinking = to_camel_case(as_dict(config)["thinkingConfig"])
        yield from shape_refusals(thinking, _THINKING, ("generationConfig", "thinkingConfig"))
        if not model.thinks:
            yield invalid_argument("Thinking is not enabled for this model", "thinking")


def _tool_refusals(value: Mapping[str, Json]) -> Iterator[Refusal]:
    names: list[Json] = []
    for n, tool in enumerate(map(to_camel_case, as_entries(value.get("tools")))):
        yield from shape_refusals(tool, _TOOL, ("tools", n))
        for m, declaration in enumerate(map(to_camel_case, as_list(as_dict(tool).get("functionDeclarations")))):
            path: Path = ("tools", n, "functionDeclarations", m)
            yield from shape_refusals(declaration, _DECLARATION, path)
            name = as_dict(declaration).get("name")
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                message = (
                    "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, "
                    "A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128."
                )
                yield invalid_argument(f"* GenerateContentRequest.{format_path(path)}.name: {message}\n", "tool name")
            elif name in names:
                yield invalid_argument(f"Duplicate function declaration found: {name}", "two tools")
            if {"parameters", "parametersJsonSchema"} <= as_dict(declaration).keys():
                message = "parameters_json_schema must not be set when parameters is set."
                yield invalid_argument(f"* GenerateContentRequest.{format_path(path)}: {message}\n", "two schemas")
            names.append(name)
    yield from _choice_refusals(value, names)


def _choice_refusals(value: Mapping[str, Json], names: Sequence[Json]) -> Iterator[Refusal]:
    choice = to_camel_case(as_dict(to_camel_case(value.get("toolConfig"))).get("functionCallingConfig"))
    if choice is None:
        return
    yield from shape_refusals(choice, _CHOICE, ("toolConfig", "functionCallingConfig"))
    allowed = as_list(as_dict(choice).get("allowedFunctionNames"))
    if allowed and as_dict(choice).get("mode") not in ("ANY", "VALIDATED"):
        yield invalid_argument("Please set allowed_function_names only when function calling mode is ANY.", "choice")
    for name in allowed:
        if name not in names:
            yield invalid_argument(f"allowed_function_names: {name} is not a declared function.", "unknown tool")


_Turn = tuple[str, list[Mapping[str, Json]]]
"""The role of one side's turn, and its parts."""


def _merge_turns(contents: Sequence[Mapping[str, Json]]) -> list[_Turn]:
    turns: list[_Turn] = []
    for content in contents:
        side = "model" if content.get("role") == "model" else "user"
        if not turns or turns[-1][0] != side:
            turns.append((side, []))
        turns[-1][1].extend(as_dict(to_camel_case(part)) for part in as_entries(content.get("parts")))
    return turns


def _turn_refusals(turns: Sequence[_Turn]) -> Iterator[Refusal]:
    for n, (side, parts) in enumerate(turns):
        calls = [as_dict(part["functionCall"]) for part in parts if "functionCall" in part]
        answers = [as_dict(part["functionResponse"]) for part in parts if "functionResponse" in part]
        if side == "model":
            if answers:
                yield invalid_argument(
                    "Please ensure that function response turns have the role user.", "response of model"
                )
            if calls and n == 0:
                message = "function call turn comes immediately after a user turn or after a function response turn."
                yield invalid_argument(f"Please ensure that {message}", "call first")
            after = turns[n + 1][1] if n + 1 < len(turns) else []
            if calls and sum("functionResponse" in part for part in after) != len(calls):
                message = "the number of function response parts is equal to the number of function call parts"
                yield invalid_argument(f"Please ensure that {message} of the function call turn.", "pairs")
            continue
        if calls:
            yield invalid_argument("Please ensure that function call turns have the role model.", "call of user")
        previous_parts = turns[n - 1][1] if n else []
        called = [as_dict(part["functionCall"]) for part in previous_parts if "functionCall" in part]
        if answers and not called:
            message = "function response turn comes immediately after a function call turn."
            yield invalid_argument(f"Please ensure that {message}", "response without call")
        elif answers and not _is_each_called(answers, called):
            message = "function response parts match the function call parts of the function call turn."
            yield invalid_argument(f"Please ensure that {message}", "pairs")


def _is_each_called(answers: Sequence[Mapping[str, Json]], calls: Sequence[Mapping[str, Json]]) -> bool:
    """Whether answers and calls are pairs, by id if both have one, else by name.

    The library google-genai sends no ids.
    """
    remaining_calls = list(calls)
    for answer in answers:
        for call in remaining_calls:
            ids = answer.get("id"), call.get("id")
            if ids[0] == ids[1] if all(ids) else answer.get("name") == call.get("name"):
                remaining_calls.remove(call)
                break
        else:
            return False
    return not remaining_calls


def _signature_refusals(turns: Sequence[_Turn]) -> Iterator[Refusal]:
    """Refuse a turn of the model, after the user's last text, whose first call has no signature."""
    for side, parts in reversed(turns):
        first = next((part for part in parts if "functionCall" in part), None)
        if side == "model" and first is not None and not first.get("thoughtSignature"):
            name = as_dict(first["functionCall"]).get("name")
            message = (
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                f"data, function call `{name}`."
            )
            yield invalid_argument(message, "no signature")
        elif side == "user" and any("functionResponse" not in part for part in parts):
            return
