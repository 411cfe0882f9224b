"""Look-alikes of Codex rollouts: by hand, line by line, or generated at any size."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.cases.words import Words, tokens

Record = dict[str, Any]

GPT = "gpt-5.5"
INSTRUCTIONS = "You are Codex, a coding agent."
EPOCH = datetime(2026, 6, 22, 12, 0, tzinfo=UTC)


def count(input_: int = 0, cached: int = 0, output: int = 0, reasoning: int = 0) -> Record:
    return {
        "input_tokens": input_,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "reasoning_output_tokens": reasoning,
        "total_tokens": input_ + output,
    }


class Script:
    """Writes a rollout line by line; the clock goes on a second per line."""

    def __init__(self, *, session: str = "019eef3d-0000-7000-8000-000000000001", model: str = GPT) -> None:
        self.session, self.model = session, model
        self.records: list[Record] = []
        self.clock = EPOCH
        self.total = count()
        self.window = 258_400
        self.limits: Record | None = None

    def put(self, type_: str, payload: Record, *, seconds: float = 1.0) -> None:
        self.clock += timedelta(seconds=seconds)
        stamp = self.clock.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.clock.microsecond // 1000:03d}Z"
        self.records.append({"timestamp": stamp, "type": type_, "payload": payload})

    def meta(self, **more: Any) -> None:
        payload = {
            "id": self.session,
            "timestamp": "2026-06-22T12:00:00.000Z",
            "cwd": "/home/ada/shop",
            "originator": "codex-tui",
            "cli_version": "0.141.0",
            "source": "cli",
            "model_provider": "openai",
            "base_instructions": {"text": INSTRUCTIONS},
            **more,
        }
        self.put("session_meta", payload)

    def context(self, model: str = "", effort: str = "high") -> None:
        self.model = model or self.model
        self.put("turn_context", {"turn_id": "t", "cwd": "/home/ada/shop", "model": self.model, "effort": effort})

    def item(self, type_: str, **fields: Any) -> None:
        self.put("response_item", {"type": type_, **fields})

    def event(self, type_: str, **fields: Any) -> None:
        self.put("event_msg", {"type": type_, **fields})

    def user(self, words: str) -> None:
        self.item("message", role="user", content=[{"type": "input_text", "text": words}])
        self.event("user_message", message=words, images=[])

    def says(self, words: str, phase: str = "final_answer") -> None:
        self.event("agent_message", message=words)
        self.item("message", role="assistant", content=[{"type": "output_text", "text": words}], phase=phase)

    def reasons(self, cipher: str = "gAAAAB") -> None:
        self.item("reasoning", summary=[], content=None, encrypted_content=cipher)

    def calls(self, call_id: str, command: str = "ls") -> None:
        self.item("function_call", name="exec_command", arguments=json.dumps({"cmd": command}), call_id=call_id)

    def output(self, call_id: str, words: str = "ok") -> None:
        self.item("function_call_output", call_id=call_id, output=words)

    def counts(self, input_: int = 0, cached: int = 0, output: int = 0, reasoning: int = 0) -> None:
        """The usage of the call that ends here; the totals grow by it."""
        last = count(input_, cached, output, reasoning)
        self.total = {key: self.total[key] + last[key] for key in last}
        self.repeat(last)

    def repeat(self, last: Record) -> None:
        """A token_count event with totals as they are: no new call."""
        info = {"total_token_usage": self.total, "last_token_usage": last, "model_context_window": self.window}
        self.event("token_count", info=info, rate_limits=self.limits)

    def dump(self) -> bytes:
        return dump(self.records)


def dump(records: list[Record]) -> bytes:
    """Records as the client writes them: minified, one per line."""
    lines = (json.dumps(r, ensure_ascii=False, separators=(",", ":")) for r in records)
    return b"".join(line.encode("utf-8", "surrogatepass") + b"\n" for line in lines)


class _Generator:
    def __init__(self, words: Words, script: Script, size: int) -> None:
        self.words, self.script, self.size = words, script, size
        self.cached, self.fresh = 0, 9_000
        self.messages = self.calls = 0

    def call(self, n_tools: int) -> None:
        self.calls += 1
        self.messages += 1
        script, words = self.script, self.words
        script.reasons(words.hex(200))
        answer = words.about(self.size // 2)
        script.says(answer, "commentary" if n_tools else "final_answer")
        names = [f"call_{self.calls:06d}_{n}" for n in range(n_tools)]
        for name in names:
            script.calls(name, "cat src/" + words.hex(6))
        results = [words.about(self.size * 2 // n_tools) for _ in names]
        for name, result in zip(names, results, strict=True):
            script.output(name, result)
        total = self.cached + self.fresh
        made = tokens(answer) + 50 * (n_tools + 1)
        script.counts(total, self.cached // 128 * 128, made, 40)
        self.cached, self.fresh = total, made + sum(map(tokens, results))
        self.messages += bool(n_tools)

    def compact(self, summary: str) -> None:
        history = [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]},
            {"type": "compaction", "encrypted_content": summary},
        ]
        self.script.put("compacted", {"message": "", "replacement_history": history})
        self.script.repeat({**count(), "total_tokens": 9_000 + tokens(summary)})
        self.script.event("context_compacted")
        self.cached, self.fresh = 0, 9_000 + tokens(summary)


def generate(
    n_messages: int = 100, seed: int = 0, *, bytes_per_message: int = 1200, compactions: int = 0, model: str = GPT
) -> bytes:
    """A rollout of about `n_messages` API messages; its file is about n_messages x bytes_per_message long."""
    words = Words(seed)
    script = Script(session=words.uuid(), model=model)
    made = _Generator(words, script, max(16, (bytes_per_message - 620) * 10 // 14))
    every = max(1, n_messages // 2 // (compactions + 1))
    at = {every * (n + 1) for n in range(compactions)}
    script.meta()
    while made.messages < n_messages:
        script.event("task_started", turn_id="t", model_context_window=script.window)
        script.context()
        question = words.about(made.size // 4)
        made.fresh += tokens(question)
        made.messages += 1
        script.user(question)
        for _ in range(words.random.randrange(1, 9)):
            if made.messages + 3 > n_messages:
                break
            made.call(words.random.choice((1, 1, 2, 3)))
            if at and made.calls >= min(at):
                at.discard(min(at))
                made.compact(words.hex(2_000))
        made.call(0)
        script.event("task_complete", turn_id="t", last_agent_message="")
    return script.dump()
