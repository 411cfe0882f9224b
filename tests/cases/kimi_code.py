"""Look-alikes of Kimi Code's records of an agent, by hand."""

from __future__ import annotations

import json
from typing import Any

Record = dict[str, Any]
SYSTEM = "You are a helper."
LS = {"name": "Bash", "description": "Runs a command.", "input_schema": {"type": "object"}}


class Script:
    """Writes records one after another as the client does."""

    def __init__(self) -> None:
        self.records: list[Record] = [{"type": "metadata", "protocol_version": "1.5", "created_at": 1}]
        self.put("profile.bind", modelAlias="own", systemPrompt=SYSTEM)
        self.put("llm.tools_snapshot", hash="h", tools=[LS])
        self.turn, self.step, self.read = -1, 0, 0

    def put(self, type_: str, **fields: Any) -> None:
        self.records.append({"type": type_, "agentId": "main", **fields, "time": 1_795_904_570_000 + len(self.records)})

    def event(self, type_: str, **fields: Any) -> None:
        self.put("context.append_loop_event", event={"type": type_, **fields})

    def message(self, words: str, origin: Record | None = None) -> None:
        message = {"role": "user", "content": [text(words)], "toolCalls": [], "origin": origin or {"kind": "user"}}
        self.put("context.append_message", message=message)

    def user(self, words: str) -> None:
        self.turn, self.step = self.turn + 1, 0
        self.put("turn.prompt", input=[text(words)], turnId=self.turn)
        self.message(words)

    def answer(self, *parts: Record, fresh: int = 900, output: int = 40) -> None:
        """An answer; a call has its `result` beside it."""
        self.step += 1
        uuid = f"step-{self.turn}-{self.step}"
        own = {"turnId": str(self.turn), "step": self.step}
        used = {"inputOther": 0, "output": output, "inputCacheRead": self.read, "inputCacheCreation": fresh}
        self.read += fresh
        self.event("step.begin", uuid=uuid, **own)
        request = {"provider": "anthropic", "model": "claude-sonnet-4-5", "toolsHash": "h"}
        self.put("llm.request", kind="loop", turnStep=f"{self.turn}.{self.step}", **request)
        self.put("usage.record", model="own", usage=used, usageScope="turn")
        self.put("token_counting.measured", length=2, tokens=self.read + output)
        for number, part in enumerate(parts):
            id_ = f"{uuid}-{number}"
            if "toolCallId" in part:
                called = {key: value for key, value in part.items() if key != "result"}
                self.event("tool.call", uuid=id_, stepUuid=uuid, display={"kind": "command"}, **own, **called)
            else:
                self.event("content.part", uuid=id_, stepUuid=uuid, part=part, **own)
        for number, part in enumerate(parts):
            if "result" in part:
                answered = {"parentUuid": f"{uuid}-{number}", "toolCallId": part["toolCallId"]}
                self.event("tool.result", result=part["result"], **answered)
        reason = "tool_use" if any("result" in part for part in parts) else "end_turn"
        self.event(
            "step.end", uuid=uuid, finishReason=reason, rawFinishReason=reason, usage=used, messageId=f"m-{uuid}", **own
        )

    def dump(self) -> bytes:
        return b"".join(json.dumps(one).encode() + b"\n" for one in self.records)


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def think(words: str) -> Record:
    return {"type": "think", "think": words, "encrypted": "c2ln"}


def call(id_: str, output: Any, **result: Any) -> Record:
    """A call with its result."""
    args = {"command": "ls"}
    return {"toolCallId": id_, "name": "Bash", "args": args, "result": {"output": output, "durationMs": 250, **result}}


def shop(turns: int = 3) -> Script:
    script = Script()
    for n in range(1, turns + 1):
        script.user(f"question {n}")
        if n == 1:
            script.message("<system-reminder>note</system-reminder>", {"kind": "injection", "variant": "date_change"})
        script.answer(think(f"hm {n}"), call(f"c{n}", f"output {n} " * 20))
        script.answer(text(f"aside {n}"), text(f"answer {n}"))
        script.put("turn.ended", turnId=script.turn)
    return script


def state() -> bytes:
    """The session's `state.json`."""
    agents = {"main": {"homedir": "/elsewhere/main", "type": "main"}, "agent-0": {"type": "sub"}}
    told = {
        "id": "session_old",
        "version": 2,
        "cwd": "/shop",
        "title": "The shop",
        "agents": agents,
        "custom": {"a": 1},
    }
    return json.dumps(told).encode()
