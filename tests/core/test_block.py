"""Blocks: markers are no content, kinds travel on, categories follow place and kind."""

import pytest

from ctxtui.core import block
from ctxtui.core.block import Place
from ctxtui.core.category import category_of

MARK = {"type": "ephemeral", "ttl": "1h"}


def test_markers_at_the_block_and_in_a_results_items_are_removed_but_never_inside_an_input() -> None:
    plain = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x"}]}
    marked = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": "x", "cache_control": MARK}],
        "cache_control": MARK,
    }
    assert block.from_part(marked) == block.from_part(plain)
    asked = {"type": "tool_use", "id": "t", "name": "n", "input": {"cache_control": MARK}}
    assert block.from_part({**asked, "cache_control": MARK}) == block.from_part(asked)
    assert b"cache_control" in block.from_part(asked).body


def test_taking_markers_out_leaves_the_value_that_came_in_alone() -> None:
    given = {"type": "text", "text": "x", "cache_control": MARK}
    block.from_part(given)
    assert given["cache_control"] is MARK


@pytest.mark.parametrize(
    ("kind", "place", "category"),
    [
        ("text", Place("system"), "system"),
        ("text", Place("messages", "system"), "system"),
        ("text", Place("messages", "developer"), "system"),
        ("text", Place("messages", "user"), "user"),
        ("text", Place("messages", "user", "summary"), "summary"),
        ("text", Place("messages", "user", "memory"), "memory"),
        ("text", Place("messages", "assistant"), "assistant"),
        ("text", Place("messages", "tool"), "tool_result"),
        ("header", Place("messages", "assistant"), "assistant"),
        ("tool", Place("tools"), "tools"),
        ("web_search_20260318", Place("tools"), "tools"),
        ("server_tool_use", Place("messages", "assistant"), "tool_call"),
        ("function_call_output", Place("messages", "tool"), "tool_result"),
        ("some_new_call", Place("messages", "assistant"), "tool_call"),
        ("reasoning", Place("messages", "assistant"), "thinking"),
        ("never_heard_of", Place("messages", "assistant"), "assistant"),
    ],
)
def test_categories(kind: str, place: Place, category: str) -> None:
    assert category_of(block.make(kind, {"type": kind}), place) == category
