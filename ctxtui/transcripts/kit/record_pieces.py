"""One line of text -> the JSON records in it. What cannot be read is named with its reason, never dropped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
    """One line: `number` counts from 1, `start` is the byte offset of `data`, which has no line end."""

    number: int
    start: int
    data: bytes


class LineBuffer:
    """Cuts a stream of bytes into lines; what has no line end yet waits as the rest."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        self._number = 1
        self._start = 0

    def feed(self, data: bytes) -> list[TextLine]:
        """The lines that `data` ends, without their line feed (a carriage return stays)."""
        return [TextLine(*one) for one in self.split(data)]

    def split(self, data: bytes) -> Iterable[tuple[int, int, bytes]]:
        """As `feed`, as plain tuples."""
        first, *others = data.split(b"\n")
        if not others:
            if data:
                self._waiting.append(data)
            return ()
        *whole, last = others
        texts = [b"".join([*self._waiting, first]) if self._waiting else first, *whole]
        self._waiting = [last] if last else []
        starts = list(accumulate([len(text) + 1 for text in texts], initial=self._start))
        number, self._number = self._number, self._number + len(texts)
        self._start = starts[-1]
        return zip(range(number, self._number), starts, texts, strict=False)

    @property
    def rest(self) -> TextLine:
        """What stands after the last line end."""
        if len(self._waiting) > 1:
            self._waiting = [b"".join(self._waiting)]
        return TextLine(self._number, self._start, self._waiting[0] if self._waiting else b"")

    def take(self, count: int) -> None:
        """Drop the first `count` bytes of the rest: they have been read."""
        left = self.rest.data[count:]
        self._waiting = [left] if left else []
        self._start += count


BLANK: Final = b" \t\r\n\0"
"""Bytes that may stand around a record: white space, and the NULs that a crash leaves in a file."""
BOM: Final = b"\xef\xbb\xbf"

_SPACE: Final = " \t\r\n\0"
_ESCAPE: Final = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])|\\', re.DOTALL)
# Any escape but those that minified JSON needs: each of these characters has a shorter spelling.
_ODD_ESCAPE: Final = re.compile(rb"\\/|\\u(?!00(?:0[0-7bef]|1[0-9a-f]))")
# How the records of the clients begin; a torn write can leave one of them in the middle of a line.
_BEGIN: Final = re.compile(r'\{"(?:type|parentUuid|timestamp|sessionId|uuid)":')
_TRIES: Final = 20
_KINDS: Final = {'"': "a string", "[": "an empty list", "t": "a word", "f": "a word", "n": "null"}


class FoundObject(Struct, frozen=True):
    """A JSON object on line `line`, bytes `start` to `end` of the file.

    `raw` is the object, minified where it is JSON, in valid UTF-8. `clean` says that it is canonical, so that its parts
    can be taken as they stand. `note` tells what was mended, "" if nothing.
    """

    line: int
    start: int
    end: int
    raw: bytes
    clean: bool | None
    note: str = ""
    record: Any = None


class Broken(Struct, frozen=True):
    """Text on line `line` that is no JSON object, and why."""

    line: int
    start: int
    end: int
    raw: bytes
    reason: str


Piece = FoundObject | Broken | Skipped


def tidy(raw: bytes) -> tuple[bytes, bool]:
    """JSON text `raw` minified, and whether it is canonical then: whether it has no needless escapes.

    Raises `msgspec.DecodeError` where it is no JSON. A duplicate key passes; no client writes one.
    """
    small = msgspec.json.format(raw, indent=-1)
    return small, not needless_escapes(small)


def needless_escapes(small: bytes) -> bool:
    """Whether minified JSON has escapes that canonical JSON has not."""
    return _ODD_ESCAPE.search(small) is not None


def read_line(line: TextLine) -> Iterator[Piece]:
    """The records of one line (or of several lines that make one value), in order."""
    number, start, data = line
    text = data.removeprefix(BOM)
    bare = text.strip(BLANK)
    start += len(data) - len(text) + (text.index(bare[:1]) if bare else 0)
    if b"\0" not in text:
        yield from _records(number, start, bare)
    elif not bare:
        yield Skipped(number, f"{_nuls(text)} passed over")
    else:
        first, *more = _records(number, start, bare)
        # One line is told once, whatever is wrong with it.
        if isinstance(first, Broken):
            yield replace(first, reason=f"{first.reason}; {_nuls(text)} in the line")
        elif around := _nuls(text.replace(bare, b"", 1)):
            yield replace(first, note="; ".join(filter(None, (f"{around} passed over", first.note))))
        else:
            yield first
        yield from more


def _nuls(text: bytes) -> str:
    """How many NUL bytes `text` has, in words; "" where it has none."""
    many = text.count(b"\0")
    return f"{many:,} NUL byte{'s' if many > 1 else ''}" if many else ""


def _records(number: int, start: int, bare: bytes) -> Iterator[FoundObject | Broken]:
    if not bare:
        return
    if bare[:1] == b"{":
        try:
            small, clean = tidy(bare)
            if not bare.isascii():
                bare.decode()
            yield FoundObject(number, start, start + len(bare), small, clean)
            return
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    yield from _slowly(number, start, bare.decode("utf-8", "surrogateescape"))


def is_utf8(raw: bytes) -> bool:
    """Whether `raw` is UTF-8."""
    try:
        return raw.isascii() or bool(raw.decode())
    except UnicodeDecodeError:
        return False


def legible(piece: FoundObject) -> Iterator[Piece]:
    """`piece` if it is UTF-8, else what can be read of its line, with a note."""
    if is_utf8(piece.raw):
        yield piece
    else:
        yield from read_line(TextLine(piece.line, piece.start, piece.raw))


def objects_at_start(text: str) -> int:
    """How many characters of `text` are whole JSON objects, one after another, from its beginning on."""
    at = taken = 0
    while True:
        at = _skip(text, at)
        if text[at : at + 1] != "{":
            return taken
        try:
            _, at = canonical.raw_decode(text, at)
        except (ValueError, RecursionError):
            return taken
        taken = at


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _slowly(number: int, start: int, text: str) -> Iterator[FoundObject | Broken]:
    """Reads glued values one by one, mends escapes and characters, unfolds lists. `start` is the offset of `text`."""
    at, note = 0, ""
    while at < len(text):
        try:
            _, end = canonical.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            mended = _mend_escapes(text[at:]) if "scape" in str(error) else ""
            if not objects_at_start(mended):
                torn = _next_record(text, at)
                bad = _bytes(text[at:torn])
                yield Broken(number, start, start + len(bad), bad, _why(error, text[at:torn]))
                start += len(bad)
                at = torn
                continue
            text, at, note = mended, 0, "an escape that is no JSON, read as plain text"
            continue
        yield from _value(number, start, text[at:end], note)
        after = _skip(text, end)
        start += len(_bytes(text[at:after]))
        number += text.count("\n", at, after)
        at = after


def _value(number: int, start: int, text: str, note: str) -> Iterator[FoundObject | Broken]:
    raw = _bytes(text)
    end = start + len(raw)
    if text[0] == "[" and text.strip("[]" + _SPACE):
        # A list of records, such as an export.
        at = 0
        for item in spans.elements(text, 0):
            start += len(_bytes(text[at : item.start]))
            number += text.count("\n", at, item.start)
            at = item.start
            yield from _value(number, start, text[at : item.end], note)
    elif text[0] != "{":
        yield Broken(number, start, end, raw, f"{_KINDS.get(text[0], 'a number')} where a record is expected")
    else:
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            note = f"invalid UTF-8 at byte {start + error.start:,}, read as U+FFFD"
            raw = raw.decode("utf-8", "replace").encode()
        clean = False
        # Lone surrogates and raw control characters are read by the lenient decoder only.
        with suppress(msgspec.DecodeError, RecursionError):
            raw, clean = tidy(raw)
        yield FoundObject(number, start, end, raw, clean, note)


def _mend_escapes(text: str) -> str:
    return _ESCAPE.sub(lambda match: match.group() if match.group(1) else "\\\\", text)


def _next_record(text: str, at: int) -> int:
    """Where after a torn record, on the same line, a whole one begins that runs to the line's end; else the end."""
    for match in islice(_BEGIN.finditer(text, at + 1), _TRIES):
        if not text[match.start() + objects_at_start(text[match.start() :]) :].strip(_SPACE):
            return match.start()
    return len(text)


def _why(error: Exception, bad: str) -> str:
    if isinstance(error, RecursionError):
        return "JSON nested too deeply"
    if bad[0] not in '{["':
        return "no JSON"
    return f"no JSON: {getattr(error, 'msg', error)} ({len(bad):,} characters)"
