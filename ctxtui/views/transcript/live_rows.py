"""The transcript of a chat: recorded rows, then the streaming answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core.category import INDEX
from ctxtui.views.text import numbers
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, Spans, fit_spans
from ctxtui.views.transcript.context_rows import ContextRows
from ctxtui.views.transcript.open_block import OpenState
from ctxtui.views.transcript.row_index import RuleRow
from ctxtui.views.transcript.rows import TranscriptRow

if TYPE_CHECKING:
    from ctxtui.views.blocks.live_text import LiveText

_GUTTER: Final = Span("┊", "faint")
_THINKING: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
_CALLS: Final = ("_use", "_call", "tool_call")
ALL_LINES: Final = 1 << 30


def category_of(kind: str) -> int:
    if kind in _THINKING:
        return INDEX["thinking"]
    return INDEX["tool_call"] if kind.endswith(_CALLS) else INDEX["assistant"]


class LiveBlock(Struct):
    """One block of the streaming answer."""

    kind: str
    body: LiveText
    tokens: int | None = None

    @property
    def category(self) -> int:
        return category_of(self.kind)


class LiveAnswer(Struct):
    """The streaming answer by block number; `note` says what is awaited before the first block."""

    blocks: dict[int, LiveBlock] = field(default_factory=dict)
    note: str = ""

    def feed(self, block: int, kind: str, text: str, room: int) -> None:
        live_block = self.blocks.get(block)
        if live_block is None:
            # Late import: most sessions have no streaming answer.
            from ctxtui.views.blocks.live_text import LiveText

            voice = "dim italic" if kind in _THINKING else "ink"
            live_block = self.blocks[block] = LiveBlock(kind, LiveText(voice, room))
        live_block.body.feed(text)

    @property
    def text(self) -> str:
        return "".join(block.body.text for block in self.blocks.values())


class LiveRows(ContextRows):
    """`ContextRows` followed by the rows of `answer`, if there is one, fully opened."""

    answer: LiveAnswer | None = None
    unseen: frozenset[int] = frozenset()
    """Nodes that the server cut off and never read."""

    @property
    def live(self) -> list[LiveBlock]:
        return list(self.answer.blocks.values()) if self.answer is not None else []

    @property
    def recorded(self) -> int:
        """Number of recorded rows; streaming rows follow."""
        return len(self._listed)

    @property
    def count(self) -> int:
        """Number of rows, with one for an awaited answer before its first block."""
        if self.answer is None:
            return self.recorded
        return self.recorded + max(1, len(self.answer.blocks))

    def entry(self, index: int) -> int:
        """Like the base class; a streaming row has the last recorded node."""
        if index >= self.recorded:
            return self.scene.tip if self.scene is not None else 0
        return super().entry(index)

    def open_state(self, index: int) -> OpenState | None:
        return OpenState(ALL_LINES) if index >= self.recorded else super().open_state(index)

    @property
    def streaming_rows(self) -> range:
        return range(self.recorded, self.count) if self.live else range(0)

    def toggle(self, index: int, *, raw: bool | None = None) -> None:
        if index < self.recorded:
            super().toggle(index, raw=raw)

    def is_user_row(self, index: int) -> bool:
        return index < self.recorded and super().is_user_row(index)

    def turn_row(self, index: int) -> int | None:
        return super().turn_row(min(index, self.recorded - 1)) if self.recorded else None

    def height(self, index: int, grid: Grid) -> int:
        live = self.live
        if index < self.recorded:
            return super().height(index, grid)
        if not live:
            return 1
        body = live[index - self.recorded].body
        body.resize(grid.body)
        return 1 + body.height

    def row(self, index: int, *, history: bool = True) -> TranscriptRow | RuleRow:
        base_row = super().row(index, history=history)
        if self.unseen and isinstance(base_row, TranscriptRow) and self.entry(index) in self.unseen:
            words = tuple(Span(span.text, "faint strike") for span in base_row.words)
            return replace(base_row, gutter=Span("✗", "crit"), words=words)
        if self.answer is not None and isinstance(base_row, RuleRow) and base_row.kind == "since":
            return base_row._replace(text="being answered")
        return base_row

    def line(self, index: int, line: int, grid: Grid, cursor: str) -> Spans:
        if index < self.recorded:
            return super().line(index, line, grid, cursor)
        live = self.live
        if not live:
            note = self.answer.note if self.answer is not None else ""
            return fit_spans([_GUTTER, Span(cursor, "accent"), Span("     "), Span(note or "·", "faint")], grid.width)
        block = live[index - self.recorded]
        if line == 0:
            return _head(block, grid, cursor)
        block.body.resize(grid.body)
        sign = CATEGORY[block.category]
        return [_GUTTER, Span("     "), Span("│ ", sign.style), *block.body.line(line - 1)]


def _head(block: LiveBlock, grid: Grid, cursor: str) -> list[Span]:
    sign = CATEGORY[block.category]
    name = Span(sign.name, sign.style + (" bold" if sign.name == "tool call" else ""))
    left = [_GUTTER, Span(cursor, "accent"), Span("   "), sign.span, Span(" "), name]
    count = numbers.NOT_YET if block.tokens is None else f"≈{numbers.tokens(block.tokens)}"
    right = 1 + (grid.bar + 1 if grid.bar else 0) + (grid.call + 1 + grid.cost if grid.call else 0)
    return [*fit_spans(left, grid.width - right - 8), Span(f"{count:>8}", "dim"), Span(" " * right)]
