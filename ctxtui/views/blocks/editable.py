"""Makes a text safe for the on-screen editor, and converts the edited text back exactly."""

from __future__ import annotations

from itertools import count

from ctxtui.views.text.safe_text import unsafe_pattern

PRIVATE_USE_START = 0x100000
"""First code point of a private use area, whose characters have no meaning."""
MAX_TEXT_CHARS, MAX_LINE_CHARS = 1_000_000, 40_000
"""Characters of a text, and of one of its lines, up to which the editor answers a key at once."""


def is_too_long(text: str) -> bool:
    return len(text) > MAX_TEXT_CHARS or (
        len(text) > MAX_LINE_CHARS and max(map(len, text.split("\n"))) > MAX_LINE_CHARS
    )


class Editable:
    """An editable form of `text`.

    `shown` is the text with each unsafe character (it could move the cursor, hide, or end a line) replaced by a
    private-use character that does not occur in the text. `unescape` reverses it.
    """

    def __init__(self, text: str) -> None:
        self._placeholders: dict[str, str] = {}
        self._used_chars: set[str] = set()
        bare = text.replace("\r\n", "")
        # The editor supports one kind of line end.
        mixed = "\r" in bare or ("\r" in text and "\n" in bare)
        self.shown = self._escape(text, {"\r"} if mixed else set())

    def escape_paste(self, text: str) -> str:
        return self._escape(text, set())

    def _escape(self, text: str, more: set[str]) -> str:
        self._used_chars.update(text)
        unsafe_chars = sorted(({*unsafe_pattern().findall(text)} | more) - self._placeholders.keys())
        free = (char for char in map(chr, count(PRIVATE_USE_START)) if char not in self._used_chars)
        self._placeholders.update(zip(unsafe_chars, free, strict=False))
        self._used_chars.update(self._placeholders.values())
        return text.translate({ord(original): char for original, char in self._placeholders.items()})

    def unescape(self, text: str) -> str:
        originals = {ord(char): original for original, char in self._placeholders.items()}
        return text.translate(originals)
