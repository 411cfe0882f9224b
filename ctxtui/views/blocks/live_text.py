"""Text that is still coming, as styled lines of a given width: each finished line is made once, only the last anew."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from ctxtui.analysis.content.word_diff import word_diff
from ctxtui.views.blocks import markdown
from ctxtui.views.blocks import word_diff as diff
from ctxtui.views.blocks.body import wrapped
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span, Spans, width

CURSOR = "▍"
"""What the last line ends in while more may come."""


class LiveText:
    """Markdown that grows. `voice` is the style of plain words, `room` the cells of a line."""

    def __init__(self, voice: str = "ink", room: int = 80) -> None:
        self.text = ""
        self._voice = voice
        self._room = max(1, room)
        self._done: list[Spans] = []
        self._upto = 0
        self._fence = ""
        self._last: list[Spans] | None = None

    def feed(self, text: str) -> None:
        """More text."""
        self.text += text
        self._last = None

    def resize(self, room: int) -> None:
        """Another width: all lines are made anew."""
        room = max(1, room)
        if room != self._room:
            self._room, self._done, self._upto, self._fence, self._last = room, [], 0, "", None

    @property
    def height(self) -> int:
        """How many lines there are; at least one."""
        return self.settled + len(self._tail())

    @property
    def settled(self) -> int:
        """Lines that will not change any more."""
        self._settle()
        return len(self._done)

    def line(self, number: int) -> Spans:
        """Line `number`, from 0; the last one ends in the cursor."""
        done = self.settled
        if number < done:
            return self._done[number]
        tail = self._tail()
        return tail[min(number - done, len(tail) - 1)]

    def _settle(self) -> None:
        end = self.text.rfind("\n") + 1
        if end <= self._upto:
            return
        for raw in self.text[self._upto : end - 1].split("\n"):
            self._done += self._lines(raw)
            self._turn(raw)
        self._upto = end

    def _turn(self, raw: str) -> None:
        """Whether a fence begins or ends with this line."""
        bare = raw.strip()
        if self._fence:
            if bare.startswith(self._fence) and not bare.strip(self._fence[0]):
                self._fence = ""
        elif bare.startswith(("```", "~~~")):
            self._fence = bare[:3]

    def _lines(self, raw: str) -> list[Spans]:
        texts = list(safe_text.lines(raw)) or [""]
        if self._fence and not raw.strip().startswith(self._fence):
            styled = [safe_text.spans(text, "cat-call") for text in texts]
        else:
            styled = [line for text in texts for line in markdown.lines([text], self._voice)]
        return list(chain.from_iterable(wrapped(line, self._room) for line in styled))

    def _tail(self) -> list[Spans]:
        self._settle()
        if self._last is None:
            lines = self._lines(self.text[self._upto :])
            end = lines[-1] if lines else []
            if width(end) < self._room:
                self._last = [*lines[:-1], [*end, Span(CURSOR, "accent")]]
            else:
                self._last = [*lines, [Span(CURSOR, "accent")]]
        return self._last


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
