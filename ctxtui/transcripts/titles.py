"""Titles out of what people write."""

from __future__ import annotations

from typing import Final

TITLE_LENGTH: Final = 200
"""Characters that a title has at most."""


def one_line(text: str) -> str:
    """The first words of `text` on one line, cut at `TITLE_LENGTH` characters."""
    line = " ".join(text[: 4 * TITLE_LENGTH].split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"
