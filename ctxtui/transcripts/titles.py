"""Titles out of what people write."""

from __future__ import annotations

import re
from typing import Final

TITLE_LENGTH: Final = 200
"""Characters that a title has at most."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def one_line(text: str) -> str:
    """The first words of `text` on one line, cut at `TITLE_LENGTH` characters."""
    line = plain(" ".join(text[: 4 * TITLE_LENGTH].split()))
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"


def plain(text: str) -> str:
    """`text` without lone surrogates, which neither a database nor a terminal takes."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
