"""Remove fields that clients add to blocks in their recordings and that providers refuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core.block import HEADER, Item

_KNOWN_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    kind: frozenset(("type", *fields.split()))
    for kind, fields in {
        "text": "text citations",
        "tool_use": "id name input caller toolset_name",
        "tool_result": "tool_use_id content is_error toolset_name",
        "function_call": "id call_id name arguments status namespace",
        "function_call_output": "id call_id output status",
        "custom_tool_call": "id call_id name input status namespace",
        "custom_tool_call_output": "id call_id output",
        "input_text": "text",
        "output_text": "text annotations",
    }.items()
}
"""The fields of the most common kinds (facts §1, §4); other kinds stay as they are."""
_HEADER: Final = frozenset(
    "type role content name id status phase refusal tool_calls tool_call_id function_call audio reasoning_content"
    " reasoning parts thinking images tool_name tools author recipient".split()
)
"""The fields of a message's header that a provider may know, of all dialects together."""


def without_client_fields(item: Item) -> Item:
    """Remove the fields of `item` that no provider knows; the same object if there are none."""
    known_fields = _HEADER if item.block.kind == HEADER else _KNOWN_FIELDS.get(item.block.kind)
    value = item.block.value() if known_fields is not None else None
    if known_fields is None or not isinstance(value, dict) or value.keys() <= known_fields:
        return item
    fields = {key: member for key, member in value.items() if key in known_fields}
    return Item(blocks.make(item.block.kind, fields), item.place)
