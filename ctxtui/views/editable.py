"""A text made safe to be edited on the screen, and read back character for character."""

from __future__ import annotations

from itertools import count

from ctxtui.views.safe_text import UNSAFE

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
        bare = text.replace("\r\n", "")
        found = set(UNSAFE.findall(text))
        # An editor keeps one kind of line end.
        found |= {"\r"} if "\r" in bare or ("\r" in text and "\n" in bare) else set()
        used = set(text)
        free = (char for char in map(chr, count(_PRIVATE)) if char not in used)
        self._there = dict(zip(sorted(found), free, strict=False))
        self.shown = text.translate(str.maketrans(self._there))

    def meant(self, text: str) -> str:
        """What `text`, edited, stands for."""
        return text.translate(str.maketrans({char: own for own, char in self._there.items()}))
