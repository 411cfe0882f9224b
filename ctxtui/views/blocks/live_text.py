"""Text that is still changing: a streamed answer, and a file that a tool asks to write."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from ctxtui.analysis.content.word_diff import word_diff
from ctxtui.views.blocks import markdown
from ctxtui.views.blocks import word_diff as diff
from ctxtui.views.blocks.body import wrap
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, Spans, width

CURSOR = "▍"


class LiveText:
    """Markdown that is streamed; `voice` is the style of plain words."""

    def __init__(self, voice: str = "ink", room: int = 80) -> None:
        self.text = ""
        self._voice = voice
        self._room = max(1, room)
        self._done: list[Spans] = []
        self._settled_chars = 0
        self._fence = ""
        self._last: list[Spans] | None = None

    def feed(self, text: str) -> None:
        self.text += text
        self._last = None

    def resize(self, room: int) -> None:
        room = max(1, room)
        if room != self._room:
            self._room, self._done, self._settled_chars, self._fence, self._last = room, [], 0, "", None

    @property
    def height(self) -> int:
        return len(self._tail()) + len(self._done)

    def line(self, number: int) -> Spans:
        """Line `number`, from 0; the last one ends in the cursor."""
        tail, done = self._tail(), len(self._done)
        return self._done[number] if number < done else tail[min(number - done, len(tail) - 1)]

    def _settle(self) -> None:
        end = self.text.rfind("\n") + 1
        if end <= self._settled_chars:
            return
        for raw in self.text[self._settled_chars : end - 1].split("\n"):
            self._done += self._lines(raw)
            self._update_fence(raw)
        self._settled_chars = end

    def _update_fence(self, raw: str) -> None:
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
        return list(chain.from_iterable(wrap(line, self._room) for line in styled))

    def _tail(self) -> list[Spans]:
        self._settle()
        if self._last is None:
            lines = self._lines(self.text[self._settled_chars :])
            end = lines[-1] if lines else []
            if width(end) < self._room:
                self._last = [*lines[:-1], [*end, Span(CURSOR, "accent")]]
            else:
                self._last = [*lines, [Span(CURSOR, "accent")]]
        return self._last


MAX_LINES: Final = 20_000
LINE_NUMBER_CELLS: Final = 5
MAX_DIFF_LINE_CHARS: Final = 2000
"""Line length from which a diff would leave out the middle."""


def render_file_change(before: bytes | None, after: bytes, room: int) -> list[Spans]:
    """Lines of at most `room` cells: the content of a new file, or the changes from `before`.

    A file with lines too long for a diff is shown whole.
    """
    new = after.decode("utf-8", "replace")
    old = before.decode("utf-8", "replace") if before is not None else ""
    if before is None or max(map(len, [*old.split("\n"), *new.split("\n")])) > MAX_DIFF_LINE_CHARS:
        source = _numbered(new, room)
    else:
        source = diff.render(word_diff(old, new), room)
    lines = list(islice(source, MAX_LINES))
    hidden = sum(1 for _ in islice(source, MAX_LINES)) if len(lines) == MAX_LINES else 0
    if hidden:
        more = f"{hidden:,} more lines" if hidden < MAX_LINES else f"more than {MAX_LINES:,} more lines"
        lines.append([Span(f" {more} are not shown: do not allow it unless you trust them", "warn bold")])
    if not lines:
        lines.append([Span(" (nothing)", "faint")])
    elif before not in (None, after) and old == new:
        lines.append([Span(" only bytes that are not text changed", "warn")])
    return lines


def _numbered(text: str, room: int) -> Iterator[Spans]:
    for number, line in enumerate(safe_text.lines(text), 1):
        for at, part in enumerate(wrap(safe_text.spans(line, "ink"), max(8, room - LINE_NUMBER_CELLS - 2))):
            yield [Span(cells.right("" if at else str(number), LINE_NUMBER_CELLS) + "  ", "faint"), *part]


def describe_file_change(before: bytes | None, after: bytes) -> str:
    """Describe the change of a file in a few words: ``new, 12 lines, 340 bytes``."""
    lines = after.count(b"\n") + (not after.endswith(b"\n") and bool(after))
    size = f"{numbers.many(lines, 'line')}, {len(after):,} bytes"
    if before is None:
        return f"new, {size}"
    return f"changed, {size} (was {len(before):,})" if before != after else f"unchanged, {size}"
