"""The offline model's answer, before it is written in a dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.canonical import Json, dump_text


class Thought(Struct, frozen=True):
    text: str


class PlainText(Struct, frozen=True):
    text: str


class AnsweredCall(Struct, frozen=True):
    """A call of the client's tool `name`.

    `arguments` is the JSON value of its input, or text for a tool that takes free text. `namespace` is the group of
    tools that it belongs to (Responses API; "" for none).
    """

    name: str
    arguments: Json
    namespace: str = ""

    @property
    def arguments_text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else dump_text(self.arguments)


Part = Thought | PlainText | AnsweredCall

END = "end"
CALLS = "calls"
LENGTH = "length"
STOP = "stop"
"""Why an answer ended: by itself, with calls, at its maximum length, at a stop sequence."""


class ModelAnswer(Struct, frozen=True):
    """An answer: its parts in order, and why it `ended`.

    `stop` is the stop sequence that ended it ("": none).
    """

    parts: tuple[Part, ...]
    ended: str = END
    stop: str = ""

    @property
    def calls(self) -> tuple[AnsweredCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, AnsweredCall))

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, PlainText))


def limit_answer(
    answer: ModelAnswer, stops: Sequence[str], max_tokens: int, count: Callable[[str], int]
) -> ModelAnswer:
    """Cut `answer` at the first of `stops` in one of its texts, and at `max_tokens`.

    A call that does not fit is left out. `count` returns the tokens of a text.
    """
    return _cut_at_tokens(_cut_at_stops(answer, stops), max_tokens, count)


def _cut_at_stops(answer: ModelAnswer, stops: Sequence[str]) -> ModelAnswer:
    parts: list[Part] = []
    for part in answer.parts:
        if isinstance(part, PlainText):
            match = min(((part.text.find(stop), stop) for stop in stops if stop and stop in part.text), default=None)
            if match is not None:
                parts += [PlainText(part.text[: match[0]])] if match[0] else []
                return ModelAnswer(tuple(parts), STOP, match[1])
        parts.append(part)
    return answer


def _cut_at_tokens(answer: ModelAnswer, max_tokens: int, count: Callable[[str], int]) -> ModelAnswer:
    remaining = max_tokens
    parts: list[Part] = []
    for part in answer.parts:
        text = part.arguments_text if isinstance(part, AnsweredCall) else part.text
        needed = count(text)
        if needed <= remaining:
            parts.append(part)
            remaining -= needed
            continue
        if remaining and not isinstance(part, AnsweredCall):
            parts.append(replace(part, text=_longest_prefix(text, remaining, count)))
        return ModelAnswer(tuple(parts), LENGTH)
    return answer


def _longest_prefix(text: str, max_tokens: int, count: Callable[[str], int]) -> str:
    """The prefix of `text` with at most `max_tokens` that a bisection finds."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= max_tokens else (low, middle - 1)
    return text[:low]
