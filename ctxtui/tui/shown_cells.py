"""The cells on the terminal, so that a frame writes only those that changed.

A frame consists of pieces: strips of a line, each drawn by one widget. `chops` and `spans` are Textual's words for the
pieces of a line and the changed ranges of columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

_NARROW: Final = re.compile("[ -~\u00a1-\u02ff\u2010-\u22ff\u2500-\u25fc\u23ce\u2713\u2717]*")
"""Characters one cell wide in every terminal: Latin letters, punctuation, arrows, lines, blocks and ctxtui's signs."""
_OFF: Final = "\x1b[0m"
"""Resets every style."""


class WrittenPiece(NamedTuple):
    """A written piece of a line.

    `narrow`: each of its characters is one cell wide in every terminal.
    """

    piece: Strip
    narrow: bool


class ShownCells:
    """The written pieces of each line by start column. Pieces of a line do not overlap."""

    def __init__(self) -> None:
        self._lines: dict[int, dict[int, WrittenPiece]] = {}

    def forget(self) -> None:
        """Forget everything: the next frame is written in full."""
        self._lines.clear()

    def limit_to_changes(self, update: CompositorUpdate) -> CompositorUpdate:
        """Wrap a frame so that, when it is rendered, only its changes are written.

        After a new layout all of it is written.
        """
        return ChangedCells(update, self) if isinstance(update, ChopsUpdate | LayoutUpdate) else update

    def record_frame(self, update: LayoutUpdate) -> None:
        """Record that all of `update` was written."""
        self._lines.clear()
        for y, strips in enumerate(update.strips, update.region.y):
            line, x = self._lines.setdefault(y, {}), update.region.x
            for strip in strips:
                # Narrow pieces are only detected when a line is written piece by piece.
                line[x] = WrittenPiece(strip, False)
                x += strip.cell_length

    def render_changes(self, update: ChopsUpdate, console: Console) -> str:
        """Return the output for the changed pieces of `update`, and record them as written."""
        pen = _Pen(console)
        for y, first, behind in update.spans:
            line, pushed = self._lines.setdefault(y, {}), False
            for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                if strip is None or x >= behind or end <= first:
                    continue
                # As in Textual, a piece that starts before the span is written from its start.
                piece = strip.crop(0, behind - x) if end > behind else strip
                shown = line.get(x)
                if not pushed and shown is not None and (shown.piece is piece or shown.piece == piece):
                    continue
                narrow = _NARROW.fullmatch("".join([text for text, _, _ in piece])) is not None
                if shown is None or shown.piece.cell_length != piece.cell_length:
                    _clear(line, x, x + piece.cell_length)
                line[x] = WrittenPiece(piece, narrow)
                if narrow and not pushed and shown is not None and shown.narrow:
                    _write_changed(pen, shown.piece, piece, x, y)
                else:
                    pen.write(piece, x, y)
                # If the terminal draws a character wider than we assume, everything to its right is shifted.
                pushed = pushed or not narrow
        return pen.end()


class _Pen:
    """Writes pieces in sequence; a style is only sent if it differs from the text before."""

    def __init__(self, console: Console) -> None:
        self._output: list[str] = []
        self._now = ""
        """Code of the current style; "" for none."""
        self._system = console._color_system or ColorSystem.TRUECOLOR

    def write(self, piece: Iterable[Segment], x: int, y: int) -> None:
        output, now = self._output, self._now
        # A cursor move paints nothing, whatever the style.
        output.append(f"\x1b[{y + 1};{x + 1}H")
        for text, style, _ in piece:
            if not text:
                continue
            code = "" if style is None else style._ansi
            if style is not None and code is None:
                code = Strip.render_ansi(style, self._system)
            if style is not None and style._link:
                # The sequence of a link includes its style.
                output += [_OFF if now else "", Strip.render_style(style, text, color_system=self._system)]
                now = ""
                continue
            if code != now:
                output.append(f"{_OFF if now else ''}\x1b[{code}m" if code else _OFF)
                now = code or ""
            output.append(text)
        self._now = now

    def end(self) -> str:
        return "".join([*self._output, _OFF] if self._now else self._output)


def _write_changed(pen: _Pen, shown: Strip, piece: Strip, x: int, y: int) -> None:
    """Write the middle of `piece`, all one cell wide, that differs from `shown`.

    The whole row if its length changed.
    """
    old, new = list(shown), list(piece)
    prefix, suffix, shorter = 0, 0, min(len(old), len(new))
    while prefix < shorter and old[prefix] == new[prefix]:
        prefix += 1
    if prefix == shorter or shown.cell_length != piece.cell_length:
        pen.write(new, x, y)
        return
    while suffix < shorter - prefix and old[-1 - suffix] == new[-1 - suffix]:
        suffix += 1
    pen.write(new[prefix : len(new) - suffix], x + sum([len(text) for text, _, _ in new[:prefix]]), y)


def _clear(line: dict[int, WrittenPiece], first: int, behind: int) -> None:
    """Forget the pieces with a cell in columns `first` to `behind`, exclusive."""
    for x in [x for x, written in line.items() if x < behind and x + written.piece.cell_length > first]:
        del line[x]


class ChangedCells(CompositorUpdate):
    """A frame, `update`, that writes only what differs from the terminal's `cells`."""

    def __init__(self, update: ChopsUpdate | LayoutUpdate, cells: ShownCells) -> None:
        self.update = update
        self._cells = cells

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.update.__rich_console__(console, options)

    def render_segments(self, console: Console) -> str:
        if isinstance(self.update, LayoutUpdate):
            sent = self.update.render_segments(console)
            self._cells.record_frame(self.update)
            return sent
        return self._cells.render_changes(self.update, console)
