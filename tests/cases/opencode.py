"""Look-alikes of OpenCode's sessions by hand: what ``opencode export`` writes, and the rows of the database."""

from __future__ import annotations

import json
from typing import Any

Record = dict[str, Any]

SESSION = "ses_dfb0eac50ffeEIovvDoXdZSeis"
START = 1_795_378_400_000


class Script:
    """Writes messages one after another as OpenCode keeps them; ids ascend with time."""

    def __init__(self) -> None:
        self.count = 0
        self.read = 0
        self.messages: list[Record] = []

    def id(self, kind: str) -> str:
        """The next id of a message (``msg``) or part (``prt``)."""
        self.count += 1
        return f"{kind}_{0x204E00000000 + self.count * 0x1000:012x}Abcdefghijklmn"

    def _put(self, info: Record, parts: list[Record]) -> Record:
        id_ = self.id("msg")
        info |= {"id": id_, "sessionID": SESSION}
        owned = {"sessionID": SESSION, "messageID": id_}
        self.messages.append({"info": info, "parts": [{"id": self.id("prt"), **owned, **part} for part in parts]})
        return self.messages[-1]

    @property
    def clock(self) -> int:
        """Milliseconds, later with every message."""
        return START + 1000 * len(self.messages)

    def user(self, words: str, *more: Record) -> Record:
        """What a person asks."""
        model = {"providerID": "anthropic", "modelID": "claude-opus-4-6"}
        info = {"role": "user", "time": {"created": self.clock}, "agent": "build", "model": model}
        return self._put(info, [{"type": "text", "text": words}, *more])

    def answer(self, *parts: Record, fresh: int = 900, output: int = 40, **more: Any) -> Record:
        """One request with its answer; `fresh` tokens are new since the one before."""
        tokens = {"total": self.read + fresh + output, "input": 0, "output": output, "reasoning": 0}
        tokens["cache"] = {"read": self.read, "write": fresh}
        self.read += fresh
        asked = next((one["info"]["id"] for one in reversed(self.messages) if one["info"]["role"] == "user"), "")
        info = {"parentID": asked, "role": "assistant", "mode": "build", "agent": "build", "cost": 0.01}
        info |= {"tokens": tokens, "modelID": "claude-opus-4-6", "providerID": "anthropic", "finish": "stop"}
        info |= {"time": {"created": self.clock, "completed": self.clock + 500}, "path": {"cwd": "/shop", "root": "/"}}
        step = {"type": "step-finish", "reason": "stop", "tokens": tokens, "cost": 0.01}
        return self._put({**info, **more}, [{"type": "step-start"}, *parts, step])

    def dump(self) -> bytes:
        """The export."""
        info = {"id": SESSION, "slug": "shiny-canyon", "projectID": "p1", "directory": "/shop", "title": "The shop"}
        info |= {"version": "1.18.33", "time": {"created": START, "updated": self.clock}}
        return json.dumps({"info": info, "messages": self.messages}, indent=2).encode()

    def rows(self) -> bytes:
        """The same as rows of the database, whose columns hold the ids."""
        lines: list[Record] = [{"rows_of": ["session", "message", "part"]}]
        row = {"id": SESSION, "project_id": "p1", "slug": "shiny-canyon", "directory": "/shop", "title": "The shop"}
        row |= {"version": "1.18.33", "parent_id": None, "time_created": START, "time_updated": self.clock}
        lines.append({"table": "session", "row": row})
        for message in self.messages:
            info = {key: value for key, value in message["info"].items() if key not in ("id", "sessionID")}
            row = {"id": message["info"]["id"], "session_id": SESSION, "time_created": info["time"]["created"]}
            lines.append({"table": "message", "row": {**row, "data": json.dumps(info)}})
            for part in message["parts"]:
                data = {key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")}
                row = {"id": part["id"], "message_id": part["messageID"], "session_id": SESSION}
                lines.append({"table": "part", "row": {**row, "data": json.dumps(data)}})
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def reasoning(words: str) -> Record:
    return {"type": "reasoning", "text": words, "metadata": {"anthropic": {"signature": "c2ln"}}}


def tool(call_id: str, output: str, name: str = "bash", **given: Any) -> Record:
    state = {"status": "completed", "input": given or {"command": "ls"}, "output": output, "title": name}
    state |= {"metadata": {}, "time": {"start": START, "end": START}}
    return {"type": "tool", "callID": call_id, "tool": name, "state": state}


def shop(turns: int = 3) -> Script:
    """Turns with a tool call each."""
    script = Script()
    for n in range(1, turns + 1):
        script.user(f"question {n}")
        script.answer(reasoning(f"hm {n}"), text(f"aside {n}"), tool(f"call_{n}", f"output {n} " * 30))
        script.answer(text(f"answer {n}"))
    return script
