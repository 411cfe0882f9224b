"""Look-alikes of pi's session files, a tree of entries, by hand."""

from __future__ import annotations

import json
from typing import Any

Record = dict[str, Any]


class Script:
    """Writes entries one after another as pi does, each a child of the one before."""

    def __init__(self) -> None:
        head = {"type": "session", "version": 3, "id": "old", "timestamp": "2026-11-22T09:43:04.455Z", "cwd": "/shop"}
        self.records: list[Record] = [head]
        self.tip: str | None = None
        self.read = 0

    def put(self, type_: str, **fields: Any) -> str:
        id_ = f"{len(self.records):08x}"
        stamp = f"2026-11-22T09:44:{len(self.records) % 60:02}.000Z"
        self.records.append({"type": type_, "id": id_, "parentId": self.tip, "timestamp": stamp, **fields})
        self.tip = id_
        return id_

    def user(self, words: str) -> str:
        return self.put("message", message={"role": "user", "content": [text(words)], "timestamp": 1})

    def answer(self, *parts: Record, fresh: int = 900, output: int = 40) -> str:
        usage = {"input": 0, "output": output, "cacheRead": self.read, "cacheWrite": fresh}
        usage |= {"totalTokens": self.read + fresh + output, "cost": {"total": 0.01}}
        self.read += fresh
        message = {"role": "assistant", "content": list(parts), "api": "anthropic-messages", "provider": "anthropic"}
        message |= {"model": "claude-opus-4-6", "usage": usage, "stopReason": "stop", "timestamp": 2}
        return self.put("message", message=message)

    def result(self, call: str, words: str) -> str:
        message = {"role": "toolResult", "toolCallId": call, "toolName": "bash", "content": [text(words)]}
        return self.put("message", message={**message, "isError": False, "timestamp": 3})

    def dump(self) -> bytes:
        return b"".join(json.dumps(one).encode() + b"\n" for one in self.records)


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def call(name: str) -> Record:
    return {"type": "toolCall", "id": name, "name": "bash", "arguments": {"command": "ls"}}


def shop(turns: int = 3) -> Script:
    script = Script()
    script.put("model_change", provider="anthropic", modelId="claude-opus-4-6")
    for n in range(1, turns + 1):
        script.user(f"question {n}")
        script.answer({"type": "thinking", "thinking": f"hm {n}", "thinkingSignature": "c2ln"}, call(f"c{n}"))
        script.result(f"c{n}", f"output {n} " * 20)
        script.answer(text(f"aside {n}"), text(f"answer {n}"))
    return script
