"""Extracts JSON records from bytes in any chunking, even from a damaged file.

Damaged parts become `BrokenRecord` or `Skipped`, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import accumulate, islice
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.session import Skipped
from ctxtui.wire.codec import spans


class TextLine(NamedTuple):
    """One line of a file, without its end; `number` counts from 1, `start` is its byte offset."""

    number: int
    start: int
    data: bytes


class LineBuffer:
    """Splits a stream of bytes into lines; text without a line end yet is the `rest`."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        self._number = 1
        self._start = 0

    def feed(self, data: bytes) -> list[TextLine]:
        return [TextLine(*line) for line in self.split(data)]

    def split(self, data: bytes) -> Iterable[tuple[int, int, bytes]]:
        """Like `feed`, returning plain tuples."""
        first, *later_parts = data.split(b"\n")
        if not later_parts:
            if data:
                self._waiting.append(data)
            return ()
        *complete_lines, last = later_parts
        texts = [b"".join([*self._waiting, first]) if self._waiting else first, *complete_lines]
        self._waiting = [last] if last else []
        starts = list(accumulate([len(text) + 1 for text in texts], initial=self._start))
        number, self._number = self._number, self._number + len(texts)
        self._start = starts[-1]
        return zip(range(number, self._number), starts, texts, strict=False)

    @property
    def rest(self) -> TextLine:
        if len(self._waiting) > 1:
            self._waiting = [b"".join(self._waiting)]
        return TextLine(self._number, self._start, self._waiting[0] if self._waiting else b"")

    def drop(self, count: int) -> None:
        remaining = self.rest.data[count:]
        self._waiting = [remaining] if remaining else []
        self._start += count


BLANK: Final = b" \t\r\n\0"
"""Bytes allowed around a record: white space, and the NULs that a crash leaves in a file."""
BOM: Final = b"\xef\xbb\xbf"

_SPACE: Final = " \t\r\n\0"
_ESCAPE: Final = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])|\\', re.DOTALL)
"""An escape of JSON (group 1), or a backslash that is none."""
# Any escape that minified JSON does not need: each of these characters has a shorter spelling.
_ODD_ESCAPE: Final = re.compile(rb"\\/|\\u(?!00(?:0[0-7bef]|1[0-9a-f]))")
# Start of the clients' records; a torn write can leave one in the middle of a line.
_BEGIN: Final = re.compile(r'\{"(?:type|parentUuid|timestamp|sessionId|uuid)":')
_TRIES: Final = 20
"""Beginnings of records that are tried in a torn line."""
_VALUE_NAMES: Final = {'"': "a string", "[": "an empty list", "t": "a word", "f": "a word", "n": "null"}


class RawRecord(Struct, frozen=True):
    """A JSON object on line `line` (from 1), about bytes `start` to `end` of the file.

    - `raw`: the object, minified if possible, in valid UTF-8. With a `record`, the line's bytes, not checked.
    - `clean`: it is canonical, so that its parts can be used unchanged; None: not checked.
    - `note`: describes repairs.
    - `record`: the result of the stream's decoder; None without one, and for unusual lines.
    """

    line: int
    start: int
    end: int
    raw: bytes
    clean: bool | None
    note: str = ""
    record: Any = None


class BrokenRecord(Struct, frozen=True):
    """Bytes `start` to `end` of the file, from line `line` on, that are no JSON object."""

    line: int
    start: int
    end: int
    raw: bytes
    reason: str


Piece = RawRecord | BrokenRecord | Skipped


def minify(raw: bytes) -> tuple[bytes, bool]:
    """Minify JSON text; also returns whether the result is free of needless escapes.

    Key order and duplicate keys stay. Raises `msgspec.DecodeError` if it is not JSON.
    """
    small = msgspec.json.format(raw, indent=-1)
    return small, not has_needless_escapes(small)


def has_needless_escapes(small: bytes) -> bool:
    return _ODD_ESCAPE.search(small) is not None


def read_line(line: TextLine) -> Iterator[Piece]:
    """Yield the records of one line (or of several lines that make one value)."""
    number, start, data = line
    text = data.removeprefix(BOM)
    bare = text.strip(BLANK)
    start += len(data) - len(text) + (text.index(bare[:1]) if bare else 0)
    if b"\0" not in text:
        yield from _parse_records(number, start, bare)
    elif not bare:
        yield Skipped(number, f"{_describe_nuls(text)} skipped")
    else:
        first, *more = _parse_records(number, start, bare)
        # Report each line once, whatever is wrong with it.
        if isinstance(first, BrokenRecord):
            yield replace(first, reason=f"{first.reason}; {_describe_nuls(text)} in the line")
        elif around := _describe_nuls(text.replace(bare, b"", 1)):
            yield replace(first, note="; ".join(filter(None, (f"{around} skipped", first.note))))
        else:
            yield first
        yield from more


def _describe_nuls(text: bytes) -> str:
    nul_count = text.count(b"\0")
    return f"{nul_count:,} NUL byte{'s' if nul_count > 1 else ''}" if nul_count else ""


def _parse_records(number: int, start: int, bare: bytes) -> Iterator[RawRecord | BrokenRecord]:
    if not bare:
        return
    if bare[:1] == b"{":
        try:
            small, clean = minify(bare)
            if not bare.isascii():
                bare.decode()
            yield RawRecord(number, start, start + len(bare), small, clean)
            return
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    yield from _read_slowly(number, start, decode_text(bare))


def is_utf8(raw: bytes) -> bool:
    try:
        return raw.isascii() or bool(raw.decode())
    except UnicodeDecodeError:
        return False


def decode_legible(piece: RawRecord) -> Iterator[Piece]:
    """Yield `piece` if it is UTF-8, else its line repaired, with a note."""
    if is_utf8(piece.raw):
        yield piece
    else:
        yield from read_line(TextLine(piece.line, piece.start, piece.raw))


def objects_at_start(text: str) -> int:
    """Length, in characters, of the complete JSON objects at the start of `text`."""
    offset = length = 0
    while True:
        offset = skip(text, offset)
        if text[offset : offset + 1] != "{":
            return length
        try:
            _, offset = canonical.raw_decode(text, offset)
        except (ValueError, RecursionError):
            return length
        length = offset


def skip(text: str, at: int, blank: str = _SPACE) -> int:
    """Return the index of the first character of `text` from `at` on that is not in `blank`."""
    while at < len(text) and text[at] in blank:
        at += 1
    return at


def decode_text(data: bytes) -> str:
    """Decode bytes that may not all be UTF-8; `encode_text` returns them unchanged."""
    return data.decode("utf-8", "surrogateescape")


def encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _read_slowly(number: int, start: int, text: str) -> Iterator[RawRecord | BrokenRecord]:
    """Read several values one by one, repair escapes and characters, unfold lists."""
    offset, note = 0, ""
    while offset < len(text):
        try:
            _, end = canonical.raw_decode(text, offset)
        except (ValueError, RecursionError) as error:
            mended = _mend_escapes(text[offset:]) if "scape" in str(error) else ""
            if not objects_at_start(mended):
                torn = _next_record(text, offset)
                bad = encode_text(text[offset:torn])
                yield BrokenRecord(number, start, start + len(bad), bad, _error_reason(error, text[offset:torn]))
                start += len(bad)
                offset = torn
                continue
            text, offset, note = mended, 0, "an escape that is not JSON, read as plain text"
            continue
        yield from _iter_value_records(number, start, text[offset:end], note)
        next_offset = skip(text, end)
        start += len(encode_text(text[offset:next_offset]))
        number += text.count("\n", offset, next_offset)
        offset = next_offset


def _iter_value_records(number: int, start: int, text: str, note: str) -> Iterator[RawRecord | BrokenRecord]:
    raw = encode_text(text)
    end = start + len(raw)
    if text[0] == "[" and text.strip("[]" + _SPACE):
        # A list of records, such as an export.
        offset = 0
        for item in spans.elements(text, 0):
            start += len(encode_text(text[offset : item.start]))
            number += text.count("\n", offset, item.start)
            offset = item.start
            yield from _iter_value_records(number, start, text[offset : item.end], note)
    elif text[0] != "{":
        yield BrokenRecord(
            number, start, end, raw, f"{_VALUE_NAMES.get(text[0], 'a number')} where a record is expected"
        )
    else:
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            note = f"invalid UTF-8 at byte {start + error.start:,}, read as U+FFFD"
            raw = raw.decode("utf-8", "replace").encode()
        clean = False
        # Only the lenient decoder reads lone surrogates and raw control characters.
        with suppress(msgspec.DecodeError, RecursionError):
            raw, clean = minify(raw)
        yield RawRecord(number, start, end, raw, clean, note)


def _mend_escapes(text: str) -> str:
    return _ESCAPE.sub(lambda match: match.group() if match.group(1) else "\\\\", text)


def _next_record(text: str, offset: int) -> int:
    """Index after `offset` from which `text` is complete records to its end. Its length if there is none."""
    for match in islice(_BEGIN.finditer(text, offset + 1), _TRIES):
        if not text[match.start() + objects_at_start(text[match.start() :]) :].strip(_SPACE):
            return match.start()
    return len(text)


def _error_reason(error: Exception, bad: str) -> str:
    if isinstance(error, RecursionError):
        return "JSON nested too deeply"
    if bad[0] not in '{["':
        return "not JSON"
    return f"not JSON: {getattr(error, 'msg', error)} ({len(bad):,} characters)"


BRACKET: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
"""A bracket of JSON, or a complete string, so that brackets in strings are not found."""


class RecordStream:
    """Extracts records from bytes, in the order of the file and independently of the chunking.

    Several may be on one line, or one on several lines. `decode` is an optional fast path for ordinary lines; it raises
    `msgspec.MsgspecError` on anything but a value of its shape. It does not check parts that it leaves raw: pass such a
    record to `decode_legible` first.
    """

    def __init__(self, decode: Callable[[bytes], Any] | None = None) -> None:
        self._decode = decode
        self._lines = LineBuffer()
        self._open: list[TextLine] = []
        """Lines of a value that is not complete."""
        self._depth = 0
        """Brackets that these lines leave open."""

    def feed(self, data: bytes) -> list[Piece]:
        pieces: list[Piece] = []
        decode = self._decode
        for number, start, text in self._lines.split(data):
            if decode is not None and text[-1:] == b"}" and text[:2] == b'{"' and not self._open:
                try:
                    record = decode(text)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    pass
                else:
                    pieces.append(RawRecord(number, start, start + len(text), text, None, "", record))
                    continue
            pieces.extend(self._handle_line(TextLine(number, start, text)))
        return pieces

    def settle(self) -> list[Piece]:
        last_line = self._lines.rest
        if self._open:
            if not _is_complete(b"\n".join([*(part.data for part in self._open), last_line.data])):
                return []
            length = len(last_line.data)
            pieces = list(self._continue_value(last_line))
        else:
            head = len(BOM) if last_line.data.startswith(BOM) else 0
            text = decode_text(last_line.data[head:])
            length = len(encode_text(text[: objects_at_start(text)]))
            length += head if length else 0
            if text.lstrip().startswith("[") and _is_complete(last_line.data):
                length = len(last_line.data)
            pieces = list(read_line(TextLine(last_line.number, last_line.start, last_line.data[:length])))
        self._lines.drop(length)
        return pieces

    @property
    def tail(self) -> Skipped | None:
        if self._open:
            return Skipped(self._open[0].number, "cut off: the JSON value that begins here has no end")
        number, _, data = self._lines.rest
        if not data.strip(BLANK):
            return None
        return Skipped(number, f"cut last line: {len(data):,} bytes without an end")

    def _handle_line(self, line: TextLine) -> Iterator[Piece]:
        if not self._open:
            if _opens_value(line.data):
                self._open, self._depth = [line], bracket_depth(line.data)
            else:
                yield from read_line(line)
        elif self._is_in_list() or not line.data.startswith(b'{"') or bracket_depth(line.data):
            yield from self._continue_value(line)
        else:
            # A complete record at the margin: the value open before it never ended.
            yield self._abandon_value()
            yield from read_line(line)

    def _is_in_list(self) -> bool:
        return self._open[0].data.removeprefix(BOM).strip(BLANK)[:1] == b"["

    def _continue_value(self, line: TextLine) -> Iterator[Piece]:
        self._open.append(line)
        self._depth += bracket_depth(line.data)
        # A pretty-printed value ends with a line that closes its bracket.
        if self._depth <= 0:
            yield from read_line(self._join_open())

    def _join_open(self) -> TextLine:
        first = self._open[0]
        text = b"\n".join(part.data for part in self._open)
        self._open = []
        return TextLine(first.number, first.start, text)

    def _abandon_value(self) -> BrokenRecord:
        number, start, text = self._join_open()
        return BrokenRecord(number, start, start + len(text), text, "a JSON value without an end")


def _is_complete(data: bytes) -> bool:
    text = decode_text(data.removeprefix(BOM))
    try:
        canonical.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def bracket_depth(data: bytes) -> int:
    open_ = 0
    for match in BRACKET.finditer(data):
        token = match.group()
        open_ += (token in b"[{") - (token in b"]}")
    return open_


def _opens_value(data: bytes) -> bool:
    # Pretty-printed values begin with brackets alone, or with white space after one; minified text never does.
    data = data.removeprefix(BOM).strip(BLANK)
    if data in (b"{", b"[", b"[{"):
        return True
    return data[:2] in (b"{ ", b"[ ", b"{\t") and data[-1:] in b"{[," and bracket_depth(data) > 0
