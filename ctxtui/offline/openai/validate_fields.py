"""OpenAI: faults of shape and of tools, in the provider's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import Fields, Path, ShapeFault, ShapeField, faults, fields, members, rows, type_of

NAME: Final = r"^[a-zA-Z0-9_-]+$"
MOST_NAME: Final = 64
MOST_TOOLS: Final = 128

MOST_CHOICES: Final = 128
"""The ``n`` of a request at most."""

EFFORTS: Final = "none|minimal|low|medium|high|xhigh|max"
SAMPLED: Final = fields(
    "temperature number >=0 <=2, top_p number >=0 <=1, top_logprobs integer >=0 <=20, metadata object, "
    "prompt_cache_key string, prompt_cache_options object, prompt_cache_retention string, safety_identifier string, "
    "service_tier =auto|default|flex|scale|priority|fast, user string, moderation"
)
"""What both dialects have."""
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


def spelled(path: Path) -> str:
    """``messages[0].content[1].text``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def worded(fault: ShapeFault) -> Refusal:
    """A fault of shape in the provider's words."""
    where = spelled(fault.path)
    if fault.kind == "missing":
        told, code = f"Missing required parameter: '{where}'.", "missing_required_parameter"
    elif fault.kind == "extra":
        told, code = f"Unknown parameter: '{where}'.", "unknown_parameter"
    elif fault.kind == "choice":
        return wrong_value(str(fault.value), fault.field.choices, where)
    elif fault.kind in ("small", "large"):
        return out_of_bounds(where, fault)
    else:
        told = f"expected {_expected(fault.field)}, but got {_NOUNS[type_of(fault.value)]} instead."
        told, code = f"Invalid type for '{where}': {told}", "invalid_type"
    return Refusal(told, param=where, code=code, rule=code.replace("_", " "))


def _expected(field: ShapeField) -> str:
    nouns = [_NOUNS[name] for name in field.types]
    return nouns[0] if len(nouns) == 1 else f"one of {' or '.join(nouns)}"


def out_of_bounds(where: str, fault: ShapeFault) -> Refusal:
    """A number that is too small or too large."""
    noun = "integer" if fault.field.types == ("integer",) else "decimal"
    small = fault.kind == "small"
    end, sign = ("below minimum", ">=") if small else ("above maximum", "<=")
    bound = fault.field.at_least if small else fault.field.at_most
    told = f"{noun} {end} value. Expected a value {sign} {bound}, but got {fault.value} instead."
    code = f"{noun}_below_min_value" if small else f"{noun}_above_max_value"
    return Refusal(f"Invalid '{where}': {told}", param=where, code=code, rule=code.replace("_", " "))


def large_output(where: str, wanted: Json, most: int) -> Refusal | None:
    """More tokens of an answer than the model can give; None where it is not too much."""
    if not isinstance(wanted, int) or wanted <= most:
        return None
    told = f"{where} is too large: {wanted}. This model supports at most {most} completion tokens, whereas you "
    return Refusal(f"{told}provided {wanted}.", param=where, code="invalid_value", rule="max_tokens")


def wrong_value(value: str, supported: tuple[str, ...], where: str) -> Refusal:
    """A word that is none of the supported ones."""
    names = [f"'{name}'" for name in supported]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])}, and {names[-1]}"
    told = f"Invalid value: '{value}'. Supported values are: {listed}."
    return Refusal(told, param=where, code="invalid_value", rule="invalid value")


def empty_array(where: str) -> Refusal:
    """A list that must hold something."""
    told = "empty array. Expected an array with minimum length 1, but got an empty array instead."
    return Refusal(f"Invalid '{where}': {told}", param=where, code="empty_array", rule="empty array")


def long_array(where: str, most: int, length: int) -> Refusal:
    """A list that holds too much."""
    told = f"array too long. Expected an array with maximum length {most}, but got an array with length {length}"
    code = "array_above_max_length"
    return Refusal(f"Invalid '{where}': {told} instead.", param=where, code=code, rule="array too long")


def name_refusals(name: Json, where: str) -> Iterator[Refusal]:
    """What is wrong with the name of a function."""
    if not isinstance(name, str):
        return
    if not re.match(NAME, name):
        told = f"string does not match pattern. Expected a string that matches the pattern '{NAME}'."
        yield Refusal(f"Invalid '{where}': {told}", param=where, code="invalid_value", rule="tool name")
    elif len(name) > MOST_NAME:
        told = f"string too long. Expected a string with maximum length {MOST_NAME}, but got a string with length"
        code = "string_above_max_length"
        yield Refusal(f"Invalid '{where}': {told} {len(name)} instead.", param=where, code=code, rule="tool name")


def function_refusals(function: Mapping[str, Json], path: Path, where: str) -> Iterator[Refusal]:
    """What is wrong with a function's definition whose fields stand at `path`."""
    yield from name_refusals(function.get("name"), spelled((*path, "name")))
    schema = function.get("parameters")
    if isinstance(schema, dict) and schema and schema.get("type") != "object":
        got = schema.get("type")
        shown = "None" if got is None else f'"{got}"'
        told = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: {shown}'."
        code = "invalid_function_parameters"
        message = f"Invalid schema for function '{function.get('name')}': {told}"
        yield Refusal(message, param=where, code=code, rule="input schema")


def list_refusals(body: Mapping[str, Json]) -> Iterator[Refusal]:
    """What is wrong with the list of tools as a list, and with what only makes sense beside one."""
    tools = body.get("tools")
    if tools == []:
        yield empty_array("tools")
    elif isinstance(tools, list) and len(tools) > MOST_TOOLS:
        yield long_array("tools", MOST_TOOLS, len(tools))
    if not rows(tools):
        for key in ("tool_choice", "parallel_tool_calls"):
            if body.get(key) is not None and body.get(key) != "none":
                told = f"'{key}' is only allowed when 'tools' are specified."
                yield Refusal(told, param=key, rule="no tools")


def unknown_choice(name: Json, named: list[Json]) -> Iterator[Refusal]:
    """A forced function that is none of the tools."""
    if isinstance(name, str) and name not in named:
        told = f"Tool choice '{name}' not found in 'tools' parameter."
        yield Refusal(told, param="tool_choice", rule="unknown tool")


def object_refusals(value: Json, known: Fields, path: Path) -> Iterator[Refusal]:
    """What is wrong with the members of an object at `path`, or that it is none."""
    if not isinstance(value, dict):
        yield worded(ShapeFault("type", path, ShapeField(("object",)), value))
        return
    yield from (worded(fault) for fault in faults(value, known, path))


def unsupported(param: str, instead: str = "") -> Refusal:
    """A parameter that the model does not know."""
    told = f"Unsupported parameter: '{param}' is not supported with this model."
    told += f" Use '{instead}' instead." if instead else ""
    return Refusal(told, param=param, code="unsupported_parameter", rule="unsupported parameter")


def temperature_refusals(body: Mapping[str, Json], fixed: bool) -> Iterator[Refusal]:
    """Sampling on models that only sample one way."""
    for key in ("temperature", "top_p"):
        value = body.get(key)
        if fixed and value is not None and value != 1:
            told = f"Unsupported value: '{key}' does not support {value} with this model."
            told += " Only the default (1) value is supported."
            yield Refusal(told, param=key, code="unsupported_value", rule="unsupported value")


def called(value: Json) -> Mapping[str, Json]:
    """The function that a Chat call or choice names."""
    return members(members(value).get("function"))
