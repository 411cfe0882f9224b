"""What the Anthropic Messages API refuses (facts §1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.curation.violation import Violation, listed, roles

_ROLES: Final = frozenset({"user", "assistant", "system"})


@dataclass(slots=True)
class _Run:
    """Neighbouring messages of one role, which the provider merges: its parts with their paths."""

    role: Json
    parts: list[tuple[str, dict[str, Json]]] = field(default_factory=list)

    def ids(self, kind: str, key: str) -> set[Json]:
        return {str(part.get(key)) for _, part in self.parts if part.get("type") == kind}


def violations(body: dict[str, Json]) -> Iterator[Violation]:
    """Everything in `body` that would be answered with an error 400."""
    yield from roles(body, "messages", _ROLES)
    if isinstance(body.get("max_tokens"), bool) or not isinstance(body.get("max_tokens"), int):
        yield Violation("$.max_tokens", "max_tokens is required")
    runs: list[_Run] = []
    for n, message in enumerate(listed(body.get("messages"))):
        if isinstance(message, dict):
            yield from _content(message.get("content"), f"$.messages[{n}].content")
            if not runs or runs[-1].role != message.get("role"):
                runs.append(_Run(message.get("role")))
            parts = listed(message.get("content"))
            found = [(f"$.messages[{n}].content[{m}]", p) for m, p in enumerate(parts) if isinstance(p, dict)]
            runs[-1].parts += found
    compaction = bool(runs) and any(part.get("type") == "compaction" for _, part in runs[0].parts[:1])
    if runs and runs[0].role != "user" and not compaction:
        yield Violation("$.messages[0].role", "the first message must be the user's")
    yield from _pairs(runs)


def _content(content: Json, path: str) -> Iterator[Violation]:
    if isinstance(content, str):
        if not content.strip():
            yield Violation(path, "text must not be empty")
    elif not isinstance(content, list) or not content:
        yield Violation(path, "content must not be empty")
    for m, part in enumerate(listed(content)):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            yield Violation(f"{path}[{m}]", "a content part must be an object with a type")
        elif part["type"] == "text" and not str(part.get("text") or "").strip():
            yield Violation(f"{path}[{m}].text", "text must not be empty")
        elif part["type"] == "tool_use" and not isinstance(part.get("input"), dict):
            yield Violation(f"{path}[{m}].input", "a call's input must be an object")


def _pairs(runs: Sequence[_Run]) -> Iterator[Violation]:
    """Every call answered in the next message, every answer first in its message and asked for in the one before."""
    seen: set[str] = set()
    nothing = _Run("")
    for before, run, after in zip([nothing, *runs], runs, [*runs[1:], nothing], strict=False):
        answered = after.ids("tool_result", "tool_use_id") if after.role == "user" else set()
        asked = before.ids("tool_use", "id") if before.role == "assistant" else set()
        other = False
        for path, part in run.parts:
            if part.get("type") == "tool_use":
                yield from _call(run, path, str(part.get("id") or ""), answered, seen)
            elif part.get("type") == "tool_result":
                yield from _answer(run, path, str(part.get("tool_use_id")), asked, other)
            other = other or part.get("type") != "tool_result"


def _call(run: _Run, path: str, id_: str, answered: set[Json], seen: set[str]) -> Iterator[Violation]:
    if run.role != "assistant":
        yield Violation(path, "only the assistant calls tools")
    elif id_ not in answered:
        yield Violation(path, f"call {id_!r} has no result in the message after it")
    if not id_ or id_ in seen:
        yield Violation(f"{path}.id", "ids of calls must be unique")
    seen.add(id_)


def _answer(run: _Run, path: str, id_: str, asked: set[Json], other: bool) -> Iterator[Violation]:
    if run.role != "user":
        yield Violation(path, "tool results belong into user messages")
    elif id_ not in asked:
        yield Violation(path, f"no call {id_!r} in the message before")
    elif other:
        yield Violation(path, "tool results must stand first in their message")
