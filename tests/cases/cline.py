"""Sessions of Cline: their messages, and the details beside them."""

from __future__ import annotations

import json
from typing import Any, Final

ID: Final = "1790000000000_abcde"


def asked(text: str, mode: str = "act", **more: Any) -> Any:
    wrapped = f'<user_input mode="{mode}">{text}</user_input>'
    return {"id": "u", "role": "user", "content": [{"type": "text", "text": wrapped}], "ts": 1_796_029_490_660, **more}


def said(id_: str, *parts: Any, provider: str = "anthropic", used: tuple[int, ...] = (150, 9, 40, 60)) -> Any:
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    return {
        "id": id_,
        "role": "assistant",
        "content": list(parts),
        "ts": 1_796_029_497_245,
        "modelInfo": {"id": "claude-sonnet-4-5", "provider": provider},
        "metrics": dict(zip(names, used, strict=True)),
    }


def text(words: str) -> Any:
    return {"type": "text", "text": words}


def use(id_: str) -> Any:
    return {"type": "tool_use", "id": id_, "name": "read_files", "input": {"files": ["a"]}}


def result(id_: str, content: Any, **more: Any) -> Any:
    part = {"type": "tool_result", "tool_use_id": id_, "name": "read_files", "content": content, **more}
    return {"id": f"r{id_}", "role": "user", "content": [part]}


def session(*messages: Any, agent: str = "lead", id_: str = ID, **more: Any) -> Any:
    sent = messages or (asked("Which?"), said("m1", use("t1")), result("t1", [{"query": "a"}]), said("m2", text("a")))
    origin = {"sessionId": id_, "version": "3.0.65"}
    own = {"version": 1, "agent": agent, "sessionId": id_, "origin": origin, "messages": list(sent)}
    return {**own, "system_prompt": "You are Cline.", **more}


def shop(turns: int = 3) -> Any:
    """Of each turn: a question, an answer with a call, its result, an answer without."""
    sent = []
    for n in range(1, turns + 1):
        sent += [
            asked(f"question {n}"),
            said(f"m{n}", text(f"I look, {n}."), use(f"t{n}"), used=(1000 * n, 9, 0, 0)),
            result(f"t{n}", [{"query": "a", "result": f"output {n}", "success": True}]),
            said(f"n{n}", text(f"It is {n}."), used=(1000 * n + 500, 9, 0, 0)),
        ]
    return session(*sent)


def details(id_: str = ID, **more: Any) -> Any:
    """What Cline keeps beside the messages."""
    usage = {"inputTokens": 900, "outputTokens": 90, "totalCost": 0.25}
    return {
        "version": 1,
        "session_id": id_,
        "source": "cli",
        "pid": 7,
        "status": "running",
        "cwd": "/shop",
        "metadata": {"title": "Mend the shop", "totalCost": 0.25, "usage": usage, "aggregateUsage": usage},
        "messages_path": f"/home/a/.cline/data/sessions/{id_}/{id_}.messages.json",
        **more,
    }


def dump(value: Any) -> bytes:
    """As the client writes it."""
    return json.dumps(value, indent=2).encode()
