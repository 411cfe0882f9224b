"""Readers of formats that are one value from the first byte to the last: everything is read at `settle`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.session import Event, Happened, Outcome, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.reader import Reader
from ctxtui.wire.codec import spans

Take = Callable[[Json, Tree], Iterable[Event]]
"""The events of a format's JSON value, with nodes made in the tree."""

Parse = Callable[[bytes, Tree], tuple[list[Event], Skipped | None]]
"""The events of a whole file, and what is incomplete at its end."""

_ONCE = Skipped | Happened | Outcome
"""Events that are not replaced by a later one of the same id: told once, however often the file is read."""


class WholeReader:
    """Keeps the bytes of a file and reads them when told that there are no more for now."""

    def __init__(self, tree: Tree, parse: Parse) -> None:
        self._tree = tree
        self._parse = parse
        self._data = bytearray()
        self._read = 0
        self._told: set[_ONCE] = set()
        self._tail: Skipped | None = None

    @property
    def tail(self) -> Skipped | None:
        """Where the file breaks off, None if it is whole."""
        return self._tail

    def feed(self, data: bytes) -> list[Event]:
        """Nothing can be told before the end."""
        self._data += data
        return []

    def settle(self) -> list[Event]:
        """The events of everything so far; after more bytes, those that are new."""
        if len(self._data) == self._read:
            return []
        self._read = len(self._data)
        try:
            events, self._tail = self._parse(bytes(self._data), self._tree)
        except RecursionError:
            events, self._tail = [], Skipped(1, "nested too deeply to be read")
        news = [e for e in events if not isinstance(e, _ONCE) or e not in self._told]
        self._told.update(e for e in news if isinstance(e, _ONCE))
        return news

    def part(self, name: str) -> Reader:
        """Whole files have no companions: a reader that takes nothing."""
        return WholeReader(self._tree, lambda data, tree: ([], None))


def json_reader(take: Take) -> Callable[[Tree], WholeReader]:
    """The `open` of a format that is one JSON value."""

    def parse(data: bytes, tree: Tree) -> tuple[list[Event], Skipped | None]:
        value, tail = value_of(data)
        return list(take(value, tree)) if value is not None else [], tail

    return lambda tree: WholeReader(tree, parse)


def value_of(data: bytes) -> tuple[Json, Skipped | None]:
    """The JSON value in `data`, and where it breaks off: a cut file gives what was whole before the cut."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    start = spans.skip(text, 0)
    if start == len(text):
        return None, None
    try:
        found = spans.read(text, start)
    except Malformed as error:
        return _mended(text, start, error)
    rest = text[found.end :].strip(" \t\r\n\0")
    if not rest:
        return found.value, None
    line = text.count("\n", 0, found.end) + 1
    return found.value, Skipped(line, f"{len(rest):,} characters after the end of the JSON value")


def _mended(text: str, start: int, error: Malformed) -> tuple[Json, Skipped]:
    end = _broken_at(text, start)
    line = text.count("\n", 0, end) + 1
    cut = not text[end:].strip() or text[end : end + 1] == '"'
    reason = "cut off: the JSON value that begins here has no end" if cut else error.message
    value = None if "nested" in error.message else file_head.mend(text[start:end])
    return value, Skipped(line, f"{reason} ({len(text) - end:,} characters not read)")


def _broken_at(text: str, start: int) -> int:
    try:
        canonical.raw_decode(text, start)
    except ValueError as error:
        return max(start, int(getattr(error, "pos", start)))
    except RecursionError:
        return start
    return len(text)
