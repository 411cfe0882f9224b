"""Look-alikes of Qwen Code's chats, a tree of records, by hand."""

from __future__ import annotations

import json
from typing import Any

Record = dict[str, Any]


class Script:
    """Writes records one after another as the client does, each a child of the one before."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.tip: str | None = None

    def put(self, type_: str, **fields: Any) -> str:
        id_ = f"{len(self.records):08x}-1111-4111-8111-111111111111"
        own = {"sessionId": "0ld", "timestamp": "2026-11-28T22:04:44.648Z", "cwd": "/shop", "version": "0.24.4"}
        self.records.append({"uuid": id_, "parentUuid": self.tip, "type": type_, **own, **fields})
        self.tip = id_
        return id_

    def user(self, words: str) -> str:
        return self.put("user", message={"role": "user", "parts": [text(words)]})

    def answer(self, *parts: Record, prompt: int = 900, output: int = 40) -> str:
        usage = {"promptTokenCount": prompt, "candidatesTokenCount": output, "totalTokenCount": prompt + output}
        usage |= {"cachedContentTokenCount": 0, "thoughtsTokenCount": 0}
        message = {"role": "model", "parts": list(parts)}
        return self.put("assistant", model="qwen3-coder-plus", message=message, usageMetadata=usage)

    def result(self, call: str, words: str, key: str = "output", **more: Any) -> str:
        part = {"functionResponse": {"id": call, "name": "ls", "response": {key: words}, **more}}
        shown = {"callId": call, "status": "success", "resultDisplay": words}
        return self.put("tool_result", message={"role": "user", "parts": [part]}, toolCallResult=shown)

    def compaction(self, *history: Any, tokens: int = 300) -> str:
        payload = {"info": {"newTokenCount": tokens}, "compressedHistory": list(history)}
        return self.put("system", subtype="chat_compression", systemPayload=payload)

    def dump(self) -> bytes:
        return b"".join(json.dumps(one).encode() + b"\n" for one in self.records)


def text(words: str) -> Record:
    return {"text": words}


def call(name: str) -> Record:
    return {"functionCall": {"id": name, "name": "ls", "args": {"path": "."}}}


def shop(turns: int = 3) -> Script:
    script = Script()
    for n in range(1, turns + 1):
        script.user(f"question {n}")
        script.put("system", subtype="ui_telemetry", systemPayload={"uiEvent": {"event.name": "qwen-code.tool_call"}})
        script.answer({"text": f"hm {n}", "thought": True}, call(f"c{n}"), prompt=900 * n)
        script.result(f"c{n}", f"output {n} " * 20)
        script.answer(text(f"aside {n}"), text(f"answer {n}"), prompt=900 * n + 100)
    script.put("system", subtype="custom_title", systemPayload={"customTitle": "The shop"})
    return script
