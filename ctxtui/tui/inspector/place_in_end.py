"""Where one stands in the end of a long session, found again when all of it is read: its rows are the last ones of the
whole, and are counted from the last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ctxtui.core.block import Block
from ctxtui.tui.inspector.transcript import Transcript
from ctxtui.views.transcript.context_rows import ContextRows

UNREAD: Final = "only the end of the session is read yet: this key needs all of it"
"""Why a key does nothing meanwhile."""


def place_in_end(transcript: Transcript) -> Callable[[], None]:
    """Keep on which row the cursor is, on which line of the view, and which rows are open. What is returned finds them
    again in the rows that are shown then; on the last row, and where the whole goes on differently, the view stays."""
    data = transcript.data
    if data is None or not data.count:
        return _stay
    cursor = min(transcript.cursor, data.count - 1)
    behind, block = data.count - 1 - cursor, _block(data, cursor)
    line = transcript.viewport.heights.line_of(cursor) - transcript.viewport.top
    opened = {data.count - 1 - data.index_of(node): how for node, how in data.opened.items() if data.holds(node)}
    folded = {data.count - 1 - data.index_of(node) for node in data.folded if data.holds(node)}

    def stand() -> None:
        whole = transcript.data
        if whole is None or whole.count <= behind or _block(whole, whole.count - 1 - behind) != block:
            return
        last = whole.count - 1
        whole.opened.update({whole.entry(last - row): how for row, how in opened.items() if row <= last})
        whole.folded.update(whole.entry(last - row) for row in folded if row <= last)
        if behind or opened:
            transcript.measure_anew()
            transcript.move_to(last - behind)
            transcript.scroll_to_line(transcript.viewport.heights.line_of(transcript.cursor) - line)
            transcript.refresh()

    return stand


def _stay() -> None:
    """Nobody stood anywhere."""


def _block(rows: ContextRows, row: int) -> Block | None:
    """The block of a row; None for one that is none."""
    entry = rows.entry(row)
    return rows.readings.tree[entry].block if entry > 0 else None
