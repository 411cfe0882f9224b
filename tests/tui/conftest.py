"""Whatever a test of the screens asks on a line: the keys that the line names act where the cursor is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest

from ctxtui.tui.widgets.prompt_line import PromptLine, Question
from ctxtui.views.text.span import Spans

_SIGNS: Final = {"⏎": ("enter",), "↑": ("up",), "↓": ("down",), "↑↓": ()}
"""Textual's keys behind what stands for them; those that scroll what a tool would write are the screen's."""


def named(words: Spans) -> Iterable[str]:
    """The keys that a line names."""
    for span in words:
        if span.style == "accent bold" and "›" not in span.text:
            yield from span.text.split()


def misnamed(question: Question) -> list[str]:
    """The keys that a question names, and that do not answer it; of one that takes a text, those that are letters."""
    keys = [key for name in named([*question.lead, *question.right]) for key in _SIGNS.get(name, (name,))]
    if question.keys:
        return [key for key in keys if key not in (*question.keys, "esc")]
    return [key for key in keys if len(key) == 1 and key.isalnum()]


@pytest.fixture(autouse=True)
def questions_name_keys_that_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at wherever one is asked."""
    ask = PromptLine.ask

    def asked(self: PromptLine, question: Question) -> None:
        assert not misnamed(question), (misnamed(question), question.keys)
        ask(self, question)

    monkeypatch.setattr(PromptLine, "ask", asked)
