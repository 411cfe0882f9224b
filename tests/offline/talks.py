"""Legal requests in each dialect, and edits of them, for case tables."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

Body = dict[str, Any]
Edit = Callable[[Body], None]

READ = {
    "name": "read_file",
    "description": "reads a file",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


def anthropic(**more: Any) -> Body:
    """A question, a call with its result, an answer, a further question."""
    messages = [
        {"role": "user", "content": "What is in a.txt?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "hello"},
                {"type": "text", "text": "Go on."},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "It says hello."}]},
        {"role": "user", "content": "Thanks. Now read b.txt and find x."},
    ]
    body = {
        "model": "claude-opus-4-8",
        "max_tokens": 1000,
        "system": [{"type": "text", "text": "Be kind."}],
        "tools": [READ],
        "messages": messages,
    }
    return copy.deepcopy({**body, **more})


def chat(**more: Any) -> Body:
    """The same in Chat."""
    call = {"id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"a.txt"}'}}
    inner = {"name": "read_file", "description": "reads a file", "parameters": READ["input_schema"]}
    body = {
        "model": "gpt-5.4",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "What is in a.txt?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "hello"},
            {"role": "assistant", "content": "It says hello."},
            {"role": "user", "content": [{"type": "text", "text": "Thanks. Now read b.txt and find x."}]},
        ],
        "tools": [{"type": "function", "function": inner}],
    }
    return copy.deepcopy({**body, **more})


def responses(**more: Any) -> Body:
    """The same in Responses."""
    said = [{"type": "output_text", "text": "hello", "annotations": []}]
    tool = {"type": "function", "name": "read_file", "description": "reads", "parameters": READ["input_schema"]}
    body = {
        "model": "gpt-5.4",
        "instructions": "Be kind.",
        "input": [
            {"role": "user", "content": "What is in a.txt?"},
            {"type": "function_call", "call_id": "call_1", "name": "read_file", "arguments": '{"path":"a.txt"}'},
            {"type": "function_call_output", "call_id": "call_1", "output": "hello"},
            {
                "type": "message",
                "role": "assistant",
                "content": said,
            },
            {"role": "user", "content": [{"type": "input_text", "text": "Thanks. Now read b.txt and find x."}]},
        ],
        "tools": [tool],
    }
    return copy.deepcopy({**body, **more})


def edited(body: Body, edit: Edit) -> Body:
    """`body` after `edit`."""
    edit(body)
    return body


def at(path: str, value: Any) -> Edit:
    """Puts `value` at ``messages.1.content.0.text``."""

    def edit(body: Body) -> None:
        *steps, last = [int(s) if s.isdigit() else s for s in path.split(".")]
        inner: Any = body
        for step in steps:
            inner = inner[step]
        if isinstance(last, int) and isinstance(inner, list) and last == len(inner):
            inner.append(value)
        else:
            inner[last] = value

    return edit


def without(path: str) -> Edit:
    """Takes away what stands at a path."""

    def edit(body: Body) -> None:
        *steps, last = [int(s) if s.isdigit() else s for s in path.split(".")]
        inner: Any = body
        for step in steps:
            inner = inner[step]
        del inner[last]

    return edit
