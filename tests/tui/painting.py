"""What a key costs: the lines of a list that are painted anew."""

from __future__ import annotations

from textual.strip import Strip

from ctxtui.tui.theme.theme import Look
from ctxtui.tui.widgets.rows import ScrolledRows


class Painted:
    """Counts the lines that `pane` paints from now on, from outside; set `count` to 0 to begin anew."""

    def __init__(self, pane: ScrolledRows) -> None:
        self.count = 0
        self._paint = pane._paint_line
        pane._paint_line = self._counted  # type: ignore[method-assign]

    def _counted(self, index: int, line: int, state: str, look: Look) -> Strip:
        self.count += 1
        return self._paint(index, line, state, look)
