"""Restores the cursor when a long session is read whole, after only its end was shown.

The rows of the end are the last ones of the whole, so rows are counted from the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ctxtui.core.block import Block
from ctxtui.tui.inspector.transcript import Transcript
from ctxtui.views.transcript.context_rows import ContextRows

NOT_LOADED: Final = "Only the end of the session is loaded yet; this key needs all of it."
"""Message of keys that need the whole session."""


def save_cursor(transcript: Transcript) -> Callable[[], None]:
    """Save cursor row, its line of the view, and open rows.

    Return a function that restores them. It does nothing if the rows do not match.
    """
    data = transcript.data
    if data is None or not data.count:
        return _restore_nothing
    cursor = min(transcript.cursor, data.count - 1)
    rows_after, block = data.count - 1 - cursor, _block(data, cursor)
    line = transcript.viewport.heights.line_of(cursor) - transcript.viewport.top
    opened = {data.count - 1 - data.index_of(node): how for node, how in data.opened.items() if data.holds(node)}
    folded = {data.count - 1 - data.index_of(node) for node in data.folded if data.holds(node)}

    def restore() -> None:
        whole = transcript.data
        if whole is None or whole.count <= rows_after or _block(whole, whole.count - 1 - rows_after) != block:
            return
        last = whole.count - 1
        whole.opened.update({whole.entry(last - row): how for row, how in opened.items() if row <= last})
        whole.folded.update(whole.entry(last - row) for row in folded if row <= last)
        if rows_after or opened:
            transcript.measure_again()
            transcript.move_to(last - rows_after)
            transcript.scroll_to_line(transcript.viewport.heights.line_of(transcript.cursor) - line)
            transcript.refresh()

    return restore


def _restore_nothing() -> None:
    """No cursor to restore."""


def _block(rows: ContextRows, row: int) -> Block | None:
    """Return the block of a row; None if the row is not a block."""
    entry = rows.entry(row)
    return rows.readings.tree[entry].block if entry > 0 else None
