"""Tools by server: every dialect's definitions and calls, loaded, deferred or found, used and never used."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.analysis.content.tools import DEFERRED, FOUND, LOADED, UNKNOWN, ToolUse, count_definitions, count_tool_calls
from ctxtui.core import block as blocks
from ctxtui.core.block import Item, Place
from ctxtui.core.tool_definitions import is_mcp, read_called_tool
from ctxtui.core.tree import ROOT, Tree
from tests.cases.sessions import Story
from tests.cases.sessions import use as call

TOOLS, SAID, HEARD = Place("tools"), Place("messages", "assistant"), Place("messages", "user")


def tool(name: str, **more: Any) -> Item:
    return Item(blocks.make("tool", {"name": name, "description": "does " * 20, "input_schema": {}, **more}), TOOLS)


def listed(value: dict[str, Any]) -> Item:
    return Item(blocks.make("tool", value), TOOLS)


def use(value: dict[str, Any]) -> Item:
    return Item(blocks.from_part(value), SAID)


def found(*items: Item) -> dict[str, dict[str, tuple[str, int]]]:
    tree = Tree()
    watch = ToolUse(tree)
    head = ROOT
    for item in items:
        head = tree.extend(head, [item])
        watch.read_path(head)
    servers = watch.servers(lambda node: len(tree[node].block.body))
    fresh = ToolUse(tree)
    fresh.read_path(head)
    assert fresh.servers(lambda node: len(tree[node].block.body)) == servers
    return {server.name: {one.name: (one.state, one.calls) for one in server.tools} for server in servers}


def test_a_client_names_the_server_in_the_tool() -> None:
    assert found(
        tool("Read"),
        tool("mcp__github__create_issue"),
        use({"type": "tool_use", "id": "1", "name": "mcp__github__create_issue", "input": {}}),
        use({"type": "tool_use", "id": "2", "name": "mcp__linear__list", "input": {}}),
    ) == {
        "": {"Read": (LOADED, 0)},
        "github": {"create_issue": (LOADED, 1)},
        "linear": {"list": (UNKNOWN, 1)},
    }


@pytest.mark.parametrize("order", [("write", "mcp__files__write"), ("mcp__files__write", "write")])
def test_a_tool_without_a_server_is_not_taken_for_a_servers_of_the_same_name(order: tuple[str, ...]) -> None:
    calls = [use({"type": "tool_use", "id": name, "name": name, "input": {"of": name}}) for name in ("write", "write")]
    assert found(*map(tool, order), *calls) == {"": {"write": (LOADED, 2)}, "files": {"write": (LOADED, 0)}}


def test_deferred_tools_are_found_by_a_search() -> None:
    result = {
        "type": "tool_search_tool_result",
        "tool_use_id": "1",
        "content": {"type": "tool_search_tool_search_result", "tool_references": [
            {"type": "tool_reference", "tool_name": "weather"}]},
    }  # fmt: skip
    assert found(
        tool("weather", defer_loading=True), tool("stocks", defer_loading=True), Item(blocks.from_part(result), HEARD)
    ) == {"": {"weather": (FOUND, 0), "stocks": (DEFERRED, 0)}}


def test_namespaces_of_responses() -> None:
    inner = [{"type": "function", "name": n, "parameters": {}, "defer_loading": n == "b"} for n in ("a", "b")]
    assert found(
        listed({"type": "namespace", "name": "crm", "description": "Customers.", "tools": inner}),
        use({"type": "function_call", "call_id": "1", "name": "a", "namespace": "crm", "arguments": "{}"}),
        use({"type": "function_call", "call_id": "2", "name": "a", "namespace": "mcp__crm__", "arguments": "{}"}),
        use({"type": "function_call", "call_id": "3", "name": "b", "arguments": "{}"}),
    ) == {"crm": {"a": (LOADED, 2), "b": (DEFERRED, 1)}}


def test_toolsets_and_listings_of_mcp_servers() -> None:
    listing = {
        "type": "mcp_list_tools",
        "id": "l",
        "server_label": "docs",
        "tools": [{"name": "ask"}, {"name": "look"}],
    }
    assert found(
        listed({"type": "mcp_toolset", "mcp_server_name": "hub", "default_config": {"defer_loading": True}}),
        use({"type": "mcp_tool_use", "id": "1", "name": "star", "server_name": "hub", "input": {}}),
        Item(blocks.from_part(listing), SAID),
        use({"type": "mcp_call", "id": "2", "name": "ask", "server_label": "docs", "arguments": "{}"}),
    ) == {"hub": {"": (DEFERRED, 0), "star": (UNKNOWN, 1)}, "docs": {"ask": (LOADED, 1), "look": (LOADED, 0)}}


def test_chat_wraps_a_function_once_more() -> None:
    wrapped = {"type": "function", "function": {"name": "ls", "parameters": {}}}
    call = {"id": "1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    made = Item(blocks.make("tool_call", call), SAID)
    assert found(listed(wrapped), made) == {"": {"ls": (LOADED, 1)}}


def test_tokens_of_a_listing_are_shared_out_and_unused_tools_counted() -> None:
    tree = Tree()
    inner = [{"type": "function", "name": "long", "description": "x" * 900}, {"type": "function", "name": "short"}]
    head = tree.extend(ROOT, [listed({"type": "namespace", "name": "n", "tools": inner}), tool("Read")])
    watch = ToolUse(tree)
    watch.read_path(head)
    servers = watch.servers(lambda node: 1000)
    assert [(one.name, one.tokens) for one in servers] == [("", 1000), ("n", 1000)]
    assert [one.name for one in servers[1].tools] == ["long", "short"] and count_definitions(servers) == (3, 3)
    assert watch.servers(None)[0].tokens is None


def test_calls_of_the_whole_thread_outlive_a_compaction() -> None:
    story = Story()
    story.user("go").call(call("t1", "Bash")).results(("t1", "a")).call(call("t2", "Bash"), call("t3", "Read"))
    story.head = ROOT
    story.user("summary").call(call("t4", "Bash"))
    tree, calls = story.session.tree, story.session.thread_calls()
    assert count_tool_calls(tree, calls) == {("", "Bash"): 3, ("", "Read"): 1}
    assert count_tool_calls(tree, calls[:1]) == {("", "Bash"): 1}
    watch = ToolUse(tree)
    watch.read_path(calls[-1].sent_head)
    assert watch.servers(None) == []
    assert [(one.name, one.calls) for one in watch.servers(None, count_tool_calls(tree, calls))[0].tools] == [
        ("Bash", 3),
        ("Read", 1),
    ]


def test_a_server_of_any_name_is_looked_up() -> None:
    block = blocks.from_part({"type": "tool_use", "id": "t", "name": "mcp__\ud800__x", "input": {}})
    server, name = read_called_tool(block)
    assert (server, name) == ("\ud800", "x") and is_mcp(block, server) and not is_mcp(block, "other")
