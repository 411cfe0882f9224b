"""Bytes in any chunking -> the JSON records in them, whatever state the file is in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from ctxtui.core import canonical
from ctxtui.core.session import Skipped
from ctxtui.transcripts.kit.record_pieces import (
    BLANK,
    BOM,
    Broken,
    FoundObject,
    LineBuffer,
    Piece,
    TextLine,
    objects_at_start,
    read_line,
)

_BRACKET: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


class RecordStream:
    """Bytes in, records out, in the order of the file and the same for any chunking.

    A record is mostly a line; it may also be one of several glued on a line, or pretty-printed over many. With
    `decode`, which raises `msgspec.MsgspecError` on anything but one JSON value of the shape it knows, an ordinary line
    is looked at once: what `decode` makes of it is the record, and everything else takes the careful way. Whoever
    takes such a record asks `legible` first: a decoder does not look into what it leaves raw.
    """

    def __init__(self, decode: Callable[[bytes], Any] | None = None) -> None:
        self._decode = decode
        self._lines = LineBuffer()
        self._open: list[TextLine] = []
        self._depth = 0

    def feed(self, data: bytes) -> list[Piece]:
        """The records that `data` completes."""
        found: list[Piece] = []
        decode = self._decode
        for number, start, text in self._lines.split(data):
            if decode is not None and text[-1:] == b"}" and text[:2] == b'{"' and not self._open:
                try:
                    record = decode(text)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    pass
                else:
                    found.append(FoundObject(number, start, start + len(text), text, None, "", record))
                    continue
            found.extend(self._line(TextLine(number, start, text)))
        return found

    def settle(self) -> list[Piece]:
        """The whole records after the last line end; what is still cut stays, and is told by `tail`."""
        rest = self._lines.rest
        if self._open:
            if not _is_whole(b"\n".join([*(part.data for part in self._open), rest.data])):
                return []
            taken = len(rest.data)
            found = list(self._more(rest))
        else:
            head = len(BOM) if rest.data.startswith(BOM) else 0
            text = rest.data[head:].decode("utf-8", "surrogateescape")
            taken = len(text[: objects_at_start(text)].encode("utf-8", "surrogateescape"))
            taken += head if taken else 0
            if text.lstrip().startswith("[") and _is_whole(rest.data):
                taken = len(rest.data)
            found = list(read_line(TextLine(rest.number, rest.start, rest.data[:taken])))
        self._lines.take(taken)
        return found

    @property
    def tail(self) -> Skipped | None:
        """What still lacks its end, None if nothing does."""
        if self._open:
            return Skipped(self._open[0].number, "cut off: the JSON value that begins here has no end")
        number, _, data = self._lines.rest
        if not data.strip(BLANK):
            return None
        return Skipped(number, f"cut last line: {len(data):,} bytes without an end")

    def _line(self, line: TextLine) -> Iterator[Piece]:
        if not self._open:
            if _opens(line.data):
                self._open, self._depth = [line], _depth(line.data)
            else:
                yield from read_line(line)
        elif self._in_list() or not line.data.startswith(b'{"') or _depth(line.data):
            yield from self._more(line)
        else:
            # A whole record at the margin: what was open before it never got its end.
            yield self._abandon()
            yield from read_line(line)

    def _in_list(self) -> bool:
        return self._open[0].data.removeprefix(BOM).strip(BLANK)[:1] == b"["

    def _more(self, line: TextLine) -> Iterator[Piece]:
        self._open.append(line)
        self._depth += _depth(line.data)
        # A pretty-printed value ends in a line that closes its bracket.
        if self._depth <= 0:
            yield from read_line(self._joined())

    def _joined(self) -> TextLine:
        first = self._open[0]
        text = b"\n".join(part.data for part in self._open)
        self._open = []
        return TextLine(first.number, first.start, text)

    def _abandon(self) -> Broken:
        number, start, text = self._joined()
        return Broken(number, start, start + len(text), text, "a JSON value without an end")


def _is_whole(data: bytes) -> bool:
    text = data.removeprefix(BOM).decode("utf-8", "surrogateescape")
    try:
        canonical.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _depth(data: bytes) -> int:
    depth = 0
    for match in _BRACKET.finditer(data):
        token = match.group()
        depth += (token in b"[{") - (token in b"]}")
    return depth


def _opens(data: bytes) -> bool:
    # Pretty-printed values begin with a bracket alone, or with white space after it; minified text never does.
    data = data.removeprefix(BOM).strip(BLANK)
    if data in (b"{", b"[", b"[{"):
        return True
    return data[:2] in (b"{ ", b"[ ", b"{\t") and data[-1:] in b"{[," and _depth(data) > 0
