"""Sessions of Copilot CLI: records of events, one a line."""

from __future__ import annotations

import json
from typing import Any, Final

ID: Final = "0199a213-81c0-7800-8aa1-000000000004"
WORKSPACE: Final = f"""\
id: {ID}
cwd: /shop
client_name: github/cli
name: "Mend the shop: it's broken"
user_named: false
created_at: 2026-11-28T22:00:05.254Z
"""
"""What the client keeps beside the events."""


class Script:
    """A session that grows by records, each the child of the one before."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.add("session.start", sessionId=ID, producer="copilot-agent", version=1, context={"cwd": "/shop"})
        self.add("system.message", role="system", content="You are a CLI.")

    def add(self, kind: str, **data: Any) -> None:
        number = len(self.records)
        before = self.records[-1]["id"] if self.records else None
        time = f"2026-11-28T22:{number // 60:02}:{number % 60:02}.000Z"
        self.records.append({"type": kind, "data": data, "id": f"e{number}", "timestamp": time, "parentId": before})

    def ask(self, text: str) -> None:
        self.add("user.message", content=text, transformedContent=f"<now/>\n\n{text}", messageId=f"u-{text}")

    def answer(self, id_: str, text: str, *calls: str, thought: str = "", used: int = 0, **more: Any) -> None:
        """An answer, after its usage record if it `used` tokens."""
        if used:
            usage = {"model": "gpt-5", "inputTokens": used, "outputTokens": 9, "cacheReadTokens": 0, "apiCallId": id_}
            self.add("session.usage_record", usage=usage)
        requests = [
            {"toolCallId": call, "name": "bash", "arguments": {"command": f"do {call}"}, "type": "function"}
            for call in calls
        ]
        block = {"provider": "anthropic", "blocks": [{"type": "thinking", "thinking": thought}]}
        thinking = {"reasoningText": thought, "reasoningOpaque": "c2ln", "reasoningBlocks": block} if thought else {}
        about = {"messageId": f"m-{id_}", "apiCallId": id_, "model": "gpt-5"}
        self.add("assistant.message", **about, content=text, toolRequests=requests, **thinking, **more)
        for call in calls:
            self.add("tool.execution_start", toolCallId=call, toolName="bash")

    def result(self, call: str, text: str, **more: Any) -> None:
        result = {"content": text, "detailedContent": f"diff of {text}"}
        self.add("tool.execution_complete", **{"toolCallId": call, "success": True, "result": result, **more})

    def dump(self) -> bytes:
        """As the client writes it."""
        return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in self.records)


def shop(turns: int = 3) -> Script:
    """Of each turn: a question, an answer with a call, its result, an answer without; then the client ends."""
    script = Script()
    for n in range(1, turns + 1):
        script.ask(f"question {n}")
        script.answer(f"a{n}", f"I look, {n}.", f"t{n}", thought=f"hm {n}", used=1000 * n)
        script.result(f"t{n}", f"output {n}")
        script.answer(f"b{n}", f"It is {n}.", used=1000 * n + 500)
    script.add("session.shutdown", shutdownType="routine", currentTokens=900)
    return script
