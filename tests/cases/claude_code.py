"""Look-alikes of Claude Code's session files, generated at any size (by hand: `Script`)."""

from __future__ import annotations

import json
from typing import Any

from tests.cases.claude_code_script import (
    OPUS,
    SESSION,
    Record,
    Script,
    dump,
    line,
    text,
    thinking,
    tool_result,
    tool_use,
    usage,
)
from tests.cases.words import Words, tokens

__all__ = [
    "OPUS",
    "SESSION",
    "Record",
    "Script",
    "dump",
    "generate",
    "line",
    "text",
    "thinking",
    "tool_result",
    "tool_use",
    "usage",
    "with_subagents",
]

SYSTEM_TOKENS = 15_000


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
