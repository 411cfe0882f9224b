"""What stands on the terminal, so that a frame says no more than what is other than in the frames before it.

A key that changes one block asks for a whole pane to be painted, and most of its lines are then what they were. Textual
writes them all; a terminal takes 4,096 bytes at a time, and the program waits for each of them.
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
"""What is one cell wide in every terminal: Latin letters, arrows, lines, blocks, and signs of ours."""


_OFF: Final = "\x1b[0m"
"""Takes every style off."""


class Shown(NamedTuple):
    """A piece of a line, and whether each of its characters is one cell in every terminal, as far as that is known."""

    piece: Strip
    narrow: bool


class ShownCells:
    """The pieces of each line as they were last written, by the column where each begins. Pieces of a line do not
    overlap."""

    def __init__(self) -> None:
        self._lines: dict[int, dict[int, Shown]] = {}

    def forget(self) -> None:
        """Nothing is known of the terminal: all of the next frame is written."""
        self._lines.clear()

    def rest(self, update: CompositorUpdate) -> CompositorUpdate:
        """What of a frame is to be written. It is worked out, and taken as written, when the frame is rendered: Textual
        drops frames before that."""
        return Rest(update, self) if isinstance(update, ChopsUpdate | LayoutUpdate) else update

    def whole(self, update: LayoutUpdate) -> None:
        """All of `update` was written: nothing else stands there any more."""
        self._lines.clear()
        for y, strips in enumerate(update.strips, update.region.y):
            line, x = self._lines.setdefault(y, {}), update.region.x
            for strip in strips:
                # What is narrow in it is looked for when it is written piece by piece.
                line[x] = Shown(strip, False)
                x += strip.cell_length

    def written(self, update: ChopsUpdate, console: Console) -> str:
        """What writes what of `update` does not stand there yet; all of it stands there then."""
        pen = _Pen(console)
        for y, first, behind in update.spans:
            line, pushed = self._lines.setdefault(y, {}), False
            for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                if strip is None or x >= behind or end <= first:
                    continue
                # As Textual: a piece that begins before the span is written from its beginning.
                piece = strip.crop(0, behind - x) if end > behind else strip
                shown = line.get(x)
                if not pushed and shown is not None and (shown.piece is piece or shown.piece == piece):
                    continue
                narrow = _NARROW.fullmatch("".join([text for text, _, _ in piece])) is not None
                if shown is None or shown.piece.cell_length != piece.cell_length:
                    _clear(line, x, x + piece.cell_length)
                line[x] = Shown(piece, narrow)
                if narrow and not pushed and shown is not None and shown.narrow:
                    _write_changed(pen, shown.piece, piece, x, y)
                else:
                    pen.write(piece, x, y)
                # A terminal that gives a wide character another width than we do pushes what stands right of it.
                pushed = pushed or not narrow
        return pen.end()


class _Pen:
    """Writes pieces one behind the other; a style is said where it is another one than that of the piece before."""

    def __init__(self, console: Console) -> None:
        self._said: list[str] = []
        self._now = ""
        """The code of the style that is set; "" for none."""
        self._system = console._color_system or ColorSystem.TRUECOLOR

    def write(self, piece: Iterable[Segment], x: int, y: int) -> None:
        """Write `piece` from column `x` of line `y` on."""
        said, now = self._said, self._now
        # Moving the cursor paints nothing, whatever style is set.
        said.append(f"\x1b[{y + 1};{x + 1}H")
        for text, style, _ in piece:
            if not text:
                continue
            code = "" if style is None else style._ansi
            if style is not None and code is None:
                code = Strip.render_ansi(style, self._system)
            if style is not None and style._link:
                # What a link is told with says its style, too.
                said += [_OFF if now else "", Strip.render_style(style, text, color_system=self._system)]
                now = ""
                continue
            if code != now:
                said.append(f"{_OFF if now else ''}\x1b[{code}m" if code else _OFF)
                now = code or ""
            said.append(text)
        self._now = now

    def end(self) -> str:
        """All that was written; no style is set behind it."""
        return "".join([*self._said, _OFF] if self._now else self._said)


def _write_changed(pen: _Pen, shown: Strip, piece: Strip, x: int, y: int) -> None:
    """Write what of `piece` is other than what is `shown` in its place, from column `x` of line `y` on: less what both
    begin and end with. Each character of both is one cell."""
    old, new = list(shown), list(piece)
    same, alike, most = 0, 0, min(len(old), len(new))
    while same < most and old[same] == new[same]:
        same += 1
    if same == most or shown.cell_length != piece.cell_length:
        pen.write(new, x, y)
        return
    while alike < most - same and old[-1 - alike] == new[-1 - alike]:
        alike += 1
    pen.write(new[same : len(new) - alike], x + sum([len(text) for text, _, _ in new[:same]]), y)


def _clear(line: dict[int, Shown], first: int, behind: int) -> None:
    """Forget the pieces of which a cell is among these columns."""
    for x in [x for x, one in line.items() if x < behind and x + one.piece.cell_length > first]:
        del line[x]


class Rest(CompositorUpdate):
    """The part of a frame, `update`, that is to be written to a terminal that shows `cells`."""

    def __init__(self, update: ChopsUpdate | LayoutUpdate, cells: ShownCells) -> None:
        self.update = update
        self._cells = cells

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.update.__rich_console__(console, options)

    def render_segments(self, console: Console) -> str:
        """What a terminal is sent."""
        if isinstance(self.update, LayoutUpdate):
            sent = self.update.render_segments(console)
            self._cells.whole(self.update)
            return sent
        return self._cells.written(self.update, console)
