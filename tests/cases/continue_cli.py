"""Sessions of Continue's CLI."""

from __future__ import annotations

import json
from typing import Any


def usage(prompt: int, output: int) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output, "model": "gpt-5"}


def user(text: Any, *attached: str) -> dict[str, Any]:
    files = [{"content": content, "name": f"{n}.py", "description": f"{n}.py"} for n, content in enumerate(attached)]
    return {"message": {"role": "user", "content": text}, "contextItems": files, "editorState": text}


def answer(text: str, prompt: int, *results: tuple[str, str]) -> dict[str, Any]:
    """An answer with a call for each of `results` (id, output)."""
    calls = [
        {"id": id_, "type": "function", "function": {"name": "Bash", "arguments": json.dumps({"command": f"do {id_}"})}}
        for id_, _ in results
    ]
    states = [
        {
            "toolCallId": call["id"],
            "toolCall": call,
            "status": "done",
            "parsedArgs": {"command": f"do {call['id']}"},
            "output": [{"content": output, "name": "Tool Result", "description": "Tool execution result"}],
        }
        for call, (_, output) in zip(calls, results, strict=True)
    ]
    message = {"role": "assistant", "content": text, "usage": usage(prompt, 9)}
    return {
        "message": message | ({"toolCalls": calls} if calls else {}),
        "contextItems": [],
        **({"toolCallStates": states} if states else {}),
    }


def session(*history: dict[str, Any]) -> dict[str, Any]:
    reports = [item["message"]["usage"] for item in history if "usage" in item["message"]]
    sums = {"promptTokens": sum(one["prompt_tokens"] for one in reports)}
    sums |= {"completionTokens": sum(one["completion_tokens"] for one in reports)}
    return {
        "sessionId": "8f40da91-2ce8-4835-9809-315d4dba38a2",
        "title": "Mend the shop",
        "workspaceDirectory": "/shop",
        "history": list(history),
        "mode": "agent",
        "usage": {"totalCost": 0.25, "promptTokensDetails": {"cachedTokens": 0, "cacheWriteTokens": 0}, **sums},
    }


def shop(turns: int = 3) -> dict[str, Any]:
    """Of each turn: a question, an answer with a call, one without."""
    history = []
    for n in range(1, turns + 1):
        history.append(user(f"question {n}", f"file {n}"))
        history.append(answer(f"I look, {n}.", 1000 * n, (f"call_{n}", f"output {n} {n}")))
        history.append(answer(f"It is {n}.", 1000 * n + 500))
    return session(*history)


def dump(value: dict[str, Any]) -> bytes:
    """As the client writes it."""
    return json.dumps(value, indent=2).encode()
