"""The transcript of a chat: the rows of the record, and below them the answer that comes in (look book, live tail)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core.category import INDEX
from ctxtui.views.text import numbers
from ctxtui.views.text.grid import Grid, fitted
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.context_rows import ContextRows
from ctxtui.views.transcript.open_block import OpenBlock
from ctxtui.views.transcript.row_index import RuleRow
from ctxtui.views.transcript.rows import TranscriptRow

if TYPE_CHECKING:
    from ctxtui.views.blocks.live_text import LiveText

_GUTTER: Final = Span("┊", "faint")
_THINKING: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
_CALLS: Final = ("_use", "_call", "tool_call")
WHOLE: Final = 1 << 30
"""Lines of an answer that is opened whole."""


def category_of(kind: str) -> int:
    """The category of a block that is coming in, by its kind."""
    if kind in _THINKING:
        return INDEX["thinking"]
    return INDEX["tool_call"] if kind.endswith(_CALLS) else INDEX["assistant"]


class LiveBlock(Struct):
    """One block of the answer so far."""

    kind: str
    body: LiveText
    tokens: int | None = None
    """Its tokens as counted last."""

    @property
    def category(self) -> int:
        """Its category's index."""
        return category_of(self.kind)


class LiveAnswer(Struct):
    """The answer that is coming in, block by block; `note` says what is waited for where nothing came yet."""

    blocks: dict[int, LiveBlock] = field(default_factory=dict)
    note: str = ""

    def feed(self, block: int, kind: str, text: str, room: int) -> None:
        """More of block number `block`."""
        found = self.blocks.get(block)
        if found is None:
            # Imported here: most sessions have no answer that comes in.
            from ctxtui.views.blocks.live_text import LiveText

            voice = "dim italic" if kind in _THINKING else "ink"
            found = self.blocks[block] = LiveBlock(kind, LiveText(voice, room))
        found.body.feed(text)

    @property
    def text(self) -> str:
        """All words so far."""
        return "".join(block.body.text for block in self.blocks.values())


class LiveRows(ContextRows):
    """`ContextRows` with the rows of `answer`, if there is one, at the end; each of them is open and whole."""

    answer: LiveAnswer | None = None
    unseen: frozenset[int] = frozenset()
    """Nodes that the server cut away and never read."""

    @property
    def live(self) -> list[LiveBlock]:
        """The blocks that are coming in."""
        return list(self.answer.blocks.values()) if self.answer is not None else []

    @property
    def recorded(self) -> int:
        """How many rows are on record; the others follow."""
        return len(self._listed)

    @property
    def count(self) -> int:
        """How many rows there are: a line says that an answer is awaited until its first block comes."""
        if self.answer is None:
            return self.recorded
        return self.recorded + max(1, len(self.answer.blocks))

    def entry(self, index: int) -> int:
        """As for the record; a live row stands for the end of it."""
        if index >= self.recorded:
            return self.scene.tip if self.scene is not None else 0
        return super().entry(index)

    def is_open(self, index: int) -> OpenBlock | None:
        """A live row is open and whole."""
        return OpenBlock(WHOLE) if index >= self.recorded else super().is_open(index)

    @property
    def coming_in(self) -> range:
        """The rows below the record."""
        return range(self.recorded, self.count) if self.live else range(0)

    def toggle(self, index: int, *, raw: bool | None = None) -> None:
        """Open or fold a row of the record."""
        if index < self.recorded:
            super().toggle(index, raw=raw)

    def asks(self, index: int) -> bool:
        """Whether row `index` is a user's."""
        return index < self.recorded and super().asks(index)

    def turn_row(self, index: int) -> int | None:
        """The row with which the turn of row `index` begins."""
        return super().turn_row(min(index, self.recorded - 1)) if self.recorded else None

    def height(self, index: int, grid: Grid) -> int:
        """Lines of row `index`."""
        live = self.live
        if index < self.recorded:
            return super().height(index, grid)
        if not live:
            return 1
        body = live[index - self.recorded].body
        body.resize(grid.body)
        return 1 + body.height

    def row(self, index: int, *, history: bool = True) -> TranscriptRow | RuleRow:
        """Row `index` of the record."""
        found = super().row(min(index, self.recorded - 1), history=history)
        if self.unseen and isinstance(found, TranscriptRow) and self.entry(index) in self.unseen:
            words = tuple(Span(span.text, "faint strike") for span in found.words)
            return replace(found, gutter=Span("✗", "crit"), words=words)
        if self.answer is not None and isinstance(found, RuleRow) and found.kind == "since":
            return found._replace(text="being answered")
        return found

    def line(self, index: int, line: int, grid: Grid, cursor: str) -> Spans:
        """Line `line` of row `index`."""
        if index < self.recorded:
            return super().line(index, line, grid, cursor)
        live = self.live
        if not live:
            note = self.answer.note if self.answer is not None else ""
            return fitted([_GUTTER, Span(cursor, "accent"), Span("     "), Span(note or "·", "faint")], grid.width)
        block = live[index - self.recorded]
        if line == 0:
            return _head(block, grid, cursor)
        block.body.resize(grid.body)
        sign = CATEGORY[block.category]
        return [_GUTTER, Span("     "), Span("│ ", sign.style), *block.body.line(line - 1)]


def _head(block: LiveBlock, grid: Grid, cursor: str) -> list[Span]:
    """The first line of a block that is coming in: its sign and name, its tokens so far."""
    sign = CATEGORY[block.category]
    name = Span(sign.name, sign.style + (" bold" if sign.name == "tool call" else ""))
    left = [_GUTTER, Span(cursor, "accent"), Span("   "), sign.span, Span(" "), name]
    count = numbers.NOT_YET if block.tokens is None else f"≈{numbers.tokens(block.tokens)}"
    right = 1 + (grid.bar + 1 if grid.bar else 0) + (grid.call + 1 + grid.cost if grid.call else 0)
    return [*fitted(left, grid.width - right - 8), Span(f"{count:>8}", "dim"), Span(" " * right)]
