"""A file that is to be written, as whoever answers for it sees it: all that is new in it, nothing beside the edge."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from ctxtui.analysis.content.word_diff import word_diff
from ctxtui.views.blocks import word_diff as diff
from ctxtui.views.blocks.body import wrapped
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span, Spans

MOST: Final = 20_000
"""Lines that are shown; what is left out is said."""
_NUMBER: Final = 5
_LONG: Final = 2000
"""Characters of a line from which on a difference would leave out its middle: then the whole file is shown."""


def shown(before: bytes | None, after: bytes, room: int) -> list[Spans]:
    """The lines of at most `room` cells: of a new file its content, of another one what differs from `before`."""
    new = after.decode("utf-8", "replace")
    old = before.decode("utf-8", "replace") if before is not None else ""
    if before is None or max(map(len, [*old.split("\n"), *new.split("\n")])) > _LONG:
        source = _whole(new, room)
    else:
        source = diff.drawn(word_diff(old, new), room)
    found = list(islice(source, MOST))
    left = sum(1 for _ in islice(source, MOST)) if len(found) == MOST else 0
    if left:
        more = f"{left:,} more lines" if left < MOST else f"more than {MOST:,} more lines"
        found.append([Span(f" {more} are not shown here: allow it only if you trust them unseen", "warn bold")])
    if not found:
        found.append([Span(" (nothing)" if not after else " (the file stays as it is)", "faint")])
    return found


def _whole(text: str, room: int) -> Iterator[Spans]:
    for number, line in enumerate(safe_text.lines(text), 1):
        for at, part in enumerate(wrapped(safe_text.spans(line, "ink"), max(8, room - _NUMBER - 2))):
            yield [Span(cells.right("" if at else str(number), _NUMBER) + "  ", "faint"), *part]


def told(before: bytes | None, after: bytes) -> str:
    """What becomes of the file, in a few words: ``new, 12 lines, 340 bytes``."""
    lines = after.count(b"\n") + (not after.endswith(b"\n") and bool(after))
    size = f"{lines:,} line{'s' if lines != 1 else ''}, {len(after):,} bytes"
    if before is None:
        return f"new, {size}"
    return f"changed, {size} (was {len(before):,})" if before != after else f"unchanged, {size}"
