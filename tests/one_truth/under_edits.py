"""One session told twice: by whoever knows the program's own requests and the edits under which they left, and by
whoever only knows what left."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit, Target
from ctxtui.offline.usage_ledger import UsageLedger
from ctxtui.services.attach.curated import curate_request
from ctxtui.services.config.config import load as load_config
from ctxtui.services.editing.overlay import SessionEdits, ThreadEdits
from ctxtui.services.recordings.open import load
from ctxtui.wire.registry import DIALECTS
from tests.faults.fuzzing import ran

START: Final = 1_790_000_000.0
ID: Final = "5e551017-0000-4000-8000-000000000001"
MARK: Final = {"type": "ephemeral"}


@dataclass
class Telling:
    """A program's session as a relay sees it. Each call's usage is what the offline provider's cache makes of the body
    that left."""

    url = "https://api.anthropic.com/v1/messages"
    dialect = "anthropic"
    model: str = "claude-sonnet-4-5"
    log: ThreadEdits = field(default_factory=ThreadEdits)
    said: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[float, bytes, bytes | None, dict[str, Json], dict[str, Any]]] = field(default_factory=list)
    clock: float = START
    ledger: UsageLedger = field(default_factory=UsageLedger)
    system: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)

    def user(self, *parts: dict[str, Any] | str) -> Telling:
        """What comes before the next answer."""
        content = [{"type": "text", "text": one} if isinstance(one, str) else one for one in parts]
        self.said.append({"role": "user", "content": content})
        return self

    def apply(self, *edits: Edit) -> Telling:
        """Edits that are applied from the next call on."""
        self.log._now = lambda: self.clock + 9
        self.log.stage_all(edits)
        self.log.apply()
        return self

    def take_back(self, edit: Edit) -> Telling:
        """One that is not applied any more from the next call on."""
        self.log._now = lambda: self.clock + 9
        self.log.revert([one.id for one in self.log.applied if (one.kind, one.targets) == (edit.kind, edit.targets)])
        return self

    def target(self, words: str, occurrence: int = 0) -> Target:
        """The block of the conversation that has these words."""
        items = DIALECTS[self.dialect].decode_request(self._body(), None).items
        found = [one.block.digest for one in items if words.encode() in one.block.body]
        return Target(found[0], occurrence)

    def call(self, *answer: dict[str, Any] | str, pause: float = 20.0, cleared: int = 0) -> Telling:
        """One request with its answer; its provider cleared the first `cleared` results by itself."""
        self.clock += pause
        raw = self._body()
        made = curate_request(self.url, raw, self.log.applied) if self.log.applied else None
        assert made is None or not made.proof.refused, made
        left = (made.body if made is not None else None) or raw
        said = self._answered(answer, left, cleared)
        told = made.proof.json if made is not None else {}
        self.calls.append((self.clock, raw, made.body if made is not None else None, told, said))
        return self

    def _answered(self, answer: Sequence[dict[str, Any] | str], left: bytes, cleared: int) -> dict[str, Any]:
        parts = [{"type": "text", "text": one} if isinstance(one, str) else one for one in answer]
        weighed = self.ledger.weigh(self.dialect, _without_results(left, cleared), self.model)
        outcome = self.ledger.predict(weighed, self.model, self.clock, provider="anthropic")
        self.ledger.record(outcome, self.clock + 2)
        writes = dict(outcome.writes)
        edits = [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": cleared}] if cleared else []
        self.said.append({"role": "assistant", "content": parts})
        return {
            "id": f"msg_{len(self.calls) + 1:02}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": parts,
            "stop_reason": "tool_use" if any(one["type"] == "tool_use" for one in parts) else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": outcome.fresh,
                "cache_creation_input_tokens": outcome.written,
                "cache_read_input_tokens": outcome.read,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": writes.get(300.0, 0),
                    "ephemeral_1h_input_tokens": writes.get(3600.0, 0),
                },
                "output_tokens": max(8, len(json.dumps(parts)) // 4),
            },
            **({"context_management": {"applied_edits": edits}} if edits else {}),
        }

    def _body(self) -> bytes:
        messages = json.loads(json.dumps(self.said))
        for message in messages[-3:]:
            if message["role"] == "user":
                message["content"][-1]["cache_control"] = MARK
        body = {
            "model": self.model,
            "max_tokens": 4096,
            "system": self.system,
            "tools": self.tools,
            "messages": messages,
        }
        return json.dumps(body).encode()

    def lines(self, *, own: bool) -> Iterator[dict[str, Any]]:
        """The recording: with the program's `own` requests and what left in their place, else with what left alone."""
        yield {"ctxtui_attached": 1, "run": "r", "at": START, "session": ID, "program": "agent", "cwd": "/work"}
        for number, (at, raw, left, told, said) in enumerate(self.calls):
            body = raw if own else left or raw
            ask = {"method": "POST", "url": self.url, "headers": [["user-agent", "x/1.0"]], "thread": "main"}
            size = {"size": len(body), "text": body.decode()}
            x = f"x{number}"
            yield {"x": x, "at": at, "asked": {**ask, "body": size}}
            if own and told:
                sent = {} if left is None else {"body": {"size": len(left), "text": left.decode()}}
                yield {"x": x, "at": at, "sent": {**told, **sent}}
            yield {"x": x, "at": at + 1, "answered": {"status": 200, "headers": []}}
            yield {"x": x, "at": at + 2, "data": json.dumps(said)}
            yield {"x": x, "at": at + 8, "ended": True}


def _without_results(body: bytes, count: int) -> bytes:
    """`body` as a model reads it that the first `count` results were taken from."""
    said = json.loads(body)
    results = [
        part
        for message in said["messages"]
        for part in message["content"]
        if isinstance(part, dict) and part["type"] == "tool_result"
    ]
    for part in results[:count]:
        part["content"] = "[Old tool result content cleared]"
    return json.dumps(said).encode() if count else body


@dataclass
class SealedTelling(Telling):
    """One over OpenAI's Responses, whose reasoning only the provider can read: each answer has some tokens of it."""

    url = "https://api.openai.com/v1/responses"
    dialect = "openai_responses"
    model: str = "gpt-5.2"
    thoughts: dict[str, int] = field(default_factory=dict)
    before: list[Any] = field(default_factory=list)

    def user(self, *parts: dict[str, Any] | str) -> Telling:
        for one in parts:
            text = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": one}]}
            self.said.append(text if isinstance(one, str) else one)
        return self

    def _answered(self, answer: Sequence[dict[str, Any] | str], left: bytes, cleared: int) -> dict[str, Any]:
        number = len(self.calls) + 1
        thought = 300 + 170 * number
        sealed = f"gAAAA{number:03}" + "q9Zx" * (50 + 20 * number)
        self.thoughts[sealed] = thought
        parts: list[dict[str, Any]] = [
            {"type": "reasoning", "id": f"rs_{number:03}", "summary": [], "encrypted_content": sealed}
        ]
        for one in answer:
            text = {"type": "output_text", "text": one, "annotations": []}
            said = {"type": "message", "id": f"m_{number}", "role": "assistant", "status": "completed"}
            parts.append({**said, "content": [text]} if isinstance(one, str) else one)
        items = json.loads(left)["input"]
        shared = next((n for n, two in enumerate(zip(items, self.before, strict=False)) if two[0] != two[1]), None)
        shared = min(len(items), len(self.before)) if shared is None else shared
        whole, cached = (self._weighed(left, items[:count]) for count in (len(items), shared))
        self.before = [*items]
        self.said += parts
        output = 10 + thought
        return {
            "id": f"resp_{number:03}",
            "object": "response",
            "status": "completed",
            "model": self.model,
            "output": parts,
            "usage": {
                "input_tokens": whole,
                "input_tokens_details": {"cached_tokens": cached // 128 * 128 if cached >= 1024 else 0},
                "output_tokens": output,
                "output_tokens_details": {"reasoning_tokens": thought},
                "total_tokens": whole + output,
            },
        }

    def _weighed(self, left: bytes, items: list[dict[str, Any]]) -> int:
        said = {**json.loads(left), "input": [one for one in items if one["type"] != "reasoning"]}
        thought = sum(self.thoughts[one["encrypted_content"]] for one in items if one["type"] == "reasoning")
        body = json.dumps(said).encode()
        return self.ledger.weigh(self.dialect, body, self.model).tokens + thought

    def _body(self) -> bytes:
        body = {
            "model": self.model,
            "instructions": "\n".join(one["text"] for one in self.system),
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "tools": self.tools,
            "input": self.said,
        }
        return json.dumps(body).encode()


@dataclass(frozen=True)
class Told:
    """A recording in a home of its own."""

    home: Path
    path: Path

    @contextmanager
    def at_home(self) -> Iterator[None]:
        """What runs in here has that home."""
        names = {"HOME": str(self.home), "CTXTUI_HOME": str(self.home / "ctxtui")}
        before = {name: os.environ.get(name) for name in names}
        os.environ.update(names)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value

    def run(self, *arguments: str) -> str:
        """What a command prints of the recording, whose name goes behind the command's own."""
        command, *more = arguments
        with self.at_home():
            ended = ran([command, str(self.path), *more])
        assert ended.code in (0, 8), f"{' '.join(arguments)}: exit code {ended.code}: {ended.err}"
        return ended.out.replace(str(self.home), "HOME")

    def said(self, *arguments: str) -> Any:
        """The same as JSON."""
        return json.loads(self.run(*arguments, "--json"))


def both(telling: Telling, folder: Path) -> tuple[Told, Told]:
    """The program's own recording, whose edits stand in the database, and the recording of what left."""
    made = []
    for name, own in (("own", True), ("left", False)):
        home = folder / name
        home.mkdir(parents=True)
        path = home / "session.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in telling.lines(own=own)))
        made.append(Told(home, path))
    with made[0].at_home():
        overlays = SessionEdits(load(made[0].path), load_config(()).settings)
        overlays.of_thread("main")._append([*telling.log.log])
        overlays.save()
    return made[0], made[1]


def differences(one: Any, other: Any, at: str = "") -> list[str]:
    """Where two values differ, a line each."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return [line for key in {**one, **other} for line in differences(one.get(key), other.get(key), f"{at}.{key}")]
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return [f"{at}: {len(one)} rows, {len(other)} rows: {one!r:.300} | {other!r:.300}"]
        return [
            line for n, pair in enumerate(zip(one, other, strict=True)) for line in differences(*pair, f"{at}[{n}]")
        ]
    if isinstance(one, float) and isinstance(other, float):
        return [] if abs(one - other) <= 1e-9 * max(1.0, abs(one)) else [f"{at}: {one!r} | {other!r}"]
    return [] if one == other else [f"{at}: {one!r:.300} | {other!r:.300}"]
