"""Fields of Anthropic requests and blocks (facts §1), and errors for wrong ones.

The notation of a field is explained at `json_shape.fields`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import Fields, Path, fields, find_faults

COUNTED: Final = fields(
    "model! string, messages! array, system string|array, tools array, tool_choice object, thinking object, "
    "output_config object, cache_control object, speed =standard|fast, user_profile_id string, workspace_id string"
)
"""Fields of a request for a token count."""
CREATED: Final = COUNTED | fields(
    "max_tokens! integer >=0, stream boolean, stop_sequences array, metadata object, service_tier =auto|standard_only, "
    "inference_geo string, container string|object, diagnostics object"
)
"""Fields of a request for a message."""
SAMPLING: Final = fields("temperature number >=0 <=1, top_p number >=0 <=1, top_k integer >=0")
"""Sampling parameters: only for older models, and under the older ``anthropic-version``."""
BETA: Final = {
    "context_management": ("context-management-", "compact-2026-01-12"),
    "compaction": ("compact-",),
    "thread": ("message-threads-",),
    "mcp_servers": ("mcp-client-",),
    "fallbacks": ("fallback", "server-side-fallback"),
    "fallback_credit_token": ("fallback",),
    "billing_policy": ("billing",),
    "safeguards": ("dangerous-tool-use-",),
    "betas": ("",),
}
"""Members that need a beta, with the prefixes of its names; "" is any beta."""


def _block_fields(more: str, specs: Mapping[str, str]) -> dict[str, Fields]:
    """Fields of blocks by type, each with those in `more`."""
    return {kind: fields(f"type! string{more}{spec and ', '}{spec}") for kind, spec in specs.items()}


_CALL: Final = "id! string, name! string, input! object, caller object"
_RESULT: Final = "tool_use_id! string, content! object|array, caller object"
_RESULT_TEXT: Final = "tool_use_id! string, content string|array, is_error boolean"
_BREAKPOINT: Final = ", cache_control object"
_TEXTS: Final = _block_fields(
    _BREAKPOINT,
    {
        "text": "text! string, citations array",
        "image": "source! object, transformations object",
        "document": "source! object, title string, context string, citations object",
        "search_result": "source! string, title! string, content! array, citations object",
    },
)
_HOSTED: Final = "web_search web_fetch code_execution bash_code_execution text_editor_code_execution tool_search"
"""Names of the provider's own tools, whose calls and results have types of their own."""
BLOCKS: Final = (
    _TEXTS
    | _block_fields("", {"thinking": "thinking! string, signature! string", "redacted_thinking": "data! string"})
    | _block_fields(
        _BREAKPOINT,
        {
            "tool_use": f"{_CALL}, toolset_name string",
            "tool_result": f"{_RESULT_TEXT}, toolset_name string",
            "server_tool_use": _CALL,
            **{f"{name}_tool_result": _RESULT for name in _HOSTED.split()},
            "container_upload": "file_id! string",
        },
    )
)
"""Content blocks of messages, by type. Those that may carry a cache breakpoint have ``cache_control``."""
BETA_BLOCKS: Final = _block_fields(
    _BREAKPOINT,
    {
        "compaction": "content string, encrypted_content string, signature string, tool_changes",
        "mcp_tool_use": f"{_CALL}, server_name! string",
        "mcp_tool_result": _RESULT_TEXT,
        "advisor_tool_result": _RESULT,
        "tool_addition": "tool, name",
        "tool_removal": "tool, name",
    },
) | _block_fields("", {"mcp_tool_listing": "server_name, tools", "fallback": "from, to"})
"""Additional blocks that a request with any beta header may hold."""
INSIDE_RESULT: Final = _TEXTS | _block_fields(
    _BREAKPOINT, {"tool_reference": "tool_name! string", "browser_state": "tabs, changes, active_tab_id, state"}
)
"""Blocks allowed in a tool's result."""
_DATA: Final = "media_type! string, data! string"
SOURCES: Final = _block_fields(
    "",
    {
        "base64": _DATA,
        "url": "url! string",
        "file": "file_id! string",
        "text": _DATA,
        "content": "content! string|array",
    },
)
"""Sources of images and documents, by type; the last two for documents only."""

_BREAKPOINT_FIELDS: Final = fields("type! =ephemeral, ttl =5m|1h, scope")
_NOUNS: Final = {"object": "dictionary", "array": "list"}


def format_path(path: Path) -> str:
    """Format a path: ``messages.0.content.1.text``."""
    return ".".join(map(str, path))


def refusal_at(path: Path, message: str, rule: str) -> Refusal:
    return Refusal(f"{format_path(path)}: {message}", rule=rule)


def format_choices(choices: Sequence[str]) -> str:
    """Format alternatives: ``'a', 'b' or 'c'``."""
    quoted = [f"'{word}'" for word in choices]
    return " or ".join(filter(None, [", ".join(quoted[:-1]), *quoted[-1:]]))


def field_refusals(value: Mapping[str, Json], known_fields: Fields, path: Path = ()) -> Iterator[Refusal]:
    """Refusals of the members of `value`, in the provider's words."""
    for fault in find_faults(value, known_fields, path):
        field = fault.field
        message, rule = {
            "missing": ("Field required", "field required"),
            "extra": ("Extra inputs are not permitted", "extra field"),
            "choice": (f"Input should be {format_choices(field.choices)}", "wrong value"),
            "small": (f"Input should be greater than or equal to {field.at_least}", "wrong value"),
            "large": (f"Input should be less than or equal to {field.at_most}", "wrong value"),
            "type": (f"Input should be a valid {' or '.join(_NOUNS.get(t, t) for t in field.types[:1])}", "wrong type"),
        }[fault.kind]
        yield refusal_at(fault.path, message, rule)


def tag_refusal(tag: Json, known_tags: Collection[str], path: Path, rule: str) -> Refusal:
    tags = ", ".join(f"'{name}'" for name in known_tags)
    message = f"Input tag '{tag}' found using 'type' does not match any of the expected tags: {tags}"
    return refusal_at(path, message, rule)


def typed_refusals(block: Json, path: Path, known_types: Mapping[str, Fields]) -> Iterator[Refusal]:
    """Refusals of the fields of a block whose type must be one of `known_types`."""
    if not isinstance(block, dict):
        yield refusal_at(path, "Input should be a valid dictionary", "wrong type")
        return
    kind = block.get("type")
    if kind is None:
        yield refusal_at((*path, "type"), "Field required", "field required")
    elif not isinstance(kind, str) or kind not in known_types:
        yield tag_refusal(kind, sorted(known_types), path, "unknown block")
    else:
        yield from field_refusals(block, known_types[kind], (*path, kind))
        yield from breakpoint_refusals(block.get("cache_control"), (*path, kind, "cache_control"))


def breakpoint_refusals(marker: Json, path: Path) -> Iterator[Refusal]:
    if isinstance(marker, dict):
        yield from field_refusals(marker, _BREAKPOINT_FIELDS, path)
