"""Refusals that OpenAI's two APIs share, in the provider's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import Fields, Path, ShapeFault, ShapeField, fields, find_faults, type_of

NAME_PATTERN: Final = r"^[a-zA-Z0-9_-]+$"
MAX_NAME_CHARS: Final = 64
EFFORTS: Final = "none|minimal|low|medium|high|xhigh|max"
SHARED_FIELDS: Final = fields(
    "temperature number >=0 <=2, top_p number >=0 <=1, top_logprobs integer >=0 <=20, metadata object, "
    "prompt_cache_key string, prompt_cache_options object, prompt_cache_retention string, safety_identifier string, "
    "service_tier =auto|default|flex|scale|priority|fast, user string, moderation"
)
FUNCTION: Final = fields("name! string, description string, parameters object, strict boolean")
_NOUNS: Final = {
    "string": "a string",
    "integer": "an integer",
    "number": "a decimal",
    "boolean": "a boolean",
    "object": "an object",
    "array": "an array",
    "null": "null",
}


def format_path(path: Path) -> str:
    """Format a path: ``messages[0].content[1].text``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def refusal_of_fault(fault: ShapeFault) -> Refusal:
    """The refusal of a wrong field, in OpenAI's words."""
    path, field = format_path(fault.path), fault.field
    if fault.kind == "choice":
        return wrong_value(str(fault.value), field.choices, path)
    if fault.kind in ("small", "large"):
        noun = "integer" if field.types == ("integer",) else "decimal"
        if fault.kind == "small":
            end, code, bound = "below minimum", "below_min_value", f">= {field.at_least}"
        else:
            end, code, bound = "above maximum", "above_max_value", f"<= {field.at_most}"
        message = f"{noun} {end} value. Expected a value {bound}, but got {fault.value} instead."
        return invalid(path, message, f"{noun}_{code}")
    nouns = [_NOUNS[name] for name in field.types]
    expected = nouns[0] if len(nouns) == 1 else f"one of {' or '.join(nouns)}"
    message, code = {
        "missing": (f"Missing required parameter: '{path}'.", "missing_required_parameter"),
        "extra": (f"Unknown parameter: '{path}'.", "unknown_parameter"),
        "type": (
            f"Invalid type for '{path}': expected {expected}, but got {_NOUNS[type_of(fault.value)]} instead.",
            "invalid_type",
        ),
    }[fault.kind]
    return Refusal(message, param=path, code=code, rule=code.replace("_", " "))


def invalid(where: str, message: str, code: str = "invalid_value", rule: str = "") -> Refusal:
    """The refusal with the prefix "Invalid 'where'".

    For a value that is none of the listed choices, use `wrong_value`.
    """
    return Refusal(f"Invalid '{where}': {message}", param=where, code=code, rule=rule or code.replace("_", " "))


def object_refusals(value: Json, known_fields: Fields, path: Path) -> Iterator[Refusal]:
    """Refusals of the members of `value`, which is at `path`; if it is no object, of its type."""
    if not isinstance(value, dict):
        yield refusal_of_fault(ShapeFault("type", path, ShapeField(("object",)), value))
        return
    yield from map(refusal_of_fault, find_faults(value, known_fields, path))


def large_output(where: str, requested: Json, maximum: int) -> Iterator[Refusal]:
    if isinstance(requested, int) and requested > maximum:
        message = f"{where} is too large: {requested}. This model supports at most {maximum} completion tokens,"
        message += f" whereas you provided {requested}."
        yield Refusal(message, param=where, code="invalid_value", rule="max_tokens")


def wrong_value(value: str, supported: Sequence[str], where: str) -> Refusal:
    names = [f"'{name}'" for name in supported]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])}, and {names[-1]}"
    message = f"Invalid value: '{value}'. Supported values are: {listed}."
    return Refusal(message, param=where, code="invalid_value", rule="invalid value")


def name_refusals(name: Json, where: str) -> Iterator[Refusal]:
    if isinstance(name, str) and not re.fullmatch(NAME_PATTERN, name):
        message = f"string does not match pattern. Expected a string that matches the pattern '{NAME_PATTERN}'."
        yield invalid(where, message, rule="tool name")
    elif isinstance(name, str) and len(name) > MAX_NAME_CHARS:
        message = f"string too long. Expected a string with maximum length {MAX_NAME_CHARS}, but got a string with"
        yield invalid(where, f"{message} length {len(name)} instead.", "string_above_max_length", "tool name")


def function_refusals(function: Mapping[str, Json], path: Path, where: str) -> Iterator[Refusal]:
    """Refusals of a function's name and schema.

    `path` leads to the definition; `where` names the schema in the refusal.
    """
    yield from name_refusals(function.get("name"), format_path((*path, "name")))
    schema = function.get("parameters")
    if isinstance(schema, dict) and schema and schema.get("type") != "object":
        schema_type = schema.get("type")
        shown = "None" if schema_type is None else f'"{schema_type}"'
        reason = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: {shown}'."
        code = "invalid_function_parameters"
        message = f"Invalid schema for function '{function.get('name')}': {reason}"
        yield Refusal(message, param=where, code=code, rule="input schema")


def choice_refusals(choice: Json, name: Json, named: Sequence[Json]) -> Iterator[Refusal]:
    """Refuse an unknown choice, or a forced tool `name` that is not among the tools `named`."""
    if isinstance(choice, str) and choice not in ("none", "auto", "required"):
        message = f"Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'."
        yield Refusal(message, param="tool_choice", code="invalid_value", rule="invalid value")
    elif isinstance(name, str) and name not in named:
        message = f"Tool choice '{name}' not found in 'tools' parameter."
        yield Refusal(message, param="tool_choice", rule="unknown tool")


def stream_refusals(body: Mapping[str, Json]) -> Iterator[Refusal]:
    if body.get("stream_options") is not None and body.get("stream") is not True:
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        yield Refusal(message, param="stream_options", rule="stream options")


def unsupported(param: str, instead: str = "") -> Refusal:
    message = f"Unsupported parameter: '{param}' is not supported with this model."
    message += f" Use '{instead}' instead." if instead else ""
    return Refusal(message, param=param, code="unsupported_parameter", rule="unsupported parameter")


def sampling_refusals(body: Mapping[str, Json], fixed: bool) -> Iterator[Refusal]:
    """Refuse a temperature or top_p other than 1 if the model's values are `fixed`."""
    for key in ("temperature", "top_p"):
        value = body.get(key)
        if fixed and value is not None and value != 1:
            message = f"Unsupported value: '{key}' does not support {value} with this model."
            message += " Only the default (1) value is supported."
            yield Refusal(message, param=key, code="unsupported_value", rule="unsupported value")
