"""Generated recordings that look like Claude Code's and Codex's: texts are made here, none is anybody's."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any
from zlib import crc32

EPOCH = 1_760_000_000


def stamp(second: float) -> str:
    """A time as both clients write it."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(EPOCH + second, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class ClaudeCode:
    """Writes a Claude Code session record by record, with usage that adds up."""

    def __init__(self, seed: int = 1, model: str = "claude-opus-4-20250514", cwd: str = "/tmp/project") -> None:
        self.session = str(uuid.UUID(int=seed))
        self.model = model
        self.cwd = cwd
        self.at = 0
        self.calls = 0
        self.parent: str | None = None
        self.read = 0
        self.agent = ""

    def record(self, kind: str, **more: Any) -> dict[str, Any]:
        """A record with the common keys, after the one before."""
        self.at += 1
        own = str(uuid.UUID(int=self.at + 10_000 * (crc32(self.agent.encode()) % 97)))
        found = {
            "parentUuid": self.parent,
            "isSidechain": bool(self.agent),
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": "2.1.62",
            "type": kind,
            "uuid": own,
            "timestamp": stamp(self.at),
            **({"agentId": self.agent} if self.agent else {}),
            **more,
        }
        self.parent = own
        return found

    def user(self, text: str) -> dict[str, Any]:
        """A user's prompt."""
        return self.record("user", message={"role": "user", "content": text})

    def usage(self, written: int) -> dict[str, Any]:
        """A report that reads what the call before left."""
        found = {
            "input_tokens": 4,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": self.read,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 50,
            "service_tier": "standard",
        }
        self.read += written
        return found

    def answer(self, text: str, tool: dict[str, Any] | None = None, written: int = 900) -> list[dict[str, Any]]:
        """One response: a record per content block, all with the same message id."""
        self.calls += 1
        usage = self.usage(written)
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if tool is not None:
            blocks.append(
                {"type": "tool_use", "id": f"toolu_{self.agent}{self.calls:04}", "name": "Bash", "input": tool}
            )
        head = {"id": f"msg_{self.agent}{self.calls:04}", "type": "message", "role": "assistant", "model": self.model}
        stop = "tool_use" if tool is not None else "end_turn"
        rest = {"stop_reason": stop, "stop_sequence": None, "usage": usage}
        return [
            self.record(
                "assistant", message={**head, "content": [block], **rest}, requestId=f"req_{self.agent}{self.calls:04}"
            )
            for block in blocks
        ]

    def result(self, text: str) -> dict[str, Any]:
        """The result of the last call's tool."""
        content = [{"type": "tool_result", "tool_use_id": f"toolu_{self.agent}{self.calls:04}", "content": text}]
        return self.record("user", message={"role": "user", "content": content}, toolUseResult={"stdout": text})

    def compaction(self, summary: str) -> list[dict[str, Any]]:
        """A compaction: the boundary without a parent, and the summary that replaces what was before."""
        logical, self.parent = self.parent, None
        meta = {"trigger": "auto", "preTokens": self.read}
        boundary = self.record(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=logical,
            compactMetadata=meta,
        )
        self.read = 0
        message = {"role": "user", "content": summary}
        return [boundary, self.record("user", message=message, isCompactSummary=True)]

    def turns(self, count: int, words: str = "") -> Iterator[dict[str, Any]]:
        """`count` turns of a prompt, a tool call, its result and an answer."""
        for number in range(1, count + 1):
            yield self.user(f"please do step {number} {words}")
            yield from self.answer(f"I will look at step {number}.", {"command": f"ls step-{number}"})
            yield self.result(f"file-{number}.txt\nnotes-{number}.md {words}")
            yield from self.answer(f"Step {number} is done. {words}")


def claude_code(turns: int = 3, seed: int = 1, words: str = "") -> bytes:
    """A Claude Code file of `turns` turns."""
    return lines(ClaudeCode(seed).turns(turns, words))


def subagent(parent: ClaudeCode, name: str = "abc123", turns: int = 1) -> bytes:
    """A subagent's file of `parent`'s session."""
    agent = ClaudeCode(1, parent.model, parent.cwd)
    agent.session, agent.agent = parent.session, name
    return lines(agent.turns(turns))


def codex(calls: int = 3, seed: int = 7, cwd: str = "/tmp/project") -> bytes:
    """A Codex rollout of `calls` calls in one turn each."""

    def made() -> Iterator[dict[str, Any]]:
        at = 0
        session = str(uuid.UUID(int=seed))
        meta = {"id": session, "timestamp": stamp(0), "cwd": cwd, "originator": "codex_cli_rs", "cli_version": "0.60.0"}
        yield {"timestamp": stamp(0), "type": "session_meta", "payload": {**meta, "instructions": None}}
        context = {"cwd": cwd, "model": "gpt-5-codex", "effort": "medium", "approval_policy": "never"}
        total = 0
        for number in range(1, calls + 1):
            at += 10
            yield {"timestamp": stamp(at), "type": "turn_context", "payload": context}
            for role, kind, text in (("user", "input_text", f"ask {number}"), ("assistant", "output_text", "done")):
                item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
                yield {"timestamp": stamp(at), "type": "response_item", "payload": item}
            own = {
                "input_tokens": 3000 + 100 * number,
                "cached_input_tokens": 2560 if number > 1 else 0,
                "output_tokens": 20,
                "reasoning_output_tokens": 0,
                "total_tokens": 3020 + 100 * number,
            }
            total += own["total_tokens"]
            info = {"total_token_usage": {**own, "total_tokens": total}, "last_token_usage": own}
            payload = {"type": "token_count", "info": {**info, "model_context_window": 272000}}
            yield {"timestamp": stamp(at + 1), "type": "event_msg", "payload": payload}

    return lines(made())


def lines(records: Any) -> bytes:
    """Records as JSON lines."""
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)
