"""Look-alikes of Claude Code's session files by hand, record by record."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

Record = dict[str, Any]

SESSION = "5e551011-0000-4000-8000-000000000001"
OPUS = "claude-opus-4-6"
EPOCH = datetime(2026, 2, 7, 9, 0, tzinfo=UTC)


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def thinking(words: str, signature: str = "c2ln") -> Record:
    return {"type": "thinking", "thinking": words, "signature": signature}


def tool_use(call_id: str, name: str = "Bash", **arguments: Any) -> Record:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments or {"command": "ls"}}


def tool_result(call_id: str, content: Any = "done", **more: Any) -> Record:
    return {"tool_use_id": call_id, "type": "tool_result", "content": content, **more}


def usage(fresh: int = 3, read: int = 0, write: int = 0, output: int = 1, hour: int = 0) -> Record:
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": write + hour,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": write, "ephemeral_1h_input_tokens": hour},
        "output_tokens": output,
        "service_tier": "standard",
    }


class Script:
    """Writes records one after another as the client does: each names the one before as its parent.

    `tip` is the uuid that the next record names; set it to go back. A record's own uuid is ``u1``, ``u2`` ... in the
    order of writing (`prefix` replaces the ``u``), so that scripts can point at them.
    """

    def __init__(self, *, session: str = SESSION, version: str = "2.1.62", prefix: str = "u", **common: Any) -> None:
        self.session, self.version, self.prefix, self.common = session, version, prefix, common
        self.records: list[Record] = []
        self.tip: str | None = None
        self.count = 0
        self.clock = EPOCH

    def put(self, type_: str, *, seconds: float = 1.0, **fields: Any) -> str:
        """One record in the chain; gives its uuid."""
        self.count += 1
        self.clock += timedelta(seconds=seconds)
        uuid = f"{self.prefix}{self.count}"
        record = {
            "parentUuid": self.tip,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/ada/shop",
            "sessionId": self.session,
            "version": self.version,
            "gitBranch": "main",
            "type": type_,
            **self.common,
            "uuid": uuid,
            "timestamp": self.clock.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.clock.microsecond // 1000:03d}Z",
            **fields,
        }
        self.records.append(record)
        self.tip = uuid
        return uuid

    def user(self, content: Any, **fields: Any) -> str:
        """What a person (or, with isMeta, the client) says."""
        return self.put("user", message={"role": "user", "content": content}, **fields)

    def assistant(
        self,
        *blocks: Record,
        id: str,
        use: Record | None = None,
        stop: str | None = None,
        model: str = OPUS,
        **fields: Any,
    ) -> list[str]:
        """One record per block, all of the API response `id`; `stop` stands on the last one only."""
        uuids = []
        for block in blocks:
            message = {
                "model": model,
                "id": id,
                "type": "message",
                "role": "assistant",
                "content": [block],
                "stop_reason": stop if block is blocks[-1] else None,
                "stop_sequence": None,
                "usage": use or usage(),
            }
            uuids.append(self.put("assistant", message=message, **{"requestId": f"req_{id}", **fields}))
        return uuids

    def result(self, call_id: str, content: Any = "done", *, parent: str | None = None, **fields: Any) -> str:
        """The result of a call; `parent` is the record of the call where several run in parallel."""
        if parent is not None:
            self.tip = parent
        return self.user([tool_result(call_id, content)], **fields)

    def loose(self, type_: str, **fields: Any) -> None:
        """A record outside the chain (summary, snapshot, queue-operation)."""
        self.records.append({"type": type_, **fields})

    def dump(self) -> bytes:
        """The file."""
        return dump(self.records)


def dump(records: list[Record]) -> bytes:
    """Records as the client writes them: minified, one per line."""
    return b"".join(line(record) + b"\n" for record in records)


def line(record: Record) -> bytes:
    """One record as the client writes it, without line end."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
