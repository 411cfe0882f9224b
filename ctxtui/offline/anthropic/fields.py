"""The fields of an Anthropic request and of its content blocks, and what is said where they are wrong (facts §1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import (
    ANY,
    ARRAY,
    BOOLEAN,
    COUNT,
    FLAG,
    INTEGER,
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
    needed,
    one_of,
)

WORDS_OR_BLOCKS: Final = needed(STRING, ARRAY)

COUNTED: Final[dict[str, ShapeField]] = {
    "model": needed(STRING),
    "messages": needed(ARRAY),
    "system": ShapeField((STRING, ARRAY)),
    "tools": ROWS,
    "tool_choice": MAP,
    "thinking": MAP,
    "output_config": MAP,
    "cache_control": MAP,
    "speed": one_of("standard", "fast"),
    "user_profile_id": TEXT,
    "workspace_id": TEXT,
}
"""What a request for a count may say."""

_UNIT: Final = ShapeField((NUMBER,), at_least=0, at_most=1)
SAMPLING: Final[dict[str, ShapeField]] = {"temperature": _UNIT, "top_p": _UNIT, "top_k": COUNT}

CREATED: Final[dict[str, ShapeField]] = COUNTED | {
    "max_tokens": needed(INTEGER, at_least=0),
    "stream": FLAG,
    "stop_sequences": ROWS,
    "metadata": MAP,
    "service_tier": one_of("auto", "standard_only"),
    "inference_geo": TEXT,
    "container": ShapeField((STRING, OBJECT)),
    "diagnostics": MAP,
}

BETA: Final[dict[str, tuple[str, ...]]] = {
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
"""Members that need a beta header: how its name begins."""

_MARK: Final = {"type": needed(STRING), "cache_control": MAP}
_PLAIN: Final = {"type": needed(STRING)}
_USE: Final = {"id": needed(STRING), "name": needed(STRING), "input": needed(OBJECT), "caller": MAP}
_RESULT: Final = {"tool_use_id": needed(STRING), "content": needed(OBJECT, ARRAY), "caller": MAP}

BLOCKS: Final[dict[str, Fields]] = {
    "text": _MARK | {"text": needed(STRING), "citations": ROWS},
    "image": _MARK | {"source": needed(OBJECT), "transformations": MAP},
    "document": _MARK | {"source": needed(OBJECT), "title": TEXT, "context": TEXT, "citations": MAP},
    "search_result": _MARK
    | {"source": needed(STRING), "title": needed(STRING), "content": needed(ARRAY), "citations": MAP},
    "thinking": _PLAIN | {"thinking": needed(STRING), "signature": needed(STRING)},
    "redacted_thinking": _PLAIN | {"data": needed(STRING)},
    "tool_use": _MARK | _USE | {"toolset_name": TEXT},
    "tool_result": _MARK
    | {
        "tool_use_id": needed(STRING),
        "content": ShapeField((STRING, ARRAY)),
        "is_error": ShapeField((BOOLEAN,)),
        "toolset_name": TEXT,
    },
    "server_tool_use": _MARK | _USE,
    "web_search_tool_result": _MARK | _RESULT,
    "web_fetch_tool_result": _MARK | _RESULT,
    "code_execution_tool_result": _MARK | _RESULT,
    "bash_code_execution_tool_result": _MARK | _RESULT,
    "text_editor_code_execution_tool_result": _MARK | _RESULT,
    "tool_search_tool_result": _MARK | _RESULT,
    "container_upload": _MARK | {"file_id": needed(STRING)},
}
"""Content blocks of messages, by type. What may carry a cache marker has ``cache_control``."""

BETA_BLOCKS: Final[dict[str, Fields]] = {
    "compaction": _MARK | {"content": TEXT, "encrypted_content": TEXT, "signature": TEXT, "tool_changes": ANY},
    "mcp_tool_use": _MARK | _USE | {"server_name": needed(STRING)},
    "mcp_tool_result": _MARK
    | {"tool_use_id": needed(STRING), "content": ShapeField((STRING, ARRAY)), "is_error": FLAG},
    "mcp_tool_listing": _PLAIN | {"server_name": ANY, "tools": ANY},
    "advisor_tool_result": _MARK | _RESULT,
    "fallback": _PLAIN | {"from": ANY, "to": ANY},
    "tool_addition": _MARK | {"tool": ANY, "name": ANY},
    "tool_removal": _MARK | {"tool": ANY, "name": ANY},
}
"""Further blocks that a request with any beta header may hold."""

INSIDE_RESULT: Final[dict[str, Fields]] = {
    name: BLOCKS[name] for name in ("text", "image", "document", "search_result")
} | {
    "tool_reference": _MARK | {"tool_name": needed(STRING)},
    "browser_state": _MARK | dict.fromkeys(("tabs", "changes", "active_tab_id", "state"), ANY),
}
"""What a tool's result may be made of."""

SOURCES: Final[dict[str, Fields]] = {
    "base64": _PLAIN | {"media_type": needed(STRING), "data": needed(STRING)},
    "url": _PLAIN | {"url": needed(STRING)},
    "file": _PLAIN | {"file_id": needed(STRING)},
    "text": _PLAIN | {"media_type": needed(STRING), "data": needed(STRING)},
    "content": _PLAIN | {"content": needed(STRING, ARRAY)},
}
"""Where an image or document comes from, by type; the last two for documents only."""


_EXPECTED: Final = {
    "string": "a valid string",
    "integer": "a valid integer",
    "number": "a valid number",
    "boolean": "a valid boolean",
    "object": "a valid dictionary",
    "array": "a valid list",
}


def dotted(path: Path) -> str:
    """``messages.0.content.1.text``."""
    return ".".join(map(str, path))


def worded(fault: ShapeFault) -> Refusal:
    """A fault of shape in the provider's words."""
    where = dotted(fault.path)
    if fault.kind == "missing":
        return Refusal(f"{where}: Field required", rule="field required")
    if fault.kind == "extra":
        return Refusal(f"{where}: Extra inputs are not permitted", rule="extra field")
    if fault.kind == "choice":
        return Refusal(f"{where}: Input should be {listed(fault.field.choices)}", rule="wrong value")
    if fault.kind == "small":
        least = fault.field.at_least
        return Refusal(f"{where}: Input should be greater than or equal to {least}", rule="wrong value")
    if fault.kind == "large":
        most = fault.field.at_most
        return Refusal(f"{where}: Input should be less than or equal to {most}", rule="wrong value")
    expected = _EXPECTED.get(fault.field.types[0] if fault.field.types else "", "valid")
    return Refusal(f"{where}: Input should be {expected}", rule="wrong type")


def listed(words: tuple[str, ...]) -> str:
    """``'a', 'b' or 'c'``."""
    quoted = [f"'{word}'" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def typed_refusals(block: Json, path: Path, known: Mapping[str, Fields]) -> Iterator[Refusal]:
    """What is wrong with the fields of a block whose type must be one of `known`."""
    if not isinstance(block, dict):
        yield Refusal(f"{dotted(path)}: Input should be a valid dictionary", rule="wrong type")
        return
    kind = block.get("type")
    if kind is None:
        yield Refusal(f"{dotted(path)}.type: Field required", rule="field required")
    elif not isinstance(kind, str) or kind not in known:
        tags = ", ".join(f"'{name}'" for name in sorted(known))
        message = f"Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}"
        yield Refusal(f"{dotted(path)}: {message}", rule="unknown block")
    else:
        yield from (worded(fault) for fault in faults(block, known[kind], (*path, kind)))
        yield from mark_refusals(block.get("cache_control"), (*path, kind, "cache_control"))


def mark_refusals(mark: Json, path: Path) -> Iterator[Refusal]:
    """What is wrong with a cache marker."""
    if not isinstance(mark, dict):
        return
    if mark.get("type") != "ephemeral":
        yield Refusal(f"{dotted(path)}.type: Input should be 'ephemeral'", rule="wrong value")
    if mark.get("ttl") not in (None, "5m", "1h"):
        yield Refusal(f"{dotted(path)}.ttl: Input should be '5m' or '1h'", rule="wrong value")
    for key in sorted(mark.keys() - {"type", "ttl", "scope"}):
        yield Refusal(f"{dotted(path)}.{key}: Extra inputs are not permitted", rule="extra field")
