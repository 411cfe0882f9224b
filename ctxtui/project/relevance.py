"""Which of several texts have to do with a message: by the words that they share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_ENOUGH: Final = 2
"""Words that a text must share with the message; one in its name is enough."""


def relevant(texts: Mapping[str, str], message: str) -> list[str]:
    """The names of `texts` that have to do with `message`, in their order. Words that more than half of several texts
    have say nothing."""
    asked = _words(message)
    held = {name: _words(text) for name, text in texts.items()}
    common = {word for word in asked if len(held) > 2 and sum(word in own for own in held.values()) > len(held) / 2}
    return [name for name, own in held.items() if _words(name) & asked or len(own & asked - common) >= _ENOUGH]


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text))
