"""Small agents over the real SDKs: what they are told, they send back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import anthropic
import openai

READ = {
    "name": "read_file",
    "description": "Reads a file",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
GREP = {
    "name": "grep",
    "description": "Searches files",
    "input_schema": {
        "type": "object",
        "properties": {"pattern": {"type": "string"}, "path": {"type": "string"}},
        "required": ["pattern"],
    },
}
FILES = {"a.txt": "the host is example.org\nthe port is 8080\n", "b.txt": "nothing here\n"}
CHAT_TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": t["name"], "description": t["description"], "parameters": t["input_schema"]},
    }
    for t in (READ, GREP)
]
RESPONSES_TOOLS: Any = [{"type": "function", "strict": False, **tool["function"]} for tool in CHAT_TOOLS]

Run = Callable[[str, Mapping[str, Any]], str]


def run(name: str, given: Mapping[str, Any]) -> str:
    """The tools: reading from `FILES`, searching in them."""
    if name == "read_file":
        return FILES[given["path"]]
    return "\n".join(f"{path}:1:{text}" for path, text in FILES.items() if given["pattern"] in text)


def anthropic_loop(
    client: anthropic.Anthropic, task: str, **more: Any
) -> tuple[list[Any], list[anthropic.types.Message]]:
    """Until the model rests; the messages sent in all, and the answers."""
    messages: list[Any] = [{"role": "user", "content": task}]
    answers: list[anthropic.types.Message] = []
    while True:
        asked = {"model": "offline", "max_tokens": 2000, "tools": [READ, GREP], **more}
        with client.messages.stream(messages=messages, **asked) as stream:
            stream.until_done()
            answer = stream.get_final_message()
        answers.append(answer)
        messages.append({"role": "assistant", "content": answer.content})
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return messages, answers
        results = [{"type": "tool_result", "tool_use_id": c.id, "content": run(c.name, c.input)} for c in calls]  # type: ignore[arg-type]
        messages.append({"role": "user", "content": results})


def chat_loop(client: openai.OpenAI, task: str, model: str = "offline") -> tuple[list[Any], list[Any]]:
    """The same in Chat."""
    messages: list[Any] = [{"role": "user", "content": task}]
    answers: list[Any] = []
    while True:
        answer = client.chat.completions.create(model=model, messages=messages, tools=CHAT_TOOLS)
        answers.append(answer)
        said = answer.choices[0].message
        messages.append(said.to_dict(exclude_none=True) | {"content": said.content})
        for call in said.tool_calls or []:
            assert call.type == "function"
            result = run(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if not said.tool_calls:
            return messages, answers


def responses_loop(client: openai.OpenAI, task: str, *, store: bool, model: str = "offline") -> list[Any]:
    """The same in Responses: with what the server keeps, or with everything sent again."""
    items: list[Any] = [{"role": "user", "content": task}]
    kept: str | None = None
    answers: list[Any] = []
    while True:
        asked: dict[str, Any] = {"previous_response_id": kept} if kept and store else {}
        answer = client.responses.create(model=model, input=items, tools=RESPONSES_TOOLS, store=store, **asked)
        answers.append(answer)
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return answers
        results = [
            {"type": "function_call_output", "call_id": c.call_id, "output": run(c.name, json.loads(c.arguments))}
            for c in calls
        ]
        kept = answer.id
        said = [item.to_dict(exclude_none=True) for item in answer.output]
        items = results if store else [*items, *said, *results]
