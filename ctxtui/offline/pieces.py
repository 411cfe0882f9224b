"""Text as a stream delivers it: a few characters at a time."""

from __future__ import annotations

import re
from typing import Final

_PIECE: Final = re.compile(r"\s*\S{1,10}|\s+")


def pieces(text: str) -> list[str]:
    """`text` in parts of about a token or two."""
    return _PIECE.findall(text)
