"""Replays the answers of a recorded session, in place of the offline model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.core.block import HEADER, Item
from ctxtui.core.block_content import arguments_value, read
from ctxtui.offline.answer import CALLS, END, LENGTH, AnsweredCall, ModelAnswer, Part, PlainText, Thought
from ctxtui.wire.request import Request
from ctxtui.wire.translate.turns import CALL, TEXT, THINKING, to_part

_LENGTHS: Final = frozenset(
    {"max_tokens", "length", "max_output_tokens", "MAX_TOKENS", "model_context_window_exceeded"}
)

RecordedCall = tuple[Sequence[Item], Sequence[Item], str]
"""The items of a call's context, those of its answer, its stop reason."""
MessageContents = tuple[tuple[str, str, str], ...]
"""Role, category and text of each part."""


class Playback:
    """Answers requests with the recorded answers.

    A request with the same messages as a recorded context gets that call's answer. Any other request that contains n
    answers of the assistant gets the answer of call n + 1; None after the last call.
    """

    def __init__(self, calls: Sequence[RecordedCall]) -> None:
        self._answers = [_make_answer(answered, stop_reason) for _, answered, stop_reason in calls]
        self._by_context = {message_contents(context): n for n, (context, _, _) in enumerate(calls)}

    def answer(self, request: Request) -> ModelAnswer | None:
        exact = self._by_context.get(message_contents(request.items))
        number = _count_answers(request.items) if exact is None else exact
        return self._answers[number] if number < len(self._answers) else None


def message_contents(items: Sequence[Item]) -> MessageContents:
    """The content of messages, without thinking and headers."""
    contents: list[tuple[str, str, str]] = []
    for block, place in items:
        if place.section == "messages" and block.kind != HEADER:
            part = to_part(block)
            if part.category != THINKING:
                contents.append((place.role, part.category, part.reading.text + part.reading.arguments))
    return tuple(contents)


def _count_answers(items: Sequence[Item]) -> int:
    """The number of answers so far: runs of the assistant's blocks."""
    roles = [place.role for _, place in items if place.section == "messages"]
    return sum(role == "assistant" and before != "assistant" for before, role in zip(["", *roles], roles, strict=False))


def _make_answer(items: Sequence[Item], stop_reason: str) -> ModelAnswer:
    parts: list[Part] = []
    for block, _ in items:
        part = to_part(block)
        if block.kind == HEADER:
            continue
        if part.category == CALL:
            parts.append(AnsweredCall(part.reading.name, arguments_value(part.reading)))
        elif part.category == THINKING and part.reading.text:
            parts.append(Thought(part.reading.text))
        elif part.category == TEXT and part.reading.text:
            parts.append(PlainText(read(block).text))
    called = any(isinstance(part, AnsweredCall) for part in parts)
    return ModelAnswer(tuple(parts), CALLS if called else LENGTH if stop_reason in _LENGTHS else END)
