"""A result is named after the call that it answers."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.analysis.short_names import Names
from ctxtui.core.canonical import dumps
from ctxtui.core.tree import ROOT, Tree
from ctxtui.wire.registry import DIALECTS

GOOGLE = [
    {"role": "user", "parts": [{"text": "go"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": {"path": "a.py"}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {"output": "text"}}}]},
]
OLLAMA = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "read_file", "arguments": {"path": "a"}}}],
    },
    {"role": "tool", "tool_name": "read_file", "content": "text"},
]
LEGACY = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": None, "function_call": {"name": "read_file", "arguments": "{}"}},
    {"role": "function", "name": "read_file", "content": "text"},
]


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("google", {"contents": GOOGLE}),
        ("ollama_chat", {"model": "m", "messages": OLLAMA}),
        ("openai_chat", {"model": "m", "messages": LEGACY}),
    ],
)
def test_a_result_without_an_id_finds_its_call_by_the_name_of_the_tool(dialect: str, body: dict[str, Any]) -> None:
    tree = Tree()
    head = tree.extend(ROOT, DIALECTS[dialect].decode_request(dumps(body), None).items)
    (call,) = (node.id for node in tree.nodes() if node.kind in ("function_call", "tool_call"))
    names = Names(tree)
    assert names.call_of_result(tree[head]) == call
    assert names.label(tree[head]) == "read_file"
