"""What was said so far, in a few lines: for those who ask for it in place of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ctxtui.offline.conversation import ScriptTask
from ctxtui.offline.model.tool_choice import cut

_ASKED: Final = re.compile(
    r"context checkpoint|checkpoint summary|handoff summary|summary of (?:the|our|this) conversation|"
    r"summarize (?:the|our|this) conversation|prompt for continuing our conversation",
    re.I,
)
_TEXT_ONLY: Final = re.compile(r"do not call any tools?\b|respond with text only", re.I)
_MOST: Final = 200
"""Lines of a summary."""
_FIRST: Final = 3
_TOLD: Final = ("developer", "system")
"""What clients say again after a compaction."""


def asks_for_summary(task: str) -> bool:
    """Whether `task` wants the conversation summed up, as clients do before they drop it."""
    return bool(_ASKED.search(task))


def wants_text_only(task: str) -> bool:
    """Whether `task` says that no tool may be called."""
    return bool(_TEXT_ONLY.search(task))


def summary(talk: ScriptTask, *, task: bool) -> str:
    """The first lines of all that was said and returned, the newest ones where that is too much; `task`: with what is
    asked last."""
    asked = [("user", talk.task)] if task else []
    heard = [(heard.name, heard.text) for heard in talk.heard]
    lines = list(_lines([*talk.earlier, *asked, *heard]))
    return "\n".join(lines[-_MOST:])


def in_tags(told: str, task: str) -> str:
    """A summary in the tags that `task` names."""
    return f"<summary>\n{told}\n</summary>" if "<summary>" in task else told


def _lines(told: Iterable[tuple[str, str]]) -> Iterable[str]:
    for source, text in told:
        if source not in _TOLD:
            kept = [line.strip() for line in text.splitlines() if line.strip()]
            yield from (f"{source}: {cut(line)}" for line in kept[:_FIRST])
