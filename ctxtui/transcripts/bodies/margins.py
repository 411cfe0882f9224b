"""White space around the one body of a file, which then is part of it: an export gives the file back byte for byte."""

from __future__ import annotations

from typing import Final

from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.transcripts.bodies.values import decoded

MOST: Final = 4096
"""Bytes before the body that are kept."""

_BLANK: Final = " \t\r\n"


class Margins:
    """What stands before and behind the first value of a file."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._behind = bytearray()
        self._offset = 0
        self._bounds: tuple[int, int] | None = None

    def feed(self, data: bytes) -> None:
        """More of the file."""
        if len(self._head) < MOST:
            self._head += data[: MOST - len(self._head)]
        if self._bounds is not None:
            self._behind += data
        self._offset += len(data)

    def found(self, start: int, end: int, data: bytes) -> None:
        """The first value stands at bytes `start` to `end`; `data` is the piece of the file that was fed last."""
        self._bounds = start, end
        self._behind += data[max(0, end - (self._offset - len(data))) :]

    def around(self, skeleton: Skeleton) -> Skeleton:
        """`skeleton`, of the body that is the file's only value, with what stands around it."""
        start, _ = self._bounds or (0, 0)
        before, behind = decoded(bytes(self._head[:start])), decoded(bytes(self._behind))
        plain = start <= MOST and not before.removeprefix("\ufeff").strip(_BLANK) and not behind.strip(_BLANK)
        if not plain or not before + behind:
            return skeleton
        first, *rest = skeleton.parts["frame"]
        frame: list[Json] = [[before + first[0], *first[1:]], *rest] if isinstance(first, list) else [before + first]
        frame[-1] = frame[-1] + behind
        return Skeleton(skeleton.dialect, {**skeleton.parts, "frame": frame})
