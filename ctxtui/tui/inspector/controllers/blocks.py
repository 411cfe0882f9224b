"""Actions on the block under the cursor: open, more lines, raw, copy, pager, whole turn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ctxtui.core.block import Block
from ctxtui.core.block_content import BlockContent, read
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tree import ROOT
from ctxtui.services.external_editor import NoPager, show_in_pager
from ctxtui.services.own_command import Target
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lists.request import MAX_CLIPBOARD_BYTES
from ctxtui.views.model.preview import media_line
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.signs import failed
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.context_rows import ContextRows

if TYPE_CHECKING:
    from ctxtui.curation.transplant import CopiedBlocks

_MAX_COPY_CHARACTERS = 1_000_000
"""Most characters that are sent to the terminal's clipboard."""
_PUTS_IN = " puts in, here or in another session"
"""What the key of `PutInCopied` does."""


class BlocksController(Controller):
    """Acts on the transcript's row under the cursor. `pager` is the user's setting."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, pager: str) -> None:
        super().__init__(state, prompt, access)
        self._pane = state.panels.transcript
        self._pager = pager

    @property
    def _rows(self) -> ContextRows | None:
        """The rows if the cursor is on one that can be opened; otherwise None, with a message."""
        pane = self._pane
        if (
            pane.node is not None
            or pane.place.new is not None
            or (pane.data and pane.row_count and pane.data.is_folded(pane.cursor))
        ):
            return pane.data
        self.show_message([Span("There is no block to open here.", "dim")])
        return None

    def open_block(self, *, raw: bool | None = None) -> None:
        """Open the block or fold it."""
        if self._rows is not None:
            self._rows.toggle(self._pane.cursor, raw=raw)
            self._pane.reopen()

    def raw(self) -> None:
        rows = self._rows
        if rows is not None:
            open_block = rows.open_state(self._pane.cursor)
            raw = not (open_block and open_block.raw)
            self.open_block(raw=raw)
            self.show_message([Span("raw JSON, without cache breakpoints" if raw else "readable form", "dim")])

    def more_lines(self) -> None:
        """Show more lines of an open block, or open a closed one."""
        rows = self._rows
        if rows is None:
            return
        if rows.open_state(self._pane.cursor) is None:
            self.open_block()
            return
        before = self._pane.viewport.heights.total
        rows.show_more(self._pane.cursor)
        self._pane.reopen()
        if self._pane.viewport.heights.total == before:
            self.show_message([Span("All lines are shown.", "dim")])

    def open_turn(self) -> None:
        """Open all blocks of the turn, or fold them if all are open."""
        rows, node = self._rows, self._pane.node
        if rows is None:
            return
        if rows.scene is None or not node:
            self.show_message([Span("There is no turn here.", "dim")])
            return
        tree = rows.scene.session.tree
        turn = tree[node].turn
        turn_rows = [i for i in range(rows.count) if (entry := rows.entry(i)) > 0 and tree[entry].turn == turn]
        folded = [index for index in turn_rows if rows.open_state(index) is None]
        for index in folded or turn_rows:
            rows.toggle(index)
        self._pane.reopen()
        count = numbers.many(len(folded or turn_rows), "block")
        self.show_message([Span(f"turn {turn}: {count} {'opened' if folded else 'folded'}", "dim")])

    def _text(self) -> str:
        """Return the block's text, for a tool call its arguments, or its JSON if that is open.

        "" until it is loaded.
        """
        new = self._pane.place.new
        if new is not None:
            return read(new.item.block).text
        rows, node = self._rows, self._pane.node
        if rows is None or rows.scene is None or not node:
            return ""
        block = rows.scene.session.tree[node].block
        open_block = rows.open_state(self._pane.cursor)
        if open_block and open_block.raw:
            return block.body.decode("utf-8", "replace")
        if not rows.readings.ready(node):
            return ""
        reading = rows.readings.reading(node)
        if CATEGORIES[rows.scene.session.tree[node].category] == "tool_call":
            return reading.arguments
        return _text_of(block, reading)

    def _texts(self, nodes: Iterable[int]) -> str:
        """Return the texts of several blocks, each under a line with its category and name."""
        scene = self.panels.scene
        if scene is None:
            return ""
        out = []
        for node in nodes:
            category, block = CATEGORIES[scene.session.tree[node].category], scene.session.tree[node].block
            reading = read(block)
            text = reading.arguments if category == "tool_call" else ""
            head = " ".join(filter(None, ("---", category.replace("_", " "), reading.name)))
            out.append(f"{head}\n{text or _text_of(block, reading)}")
        return "\n\n".join(out)

    def copy_call(self) -> None:
        scene = self.panels.scene
        if scene is not None:
            tree, end = scene.session.tree, scene.call.response_head or scene.head
            before = scene.calls[scene.index - 1].sent_head if scene.index else ROOT
            self._copy(self._texts(tree.path(end, tree.common(before, end))))

    def copy(self) -> None:
        """Copy the text of the marked blocks, else of the one under the cursor.

        The blocks are kept, to be put in.
        """
        marks = self.state.marks
        text, copied = self._texts(marks) if marks else self._text(), self._copied_blocks()
        if copied is not None:
            self.access.keep_copied(copied)
        self._copy(text, copied)

    def _copied_blocks(self) -> CopiedBlocks | None:
        """Return the marked blocks, else the one under the cursor, for other sessions, or None."""
        scene, edits, loaded = self.panels.scene, self.state.edits, self.state.loaded
        if scene is None or edits is None or loaded is None or not edits.is_editable():
            return None
        from ctxtui.curation.transplant import copy_blocks

        positions = edits.selected_positions()
        source = f"{loaded.session.about.id or loaded.name}@{self.state.index + 1}"
        return copy_blocks(edits.context_of(scene), positions, source) if positions else None

    def _copy(self, text: str, copied: CopiedBlocks | None = None) -> None:
        description = self._describe_copied(copied) if copied is not None else []
        if not text:
            self.show_message([Span("There is no text to copy here.", "dim"), *description])
            return
        if len(text) > _MAX_COPY_CHARACTERS:
            self.show_message([*failed(f"{len(text):,} characters do not fit into the clipboard"), *description])
            return
        self.access.copy(text)
        message = [Span("✓ ", "ok"), Span(f"copied {len(text):,} characters", "dim"), *description]
        if len(text.encode("utf-8", "replace")) > MAX_CLIPBOARD_BYTES:
            message.append(Span("; many terminals copy only 74 kB: `o` opens the pager", "warn"))
        self.show_message(message)

    def _describe_copied(self, copied: CopiedBlocks) -> list[Span]:
        """Say how many blocks `)` can put in, and what was left out."""
        left = [Span(f"; left out: {'; '.join(copied.left_out)}", "warn")] if copied.left_out else []
        if not copied.items:
            return left
        what = numbers.many(copied.block_count, "block")
        return [Span(f" and {what}: ", "dim"), Span(")", "accent bold"), Span(_PUTS_IN, "dim"), *left]

    def target(self) -> Target:
        """Return what the user's own commands get: the place shown and the block's text."""
        state, pane = self.state, self._pane
        variables = {
            "CTXTUI_SESSION": str(state.loaded.path or state.loaded.name) if state.loaded is not None else "",
            "CTXTUI_THREAD": state.thread,
            "CTXTUI_CALL": str(state.index + 1) if state.count else "",
        }
        rows, node = pane.data, pane.node
        if rows is not None and rows.scene is not None and node:
            entry = rows.scene.session.tree[node]
            variables |= {"CTXTUI_BLOCK": entry.block.digest, "CTXTUI_CATEGORY": CATEGORIES[entry.category]}
        return Target(variables, self._text())

    def pager(self) -> None:
        text = self._text()
        if not text:
            self.show_message([Span("There is no text to show here.", "dim")])
            return
        try:
            with self.access.suspended():
                show_in_pager(safe_text.lines(text), self._pager)
        except NoPager as error:
            self.show_message(failed(str(error)))
        self.access.repaint()


def _text_of(block: Block, content: BlockContent) -> str:
    """Return the text of `block`, else a line for each of its images and files, else its JSON."""
    media_text = "\n".join(f"[{media_line(media)}]" for media in content.media)
    return content.text or media_text or block.body.decode("utf-8", "replace")
