"""A result is named after the call that it answers."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.analysis.content.duplicates import DuplicateFinder
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


def test_results_without_ids_answer_the_calls_of_one_message_in_their_order() -> None:
    calls = [{"function": {"name": "read_file", "arguments": {"path": path}}} for path in ("/a.py", "/b.py")]
    texts = ["\n".join(f"line {n} of {path} is not in the other file" for n in range(20)) for path in ("a", "b")]
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "", "tool_calls": calls},
            *({"role": "tool", "tool_name": "read_file", "content": text} for text in texts),
        ],
    }
    tree = Tree()
    head = tree.extend(ROOT, DIALECTS["ollama_chat"].decode_request(dumps(body), None).items)
    names = Names(tree)
    results = [node for node in tree.nodes() if node.kind == "text" and node.place.role == "tool"]
    called = [node.id for node in tree.nodes() if node.kind == "tool_call"]
    assert [names.call_of_result(node) for node in results] == called
    finder = DuplicateFinder(tree, names)
    finder.search_path(head)
    assert not finder.duplicates, "another file was not read again"
