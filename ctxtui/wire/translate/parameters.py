"""Translates the parameters of a request, such as its temperature, to another dialect."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from ctxtui.core.block import MARKER_KEYS
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict
from ctxtui.wire.definitions import lower_types
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, OLLAMA, RESPONSES
from ctxtui.wire.translate.turns import Losses

LIMIT: Final = "limit"
STOP: Final = "stop"
FORMAT: Final = "format"
CHOICE: Final = "choice"
PARALLEL: Final = "parallel"
EFFORT: Final = "effort"

_OPENAI: Final = {
    "temperature": "temperature",
    "top_p": "top_p",
    "tool_choice": CHOICE,
    "parallel_tool_calls": PARALLEL,
    "stream": "stream",
    **{
        name: name
        for name in "metadata store user safety_identifier prompt_cache_key prompt_cache_retention service_tier".split()
    },
}
"""Parameters that both APIs of OpenAI name the same."""
_SETTINGS: Final[dict[str, dict[str, str]]] = {
    ANTHROPIC: {
        "max_tokens": LIMIT,
        "stop_sequences": STOP,
        "stream": "stream",
        "tool_choice": CHOICE,
        "tool_choice.disable_parallel_tool_use": PARALLEL,
        "output_config.effort": EFFORT,
        "output_config.format": FORMAT,
    },
    CHAT: {
        **_OPENAI,
        "max_completion_tokens": LIMIT,
        "stop": STOP,
        "response_format": FORMAT,
        "reasoning_effort": EFFORT,
        "verbosity": "verbosity",
        "seed": "seed",
        "frequency_penalty": "frequency_penalty",
        "presence_penalty": "presence_penalty",
    },
    RESPONSES: {
        **_OPENAI,
        "max_output_tokens": LIMIT,
        "text.format": FORMAT,
        "text.verbosity": "verbosity",
        "reasoning.effort": EFFORT,
    },
    GOOGLE: {
        "generationConfig.maxOutputTokens": LIMIT,
        "generationConfig.temperature": "temperature",
        "generationConfig.topP": "top_p",
        "generationConfig.topK": "top_k",
        "generationConfig.stopSequences": STOP,
        "generationConfig.seed": "seed",
        "generationConfig.frequencyPenalty": "frequency_penalty",
        "generationConfig.presencePenalty": "presence_penalty",
        "generationConfig.responseJsonSchema": FORMAT,
        "generationConfig.thinkingConfig.thinkingLevel": EFFORT,
        "toolConfig.functionCallingConfig": CHOICE,
    },
    OLLAMA: {
        "stream": "stream",
        "format": FORMAT,
        "think": EFFORT,
        "options.num_predict": LIMIT,
        "options.stop": STOP,
        **{
            f"options.{name}": name
            for name in "temperature top_p top_k seed frequency_penalty presence_penalty".split()
        },
    },
}
"""The setting that a parameter of each dialect is, by its path in the body (facts §1, §4)."""
_OLD_NAMES: Final[dict[str, dict[str, str]]] = {
    ANTHROPIC: {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k"},
    CHAT: {"max_tokens": LIMIT, "function_call": CHOICE},
    GOOGLE: {"generationConfig.responseSchema": FORMAT, "generationConfig.responseMimeType": FORMAT},
}
"""Older names, which are read but not written: newer versions of the API refuse or replace them."""
_GROUPS: Final = {
    ANTHROPIC: frozenset({"output_config"}),
    RESPONSES: frozenset({"text", "reasoning"}),
    GOOGLE: frozenset({"generationConfig", "generationConfig.thinkingConfig", "toolConfig"}),
    OLLAMA: frozenset({"options"}),
}
"""Objects whose members are parameters of their own."""
_NO_PARAMETERS: Final = frozenset({"model", "previous_response_id", *MARKER_KEYS})
"""Members that are not translated here: the new body has its own, and cache markers are noted with those of blocks."""
_DEFAULTS: Final = (
    ("stream", False),
    ("n", 1),
    ("logprobs", False),
    ("generationConfig.candidateCount", 1),
    ("text.format", {"type": "text"}),
    ("response_format", {"type": "text"}),
    ("generationConfig.responseMimeType", "text/plain"),
)
"""Parameters with the value that they have by default: leaving them out changes nothing."""
_MAX_STOPS: Final = {CHAT: 4, GOOGLE: 5}
_EFFORTS: Final = {
    ANTHROPIC: frozenset("low medium high xhigh max".split()),
    CHAT: frozenset("none minimal low medium high xhigh max".split()),
    RESPONSES: frozenset("none minimal low medium high xhigh max".split()),
    GOOGLE: frozenset("minimal low medium high".split()),
    OLLAMA: frozenset("low medium high".split()),
}


def translate_parameters(
    params: Mapping[str, Json], source: str, target: str, tools: Collection[str], losses: Losses
) -> dict[str, Json]:
    """Translate the top-level members `params` of a request in `source` to the dialect `target`.

    `tools` are the names of the tools that the new body offers. If `target` lacks a parameter or does not allow its
    value, the parameter's path in the source is noted in `losses`; a parameter without effect is left out.
    """
    known = {**_OLD_NAMES.get(source, {}), **_SETTINGS.get(source, {})}
    paths = {setting: path for path, setting in _SETTINGS[target].items()}
    body: dict[str, Json] = {}
    for path, value in _flatten(source, params):
        setting = known.get(path, "")
        neutral = _READERS.get(setting, _as_it_is)(value)
        if value in (None, {}, []) or (path, value) in _DEFAULTS or (setting, neutral) in _NO_EFFECT:
            continue
        written = _write(setting, neutral, target, tools) if setting in paths else None
        if written is None:
            losses.note(f"the parameter {path}")
        else:
            _put(body, paths[setting], written, target)
    if body.get("tool_choice", {}) == {"type": "none", "disable_parallel_tool_use": True}:
        body["tool_choice"] = {"type": "none"}
    return body


def _flatten(source: str, params: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, Json]]:
    """The parameters with their paths; Google's spelled as in its documentation."""
    for key, value in params.items():
        path = prefix + (_camel_case(key) if source == GOOGLE else key)
        if path in _NO_PARAMETERS:
            continue
        if isinstance(value, dict) and path in _GROUPS.get(source, ()):
            yield from _flatten(source, value, f"{path}.")
        elif isinstance(value, dict) and path == "tool_choice" and "disable_parallel_tool_use" in value:
            yield path, {name: member for name, member in value.items() if name != "disable_parallel_tool_use"}
            yield f"{path}.disable_parallel_tool_use", not value["disable_parallel_tool_use"]
        elif path != "generationConfig.responseMimeType" or not _has_schema(params):
            yield path, value


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _has_schema(config: Mapping[str, Json]) -> bool:
    return any(_camel_case(key) in ("responseSchema", "responseJsonSchema") for key in config)


def _put(body: dict[str, Json], path: str, value: Json, target: str) -> None:
    *groups, name = path.split(".")
    for group in groups:
        body = body.setdefault(group, {"type": "auto"} if group == "tool_choice" else {})
    if isinstance(value, dict) and isinstance(body.get(name), dict):
        value = {**body[name], **value}
    body[name] = value
    if target == GOOGLE and name == "responseJsonSchema":
        body["responseMimeType"] = "application/json"
        if value == _ANY_JSON:
            del body[name]


# Neutral values, which are read from one dialect and written in another. A format is {"schema": ...} with further
# members of OpenAI's, or `_ANY_JSON`. A tool choice is "auto", "any", "none", or {"tool": name}. None: the value is not
# understood.

_ANY_JSON: Final[dict[str, Json]] = {}
_NO_EFFECT: Final = ((CHOICE, "auto"), (PARALLEL, True), (LIMIT, -1))
_SCHEMA_NAME: Final = "answer"
"""Name of a schema that has none, which OpenAI requires."""


def _as_it_is(value: Json) -> Json:
    return value


def _read_stops(value: Json) -> Json:
    return [value] if isinstance(value, str) else value


def _read_effort(value: Json) -> Json:
    return value.lower() if isinstance(value, str) else None


def _read_format(value: Json) -> Json:
    if value in ("json", "application/json"):
        return _ANY_JSON
    if not isinstance(value, dict):
        return None
    kind = value.get("type")
    if kind == "json_object" and "schema" not in value:
        return _ANY_JSON
    if kind in ("json_object", "json_schema"):
        inner = value.get("json_schema", value)
        named = isinstance(inner, dict) and isinstance(inner.get("schema"), dict)
        return {name: member for name, member in inner.items() if name != "type"} if named else None
    if kind in ("text", "grammar", "python"):
        return None
    return {"schema": lower_types(value) if str(kind).isupper() else value}


def _read_choice(value: Json) -> Json:
    """Read a choice in any dialect's spelling."""
    if isinstance(value, str):
        return {"required": "any"}.get(value, value)
    mode = value.get("mode") if isinstance(value, dict) else None
    if isinstance(mode, str):
        names = value.get("allowedFunctionNames", value.get("allowed_function_names"))
        if not names:
            return mode.lower()
        return {"tool": names[0]} if isinstance(names, list) and len(names) == 1 and mode.lower() == "any" else None
    kind = as_dict(value).get("type")
    if kind in ("auto", "any", "none"):
        return kind
    if kind in ("tool", "function", "custom", None):
        inner = as_dict(as_dict(value).get(str(kind))) or as_dict(value)
        return {"tool": inner["name"]} if isinstance(inner.get("name"), str) else None
    return None


_READERS: Final[dict[str, Callable[[Json], Json]]] = {
    STOP: _read_stops,
    EFFORT: _read_effort,
    FORMAT: _read_format,
    CHOICE: _read_choice,
}


def _write(setting: str, value: Json, target: str, tools: Collection[str]) -> Json:
    """The value of the setting in the dialect's spelling; None if it has none."""
    if setting == LIMIT:
        return value if isinstance(value, int) and value > 0 else None
    if setting == STOP:
        return value if isinstance(value, list) and len(value) <= _MAX_STOPS.get(target, len(value)) else None
    if setting == EFFORT:
        return value if value in _EFFORTS[target] else None
    if setting == FORMAT:
        return _write_format(value, target) if isinstance(value, dict) else None
    if setting == CHOICE:
        return _write_choice(value, target, tools)
    if setting == PARALLEL:
        return (not value if target == ANTHROPIC else value) if tools and isinstance(value, bool) else None
    return value


def _write_format(value: dict[str, Json], target: str) -> Json:
    if value == _ANY_JSON:
        return {OLLAMA: "json", GOOGLE: _ANY_JSON, ANTHROPIC: None}.get(target, {"type": "json_object"})
    if target == ANTHROPIC:
        return {"type": "json_schema", "schema": value["schema"]}
    if target in (GOOGLE, OLLAMA):
        return value["schema"]
    named = {"name": _SCHEMA_NAME, **value}
    return {"type": "json_schema", "json_schema": named} if target == CHAT else {"type": "json_schema", **named}


def _write_choice(value: Json, target: str, tools: Collection[str]) -> Json:
    name = value.get("tool") if isinstance(value, dict) else None
    if not tools or value not in ("any", "none", {"tool": name}) or name not in (None, *tools):
        return None
    if target == ANTHROPIC:
        return {"type": value} if name is None else {"type": "tool", "name": name}
    if target == GOOGLE:
        return {"mode": str(value).upper()} if name is None else {"mode": "ANY", "allowedFunctionNames": [name]}
    if name is None:
        return "required" if value == "any" else value
    return {"type": "function", "function": {"name": name}} if target == CHAT else {"type": "function", "name": name}
