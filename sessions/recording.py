"""What a generator makes: requests and responses as they would have crossed the wire, with their times."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Json = Any

CHARS_PER_TOKEN = 4
"""The rule of thumb of the systems' authors; every token figure of the samples is made with it."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call: `request` and `response` bodies, Unix times in seconds, the thread it belongs to. With `answer_kept`
    False the recording has of the response what it reports, and not its text."""

    request: Json
    response: Json
    started: float
    first_byte: float
    ended: float
    thread: str = "main"
    answer_kept: bool = True


@dataclass(slots=True)
class Recording:
    """A sample: who spoke which dialect, and its exchanges in order of their start."""

    name: str
    """File name without suffix."""
    title: str
    dialect: str
    """``anthropic`` or ``openai_chat``."""
    provider: str = ""
    exchanges: list[Exchange] = field(default_factory=list)
    threads: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Thread -> (label, parent thread), the main one not included."""


def moment(text: str) -> float:
    """Unix seconds of ``2026-03-02 09:14:05`` (UTC)."""
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()


def tokens(characters: int) -> int:
    """Tokens of so many characters by the authors' rule."""
    return characters // CHARS_PER_TOKEN
