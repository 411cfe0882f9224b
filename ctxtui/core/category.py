"""Categories of blocks (system, tools, user ...), in the order of a composition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    # Not at run time: the first frame needs the category names only, not the imports of `block`.
    from ctxtui.core.block import Block, Place

CATEGORIES: Final = (
    "system",
    "tools",
    "memory",
    "user",
    "assistant",
    "thinking",
    "tool_call",
    "tool_result",
    "image",
    "document",
    "summary",
)

INDEX: Final = {name: i for i, name in enumerate(CATEGORIES)}

_BY_KIND: Final = {
    "tool": "tools",
    "not_recorded": "system",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "reasoning": "thinking",
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "document": "document",
    "file": "document",
    "input_file": "document",
    "search_result": "document",
    "compaction": "summary",
    "compaction_summary": "summary",
    "additional_tools": "tools",
    "tool_addition": "tools",
    "tool_removal": "tools",
    "mcp_list_tools": "tools",
    "mcp_tool_listing": "tools",
    "mcp_call": "tool_call",
    "program": "tool_call",
    "program_output": "tool_result",
    "function_response": "tool_result",
}
_BY_ROLE: Final = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool_result",
    "function": "tool_result",
}
"""Any other role: user."""
_BY_MARK: Final = {"summary": "summary", "memory": "memory", "file": "document"}


def _category_by_suffix(kind: str) -> str | None:
    # Providers add kinds (web_search_call, shell_call_output ...); the suffixes stay the same.
    if kind.endswith(("_result", "_output")):
        return "tool_result"
    if kind.endswith(("_use", "_call")):
        return "tool_call"
    return None


def category_of(block: Block, place: Place) -> str:
    """The category of `block` at `place`: by its mark, else its kind, else its section or role."""
    if place.mark in _BY_MARK:
        return _BY_MARK[place.mark]
    if block.kind != "header":
        category = _BY_KIND.get(block.kind) or _category_by_suffix(block.kind)
        if category:
            return category
    if place.section in ("tools", "system"):
        return place.section
    return _BY_ROLE.get(place.role, "user")
