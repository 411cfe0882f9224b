"""Extract JSON values from bytes in any chunking, each with its own text, byte for byte.

If a file is one body, the white space around it is part of it: an export reproduces the file byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from ctxtui.core import canonical
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.session import Skipped
from ctxtui.transcripts.kit.records import BRACKET, LineBuffer, TextLine, bracket_depth, decode_text, encode_text, skip
from ctxtui.wire.codec import spans
from ctxtui.wire.codec.spans import Member, Value

BLANK: Final = " \t\r\n\0\ufeff"
"""Characters allowed around a value: white space, NULs that a crash left, byte order marks."""

_WALKED: Final = frozenset({"messages", "input", "contents", "tools", "functions", "system", "instructions"})
"""Members that are walked element by element."""


class JsonText(Struct, frozen=True):
    """One JSON value, with its text byte for byte.

    It begins on line `line` (1-based), at byte `start` of the file. An object has its walked `members`, a list its
    `items`, anything else neither. Bytes that are not UTF-8 are lone surrogates in `text` (``surrogateescape``).
    """

    line: int
    start: int
    text: str
    members: list[Member] | None = None
    items: list[Value] | None = None

    @property
    def raw(self) -> bytes:
        return encode_text(self.text)

    def value(self) -> Json:
        """Return the value; None for anything but an object or a list."""
        if self.members is not None:
            return {m.key: m.value if m.items is None else [v.value for v in m.items] for m in self.members}
        return None if self.items is None else [item.value for item in self.items]


def walk_value(text: str, line: int = 1, start: int = 0) -> JsonText:
    """Walk the value at the beginning of `text`; raises `Malformed` if there is none."""
    if text[:1] == "{":
        members = list(spans.members(text, 0, _WALKED))
        end = spans.close(text, members[-1].end if members else 1)
        return JsonText(line, start, text[:end], members=members)
    if text[:1] == "[":
        items = list(spans.elements(text, 0))
        return JsonText(line, start, text[: spans.close(text, items[-1].end if items else 1)], items=items)
    return JsonText(line, start, text[: spans.read(text, 0).end])


def to_json_text(value: Json) -> JsonText:
    return walk_value(canonical.dump_text(value))


class ValueStream:
    """Extracts values from bytes: one a line, several on one line, or one over many lines.

    `whole` tests whether a line's text is a record by itself. Then a value that is still open above it was cut off, and
    is skipped.
    """

    def __init__(self, whole: Callable[[str], bool]) -> None:
        self._lines = LineBuffer()
        self._open: list[TextLine] = []
        """Lines of a value that is not complete."""
        self._depth = 0
        """Brackets that these lines leave open."""
        self._whole = whole

    def feed(self, data: bytes) -> list[JsonText | Skipped]:
        return [value for line in self._lines.feed(data) for value in self._add_line(line)]

    def settle(self) -> list[JsonText | Skipped]:
        """Return the values that are complete without a final newline; an incomplete one is kept."""
        last_line = self._lines.rest
        values, remainder = _parse_values(_join_lines([*self._open, last_line]))
        if remainder is None:
            self._open, self._depth = [], 0
            self._lines.drop(len(last_line.data))
        elif values or not self._open:
            # The first value ends in the last line: without its text a bracket is open.
            self._open, self._depth = [], 0
            self._lines.drop(remainder.start - last_line.start)
        else:
            return []
        return list(values)

    @property
    def rest(self) -> TextLine | None:
        """Text of the incomplete value; None if there is none."""
        joined = _join_lines([*self._open, self._lines.rest])
        return joined if joined.data.strip(b" \t\r\n\0") else None

    def _add_line(self, line: TextLine) -> Iterator[JsonText | Skipped]:
        if self._open and line.data[:1] == b"{" and self._whole(decode_text(line.data)):
            yield Skipped(self._open[0].number, "a JSON value without an end")
            self._open, self._depth = [], 0
        if self._open:
            self._open.append(line)
            self._depth += bracket_depth(line.data)
            if self._depth > 0:
                return
            line, self._open, self._depth = _join_lines(self._open), [], 0
        values, remainder = _parse_values(line)
        yield from values
        if remainder is not None and _is_open_value(remainder.data):
            self._open, self._depth = [remainder], bracket_depth(remainder.data)
        elif remainder is not None:
            yield _skip_line(remainder)


def _join_lines(lines: list[TextLine]) -> TextLine:
    first = lines[0]
    return first if len(lines) == 1 else TextLine(first.number, first.start, b"\n".join(line.data for line in lines))


def _parse_values(line: TextLine) -> tuple[list[JsonText], TextLine | None]:
    """Values at the beginning of a line's text, and the rest that is not a value."""
    number, start, data = line
    text = decode_text(data)
    values: list[JsonText] = []
    offset = 0
    while True:
        begin = skip(text, offset, BLANK)
        number += text.count("\n", offset, begin)
        start += len(encode_text(text[offset:begin]))
        if begin == len(text):
            return values, None
        try:
            # Offsets count from the value's own first character.
            value = walk_value(text if not begin else text[begin : spans.read(text, begin).end], number, start)
        except Malformed:
            return values, TextLine(number, start, encode_text(text[begin:]))
        values.append(value)
        offset = begin + len(value.text)
        number += value.text.count("\n")
        start += len(value.raw)


def _is_open_value(data: bytes) -> bool:
    # A value continues on the next line if a bracket is open; text that ends inside a string does not.
    return data[:1] in (b"{", b"[") and bracket_depth(data) > 0 and b'"' not in BRACKET.sub(b"", data)


def _skip_line(line: TextLine) -> Skipped:
    text = decode_text(line.data)
    try:
        walk_value(text)
    except Malformed as error:
        reason = error.message if text[0] in "{[" else "not JSON"
        return Skipped(line.number, f"{reason} ({len(text):,} characters)")
    return Skipped(line.number, "not JSON")


_MAX_HEAD_BYTES: Final = 4096
"""First bytes of a file that are kept, as text before the body."""

_BLANK: Final = " \t\r\n"


class Margins:
    """The text before and after the first value of a file."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._after = bytearray()
        self._offset = 0
        self._bounds: tuple[int, int] | None = None

    def feed(self, data: bytes) -> None:
        if len(self._head) < _MAX_HEAD_BYTES:
            self._head += data[: _MAX_HEAD_BYTES - len(self._head)]
        if self._bounds is not None:
            self._after += data
        self._offset += len(data)

    def set_value(self, start: int, end: int, data: bytes) -> None:
        """Set the position of the first value; `data` is the chunk of the file that was fed last."""
        self._bounds = start, end
        self._after += data[max(0, end - (self._offset - len(data))) :]

    def add_to(self, skeleton: Skeleton) -> Skeleton:
        """Add the surrounding text to `skeleton`, of the body that is the file's only value.

        It is left out if it is more than white space and a byte order mark, or too long.
        """
        start, _ = self._bounds or (0, 0)
        before, after_value = decode_text(bytes(self._head[:start])), decode_text(bytes(self._after))
        plain = (
            start <= _MAX_HEAD_BYTES
            and not before.removeprefix("\ufeff").strip(_BLANK)
            and not after_value.strip(_BLANK)
        )
        if not plain or not before + after_value:
            return skeleton
        first, *other_parts = skeleton.parts["frame"]
        frame: list[Json] = (
            [[before + first[0], *first[1:]], *other_parts] if isinstance(first, list) else [before + first]
        )
        frame[-1] = frame[-1] + after_value
        return Skeleton(skeleton.dialect, {**skeleton.parts, "frame": frame})
