"""A text made safe to be edited on the screen, and read back character for character."""

from __future__ import annotations

from itertools import count

from ctxtui.views.text.safe_text import unsafe

_PRIVATE = 0x100000
"""Characters from here on mean nothing by themselves."""
MOST, LONGEST = 1_000_000, 40_000
"""Characters of a text, and of one of its lines, up to which a key is answered at once."""


def too_long(text: str) -> bool:
    """Whether an editor on the screen would be slow with `text`."""
    return len(text) > MOST or (len(text) > LONGEST and max(map(len, text.split("\n"))) > LONGEST)


class Editable:
    """`text` for an editor: `shown` has a character of its own, which does not occur in the text, for everything that
    could move the cursor, hide, or end a line otherwise than the text's own line ends."""

    def __init__(self, text: str) -> None:
        self._there: dict[str, str] = {}
        self._used: set[str] = set()
        bare = text.replace("\r\n", "")
        # An editor keeps one kind of line end.
        mixed = "\r" in bare or ("\r" in text and "\n" in bare)
        self.shown = self._safe(text, {"\r"} if mixed else set())

    def pasted(self, text: str) -> str:
        """`text` as it is shown once it is put in."""
        return self._safe(text, set())

    def _safe(self, text: str, more: set[str]) -> str:
        self._used.update(text)
        found = sorted(({*unsafe().findall(text)} | more) - self._there.keys())
        free = (char for char in map(chr, count(_PRIVATE)) if char not in self._used)
        self._there.update(zip(found, free, strict=False))
        self._used.update(self._there.values())
        return text.translate({ord(one): char for one, char in self._there.items()})

    def meant(self, text: str) -> str:
        """What `text`, edited, stands for."""
        own = {ord(char): one for one, char in self._there.items()}
        return text.translate(own)
