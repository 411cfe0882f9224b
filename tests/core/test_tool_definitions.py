"""Definitions of which no tool was called."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.core import block as blocks
from ctxtui.core.tool_definitions import UncalledTools

WRITE, FILES_WRITE = {"name": "write"}, {"name": "mcp__files__write"}
NAMESPACE = {"type": "namespace", "name": "crm", "tools": [{"name": "find"}, {"name": "note"}]}
OTHER_NAMESPACE = {"type": "namespace", "name": "shop", "tools": [{"name": "find"}, {"name": "buy"}]}
TOOLSET = {"type": "mcp_toolset", "mcp_server_name": "crm"}
SEARCH = {"type": "web_search"}


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t", "name": name, "input": {}, **more}


@pytest.mark.parametrize(
    ("definitions", "calls", "uncalled"),
    [
        ([WRITE, FILES_WRITE], [call("write")], [FILES_WRITE]),
        ([WRITE, FILES_WRITE], [call("mcp__files__write")], [WRITE]),
        ([WRITE, NAMESPACE], [call("note", namespace="crm")], [WRITE]),
        ([WRITE, NAMESPACE], [call("crm")], [WRITE, NAMESPACE]),
        ([NAMESPACE, OTHER_NAMESPACE], [call("find", namespace="crm")], [OTHER_NAMESPACE]),
        ([NAMESPACE, OTHER_NAMESPACE], [call("find")], []),
        ([WRITE, TOOLSET], [{**call("find", server_name="crm"), "type": "mcp_tool_use"}], [WRITE]),
        ([WRITE, TOOLSET], [{**call("find", server_name="shop"), "type": "mcp_tool_use"}], [WRITE, TOOLSET]),
        ([WRITE], [call("write", namespace="functions")], []),
        ([SEARCH, WRITE], [{"type": "web_search_call", "id": "t", "status": "completed"}], [WRITE]),
        ([{"type": "web_search_preview_2025_03_11"}], [{"type": "web_search_call", "id": "t"}], []),
        ([{"type": "web_search_2025_08_26"}], [{"type": "web_search_call", "id": "t"}], []),
        ([{"type": "computer_use_preview"}], [{"type": "computer_call", "call_id": "t"}], []),
        ([WRITE], [], [WRITE]),
    ],
)
def test_definitions_without_a_call(definitions: list[Any], calls: list[Any], uncalled: list[Any]) -> None:
    tools = UncalledTools()
    for value in calls:
        tools.add_call(blocks.from_part(value))
    for value in definitions:
        tools.add_definitions(blocks.make("tool", value))
    assert tools.find() == {blocks.make("tool", value).digest for value in uncalled}
