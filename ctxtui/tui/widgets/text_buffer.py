"""A text with a cursor in it, in short pieces: what a key does is the same work in a line and in five megabytes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

PIECE: Final = 1024
"""Characters of a piece at most."""


class TextBuffer:
    """What stands before the cursor and what behind it. Only `text` and `put` read the whole text."""

    def __init__(self) -> None:
        self.at = 0
        """Characters before the cursor."""
        self.size = 0
        """Characters in all."""
        self._before: list[str] = []
        self._after: list[str] = []
        """The nearest piece last."""
        self._whole: str | None = ""

    @property
    def text(self) -> str:
        """The whole text; put together once after a change."""
        if self._whole is None:
            self._whole = "".join([*self._before, *reversed(self._after)])
        return self._whole

    def put(self, text: str) -> None:
        """Another text, its end under the cursor."""
        self._before, self._after = list(_pieces(text)), []
        self.at = self.size = len(text)
        self._whole = text

    def behind(self, count: int) -> str:
        """At most `count` characters that stand before the cursor."""
        first, left = len(self._before), count
        while first and left > 0:
            first -= 1
            left -= len(self._before[first])
        return "".join(self._before[first:])[-count:] if count > 0 else ""

    def ahead(self, count: int) -> str:
        """At most `count` characters that stand behind the cursor, the one under it first."""
        found: list[str] = []
        left = count
        while left > 0 and len(found) < len(self._after):
            found.append(self._after[-1 - len(found)])
            left -= len(found[-1])
        return "".join(found)[: max(0, count)]

    def first(self, count: int) -> str:
        """At most `count` characters from the beginning."""
        found: list[str] = []
        left = count
        for piece in chain(self._before, reversed(self._after)):
            if left <= 0:
                break
            found.append(piece)
            left -= len(piece)
        return "".join(found)[:count]

    def insert(self, text: str) -> None:
        """Put `text` before the cursor."""
        if not text:
            return
        if self._before and len(self._before[-1]) + len(text) <= PIECE:
            self._before[-1] += text
        else:
            self._before.extend(_pieces(text))
        self._changed(len(text), len(text))

    def delete_behind(self, count: int = 1) -> None:
        """Take away `count` characters before the cursor, or as many as there are."""
        gone = self._take_behind(count)
        self._changed(-gone, -gone)

    def delete_ahead(self) -> None:
        """Take away the character under the cursor."""
        if self._after:
            self._put_ahead(self._after.pop()[1:])
            self._changed(0, -1)

    def delete_line(self) -> None:
        """Take away everything before the cursor."""
        self._before.clear()
        self._changed(-self.at, -self.at)

    def delete_word(self) -> None:
        """Take away blanks before the cursor, and the word before them."""
        while self.at:
            piece = self._before[-1]
            self.delete_behind(len(piece) - len(piece.rstrip()))
            if not piece.isspace():
                break
        while self.at:
            piece = self._before[-1]
            space = piece.rfind(" ")
            self.delete_behind(len(piece) - space - 1)
            if space >= 0:
                break

    def left(self) -> None:
        """The cursor one character back."""
        if self._before:
            last = self.behind(1)
            self._take_behind(1)
            self._put_ahead(last)
            self.at -= 1

    def right(self) -> None:
        """The cursor one character on."""
        if self._after:
            piece = self._after.pop()
            self._put_ahead(piece[1:])
            if self._before and len(self._before[-1]) < PIECE:
                self._before[-1] += piece[0]
            else:
                self._before.append(piece[0])
            self.at += 1

    def home(self) -> None:
        """The cursor to the beginning."""
        self._after.extend(reversed(self._before))
        self._before.clear()
        self.at = 0

    def end(self) -> None:
        """The cursor behind the last character."""
        self._before.extend(reversed(self._after))
        self._after.clear()
        self.at = self.size

    def _changed(self, moved: int, grown: int) -> None:
        self.at += moved
        self.size += grown
        self._whole = None

    def _take_behind(self, count: int) -> int:
        left = min(count, self.at)
        gone = left
        while left:
            piece = self._before.pop()
            if len(piece) > left:
                self._before.append(piece[:-left])
                break
            left -= len(piece)
        return gone

    def _put_ahead(self, text: str) -> None:
        if text and self._after and len(self._after[-1]) + len(text) <= PIECE:
            self._after[-1] = text + self._after[-1]
        elif text:
            self._after.append(text)


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + PIECE] for at in range(0, len(text), PIECE))
