"""What the offline provider saw and answered: the truth that a session is held against."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

_SAID = ("text", "thinking", "content", "output", "arguments", "input", "instructions", "summary")
"""Members that hold what is said to a model or by it."""


class Tokens(NamedTuple):
    """Usage as the provider reported it, disjoint on the input side."""

    fresh: int
    read: int
    written: int
    output: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request with its answer."""

    path: str
    status: int
    rule: str
    request: dict[str, Any]
    answer: dict[str, Any]

    @property
    def accepted(self) -> bool:
        return 200 <= self.status < 300

    @property
    def model(self) -> str:
        return str(self.request.get("model", ""))

    @property
    def tokens(self) -> Tokens:
        told = self.answer.get("usage") or {}
        if self.path.endswith("/messages"):
            written = told.get("cache_creation_input_tokens", 0)
            return Tokens(told["input_tokens"], told.get("cache_read_input_tokens", 0), written, told["output_tokens"])
        chat = "prompt_tokens" in told
        whole = told["prompt_tokens" if chat else "input_tokens"]
        details = told.get("prompt_tokens_details" if chat else "input_tokens_details") or {}
        read, written = details.get("cached_tokens", 0), details.get("cache_write_tokens", 0)
        return Tokens(whole - read - written, read, written, told["completion_tokens" if chat else "output_tokens"])

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The request's messages or items."""
        found = self.request.get("messages", self.request.get("input", []))
        return found if isinstance(found, list) else [{"role": "user", "content": found}]

    @property
    def answered(self) -> list[dict[str, Any]]:
        """The answer's messages or items."""
        if "choices" in self.answer:
            return [choice["message"] for choice in self.answer["choices"]]
        return self.answer.get("output") or [{"role": "assistant", "content": self.answer.get("content", [])}]


def said(value: object) -> Iterator[str]:
    """Every text in a message, an item or a block, in order; what is JSON in a text as that JSON's texts."""
    if isinstance(value, str):
        inner = _decoded(value)
        if inner is None:
            if value.strip():
                yield value
        else:
            yield from _leaves(inner)
    elif isinstance(value, list):
        for part in value:
            yield from said(part)
    elif isinstance(value, Mapping):
        if isinstance(value.get("arguments"), dict) or isinstance(value.get("input"), dict):
            yield from _leaves(value.get("arguments", value.get("input")))
            return
        for name in _SAID:
            if name in value:
                yield from said(value[name])
        for call in value.get("tool_calls") or []:
            yield from said(call.get("function", call))


def _decoded(text: str) -> object:
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str):
        yield value
    else:
        yield json.dumps(value)


def exchanges(log: Path) -> list[Exchange]:
    """Everything that was asked so far, in order."""
    found = []
    for line in log.read_text().splitlines() if log.exists() else []:
        told = json.loads(line)
        request, answer = json.loads(told["request"] or "{}"), told["answer"] or {}
        found.append(
            Exchange(path=told["path"], status=told["status"], rule=told["rule"], request=request, answer=answer)
        )
    return found
