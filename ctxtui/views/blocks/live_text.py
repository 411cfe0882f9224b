"""Text that is still coming, as styled lines of a given width: each finished line is made once, only the last anew."""

from __future__ import annotations

from itertools import chain

from ctxtui.views.blocks import markdown
from ctxtui.views.blocks.body import wrapped
from ctxtui.views.text import safe_text
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
