"""What the Inspector does with the block under the cursor: open, more, raw, copy, pager, the whole turn."""

from __future__ import annotations

from ctxtui.core.block_content import read
from ctxtui.core.category import CATEGORIES
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.context_rows import ContextRows

_TOO_MUCH = 1_000_000
"""Characters that no terminal takes: `o` opens the pager."""
_CLIPBOARD = 74_000
"""Bytes that common terminals take into the clipboard at once."""


class BlocksController(Controller):
    """Acts on the row under the cursor of the transcript. `pager` is the user's setting."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, pager: str) -> None:
        super().__init__(state, prompt, access)
        self._pane = state.panels.transcript
        self._pager = pager

    @property
    def _rows(self) -> ContextRows | None:
        return self._pane.data if self._pane.node is not None else None

    def open_block(self) -> None:
        """Open the block or fold it."""
        self._toggle()

    def _toggle(self, *, raw: bool | None = None) -> None:
        if self._rows is not None:
            self._rows.toggle(self._pane.cursor, raw=raw)
            self._pane.reopen()

    def raw(self) -> None:
        """JSON, or the readable form again."""
        if self._rows is not None:
            how = self._rows.is_open(self._pane.cursor)
            self._toggle(raw=not (how and how.raw))

    def more_lines(self) -> None:
        """More lines of an open block; opens a closed one."""
        rows = self._rows
        if rows is None:
            return
        if rows.is_open(self._pane.cursor) is None:
            self._toggle()
            return
        rows.more(self._pane.cursor)
        self._pane.reopen()

    def open_turn(self) -> None:
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
        new = self._pane.new
        if new is not None:
            return read(new.item.block).text
        rows, node = self._rows, self._pane.node
        if rows is None or rows.scene is None or not node:
            return ""
        block = rows.scene.session.tree[node].block
        how = rows.is_open(self._pane.cursor)
        if how and how.raw:
            return block.body.decode("utf-8", "replace")
        if not rows.readings.ready(node):
            return ""
        got = rows.readings.reading(node)
        if CATEGORIES[rows.scene.session.tree[node].category] == "tool_call":
            return got.arguments
        return got.text or block.body.decode("utf-8", "replace")

    def copy(self) -> None:
        """Copy the block through the terminal."""
        text = self._text()
        if not text:
            return
        if len(text) > _TOO_MUCH:
            self.say([Span("✗ ", "crit"), Span(f"{len(text):,} characters are too many for a clipboard", "crit")])
            return
        self.access.copy(text)
        told = [Span("✓ ", "ok"), Span(f"copied {len(text):,} characters", "dim")]
        if len(text.encode("utf-8", "replace")) > _CLIPBOARD:
            told.append(Span("; many terminals take no more than 74 kB: `o` opens the pager", "warn"))
        self.say(told)

    def pager(self) -> None:
        """Read the block in the pager; the screen comes back after it."""
        # Imported here: starting programs takes more to import than a first frame has.
        from ctxtui.services.editing.external_editor import NoPager, page

        text = self._text()
        if not text:
            return
        try:
            with self.access.suspended():
                page(safe_text.lines(text), self._pager)
        except NoPager as error:
            self.say([Span("✗ ", "crit"), Span(str(error), "crit")])
        self.access.repaint()
