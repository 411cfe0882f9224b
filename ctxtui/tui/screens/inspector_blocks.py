"""What the Inspector does with the block under the cursor: open, more, raw, copy, pager, the whole turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from textual.app import App

from ctxtui.core.category import CATEGORIES
from ctxtui.core.reading import read
from ctxtui.runtime.pager import NoPager, page
from ctxtui.tui.widgets.transcript import Transcript
from ctxtui.views import safe_text
from ctxtui.views.context_rows import ContextRows
from ctxtui.views.span import Span, Spans

Say = Callable[[Spans], None]

_CLIPBOARD = 74_000
"""Bytes that common terminals take into the clipboard at once."""


class BlockActions:
    """Acts on the row under the cursor of `transcript`; `say` shows a line to the user."""

    def __init__(self, transcript: Transcript, say: Say) -> None:
        self._pane = transcript
        self._say = say

    @property
    def _rows(self) -> ContextRows | None:
        return self._pane.data if self._pane.node is not None else None

    def toggle(self, *, raw: bool | None = None) -> None:
        """Open the block or fold it, or turn it to JSON and back."""
        if self._rows is not None:
            self._rows.toggle(self._pane.cursor, raw=raw)
            self._pane.reopen()

    def turn_raw(self) -> None:
        """JSON, or the readable form again."""
        if self._rows is not None:
            how = self._rows.is_open(self._pane.cursor)
            self.toggle(raw=not (how and how.raw))

    def more(self) -> None:
        """More lines of an open block; opens a closed one."""
        rows = self._rows
        if rows is None:
            return
        if rows.is_open(self._pane.cursor) is None:
            self.toggle()
            return
        rows.more(self._pane.cursor)
        self._pane.reopen()

    def toggle_turn(self) -> None:
        """Open all blocks of the turn, or fold them if all are open."""
        rows, node = self._rows, self._pane.node
        if rows is None or rows.scene is None or not node:
            return
        tree = rows.scene.session.tree
        turn = tree[node].turn
        mine = [i for i in range(rows.count) if (entry := rows.entry(i)) > 0 and tree[entry].turn == turn]
        shut = [index for index in mine if rows.is_open(index) is None]
        for index in shut or mine:
            rows.toggle(index)
        self._pane.reopen()

    def _text(self) -> str:
        """The block's text as the model reads it; a call's input as JSON; nothing for images."""
        rows, node = self._rows, self._pane.node
        if rows is None or rows.scene is None or not node:
            return ""
        block = rows.scene.session.tree[node].block
        how = rows.is_open(self._pane.cursor)
        if how and how.raw:
            return block.body.decode("utf-8", "replace")
        got = read(block)
        if CATEGORIES[rows.scene.session.tree[node].category] == "tool_call":
            return got.arguments
        return got.text or block.body.decode("utf-8", "replace")

    def copy(self, app: App[object]) -> None:
        """Copy the block through the terminal."""
        text = self._text()
        if not text:
            return
        app.copy_to_clipboard(text)
        told = [Span("✓ ", "ok"), Span(f"copied {len(text):,} characters", "dim")]
        if len(text.encode("utf-8", "replace")) > _CLIPBOARD:
            told.append(Span("; many terminals take no more than 74 kB: `o` opens the pager", "warn"))
        self._say(told)

    def page(self, app: App[object], setting: str) -> None:
        """Read the block in the pager; the screen comes back after it."""
        text = self._text()
        if not text:
            return
        try:
            with app.suspend():
                page(_visible(text), setting)
        except NoPager as error:
            self._say([Span("✗ ", "crit"), Span(str(error), "crit")])
        app.refresh()


def _visible(text: str) -> Iterator[str]:
    return safe_text.lines(text)
