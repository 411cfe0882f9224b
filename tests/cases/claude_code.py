"""Look-alikes of Claude Code's session files: by hand, record by record, or generated at any size."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.cases.words import Words, tokens

Record = dict[str, Any]

SESSION = "5e551011-0000-4000-8000-000000000001"
OPUS = "claude-opus-4-6"
SYSTEM_TOKENS = 15_000
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


class _Generator:
    def __init__(self, words: Words, script: Script, size: int, model: str) -> None:
        self.words, self.script, self.size, self.model = words, script, size, model
        self.cached, self.fresh = 0, SYSTEM_TOKENS
        self.messages = 0
        self.calls = 0

    def ask(self, words: str, **fields: Any) -> None:
        self.messages += 1
        self.fresh += tokens(words)
        self.script.user(words, **fields)

    def call(self, n_tools: int, pause: float = 3.0) -> None:
        """One API response with its records, and the results of its tool calls."""
        self.calls += 1
        self.messages += 1
        name = f"msg_{self.script.prefix}{self.calls:06d}"
        blocks = [text(self.words.about(self.size // 2))]
        if self.calls % 3 == 0:
            blocks.insert(0, thinking(self.words.about(self.size // 2), self.words.hex(80)))
        for n in range(n_tools):
            blocks.append(
                tool_use(f"toolu_{name}_{n}", "Read", file_path="src/" + self.words.hex(6), note=self.words.text(40))
            )
        answer = sum(tokens(json.dumps(block)) for block in blocks)
        made = usage(read=self.cached, write=self.fresh, output=answer)
        uuids = self.script.assistant(
            *blocks, id=name, use=made, stop="tool_use" if n_tools else "end_turn", model=self.model, seconds=pause
        )
        self.cached, self.fresh = self.cached + self.fresh, answer
        if n_tools:
            self.messages += 1
        for n in range(n_tools):
            content = self.words.about(self.size * 2 // n_tools)
            self.fresh += tokens(content)
            self.script.result(
                f"toolu_{name}_{n}", content, parent=uuids[n - n_tools], toolUseResult={"text": content[:80]}
            )

    def compact(self) -> None:
        script, before = self.script, self.cached + self.fresh
        script.tip = None
        script.put(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            compactMetadata={"trigger": "auto", "preTokens": before},
        )
        self.cached, self.fresh = 0, SYSTEM_TOKENS
        self.ask("This session is being continued. " + self.words.text(self.size * 2), isCompactSummary=True)


def _turns(made: _Generator, n_messages: int, compact_at: set[int]) -> None:
    random = made.words.random
    while made.messages < n_messages:
        made.ask(made.words.about(made.size // 4))
        for tools in [random.choice((1, 1, 1, 2, 3)) for _ in range(random.randrange(1, 9))]:
            if made.messages + 3 > n_messages:
                break
            made.call(tools)
            if compact_at and made.calls >= min(compact_at):
                compact_at.discard(min(compact_at))
                made.compact()
        made.call(0)


def generate(
    n_messages: int = 100,
    seed: int = 0,
    *,
    bytes_per_message: int = 1200,
    compactions: int = 0,
    subagents: int = 0,
    version: str = "2.1.62",
    model: str = OPUS,
) -> bytes:
    """A session of about `n_messages` API messages; its file is about n_messages x bytes_per_message long.

    Usage and cache figures add up as the client reports them. `compactions` are spread evenly; `subagents` are inline
    sidechains at the end, as old versions wrote them (see `with_subagents` for files of their own).
    """
    words = Words(seed)
    size = max(16, (bytes_per_message - 560) * 10 // 14)
    script = Script(session=words.uuid(), version=version)
    made = _Generator(words, script, size, model)
    every = max(1, n_messages // 2 // (compactions + 1))
    _turns(made, n_messages, {every * (n + 1) for n in range(compactions)})
    for n in range(subagents):
        _inline(made, n)
    return script.dump()


def _inline(made: _Generator, n: int) -> None:
    script, task, prompt = made.script, f"toolu_task_{n}", f"Look into part {n}: {made.words.text(60)}"
    made.ask(f"ask a helper about part {n}")
    name = f"msg_task_{n}"
    used = usage(read=made.cached, write=made.fresh, output=60)
    uuid = script.assistant(tool_use(task, "Task", description=f"Part {n}", prompt=prompt), id=name, use=used)[-1]
    made.cached, made.fresh = made.cached + made.fresh, 60
    side = _Generator(made.words, script, made.size, made.model)
    side.calls = (n + 1) * 1_000_000
    script.tip, script.common = None, {"isSidechain": True}
    side.ask(prompt)
    side.call(2)
    side.call(0)
    script.common = {}
    script.result(task, "The helper's report.", parent=uuid)
    made.call(0)


def with_subagents(n_agents: int = 2, seed: int = 0, *, bytes_per_message: int = 1200) -> dict[str, bytes]:
    """A session and its subagents' files: ``main.jsonl`` and ``main/subagents/agent-<id>.jsonl``."""
    words = Words(seed)
    script = Script(session=words.uuid())
    made = _Generator(words, script, max(16, bytes_per_message - 520), OPUS)
    files = {}
    made.ask("please split the work")
    for n in range(n_agents):
        agent, prompt = words.hex(7), f"Part {n}: {words.text(80)}"
        side = Script(session=script.session, prefix=f"a{n}-", isSidechain=True, agentId=agent)
        helper = _Generator(words, side, made.size, "claude-haiku-4-5-20251001")
        helper.ask(prompt)
        helper.call(2)
        helper.call(0)
        files[f"main/subagents/agent-{agent}.jsonl"] = side.dump()
        used = usage(read=made.cached, write=made.fresh, output=60)
        made.cached, made.fresh = made.cached + made.fresh, 60
        call = tool_use(f"toolu_task_{n}", "Task", description=f"Part {n}", prompt=prompt, subagent_type="Explore")
        script.assistant(call, id=f"msg_task_{n}", use=used, stop="tool_use")
        script.result(f"toolu_task_{n}", "A report.", toolUseResult={"status": "completed", "agentId": agent})
    made.call(0)
    return {"main.jsonl": script.dump(), **files}
