"""Which requests of other programs are held, by what a body alone tells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_CHARACTERS: Final = 4
"""Bytes of a body that are about one token: the rule decides at once, without a tokenizer."""


def about_tokens(size: int) -> int:
    """What a body of so many bytes comes to, roughly."""
    return size // _CHARACTERS


@dataclass(slots=True, kw_only=True)
class HoldRules:
    """Which requests are held: `each`, those over about so many `tokens` (0: none), those in which `pattern` stands."""

    each: bool = False
    tokens: int = 0
    pattern: re.Pattern[bytes] | None = None

    def __bool__(self) -> bool:
        return bool(self.each or self.tokens or self.pattern)

    def reason(self, body: bytes) -> str:
        """Why a request with this body is held; "" where it is not."""
        about = about_tokens(len(body))
        if self.tokens and about > self.tokens:
            return f"about {about:,} tokens, over {self.tokens:,}"
        if self.pattern is not None and self.pattern.search(body):
            return f"{self.pattern.pattern.decode('utf-8', 'replace')} stands in it"
        return "each request is held" if self.each else ""


def rules_of(*, each: bool, tokens: int, pattern: str) -> HoldRules:
    """The rules that options name. Raises `re.error`."""
    return HoldRules(each=each, tokens=tokens, pattern=re.compile(pattern.encode()) if pattern else None)
