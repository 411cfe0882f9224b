"""Plausible text of any length, the same for the same seed."""

from __future__ import annotations

import random

VOCABULARY = (
    "the parser reads a file and returns the block that was asked for when cache prefix token window model agent "
    "function error path line tests run failed because of missing import module configuration server request answer "
    "value list index string number change commit branch review build deploy log message queue worker thread time "
    "src/core/tree.py tests/test_tree.py docs/guide.md package.json def class return if else for while None True 0 1 "
    "42 3.14 100% → ✓ naïve 日本語 ...\n {\n }\n"
).split(" ")


class Words:
    """A stream of text drawn from a fixed pool, fast enough for 50 MB."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._pool = " ".join(self.random.choices(VOCABULARY, k=20_000))

    def text(self, length: int) -> str:
        """About `length` characters, never empty nor blank at its ends."""
        length = max(4, length)
        parts = []
        while length > 0:
            at = self.random.randrange(len(self._pool) - 100)
            piece = self._pool[at : at + min(length, 40_000)]
            parts.append(piece)
            length -= len(piece)
        return "x" + "".join(parts).strip() + "."

    def about(self, length: int) -> str:
        """Text of `length` on average, mostly shorter and sometimes much longer, as tool results are."""
        return self.text(int(self.random.expovariate(1 / max(4, length))))

    def hex(self, digits: int) -> str:
        """Random hex digits."""
        return f"{self.random.getrandbits(4 * digits):0{digits}x}"

    def uuid(self) -> str:
        """A random id in the shape of a UUID."""
        h = self.hex(32)
        return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def tokens(text: str) -> int:
    """A rough token figure for made-up usage."""
    return len(text) // 4 + 1
