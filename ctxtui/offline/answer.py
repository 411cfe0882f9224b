"""What the offline model says, before any dialect spells it."""

from __future__ import annotations

from dataclasses import dataclass

from ctxtui.core.canonical import Json


@dataclass(frozen=True, slots=True)
class Thought:
    """Thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class Words:
    """Plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of the client's tool `name`; `arguments` is the JSON value of its input, or text for a tool that takes
    free text."""

    name: str
    arguments: Json


Part = Thought | Words | ToolCall

END = "end"
CALLS = "calls"
LENGTH = "length"
STOP = "stop"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: its parts in order, why it ended (`END`, `CALLS`, `LENGTH`, `STOP`), and the stop sequence that ended
    it."""

    parts: tuple[Part, ...]
    ended: str = END
    stop: str = ""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls among the parts."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def text(self) -> str:
        """The plain text of all parts."""
        return "".join(part.text for part in self.parts if isinstance(part, Words))
