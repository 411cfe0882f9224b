"""The fields of an Anthropic request and of its content blocks (facts §1; anthropic 2.10 types)."""

from __future__ import annotations

from typing import Final

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
    ShapeField,
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
