"""The pane that shows what a tool would write or run while the user is asked for permission."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.tui.widgets.rows import ScrolledRows
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span, Spans, width

KEYS: Final = ("up", "down", "pageup", "pagedown", "home", "end")
"""Keys that scroll the pane."""


class Approval(Struct, frozen=True, kw_only=True):
    """Content of the approval pane.

    - `tool`: the tool that asks.
    - `path`: the real path; `given_path`: the path as the model wrote it.
    - `effect`: the effect on the file.
    - `guard`: the reason for asking each time ("": none).
    - `lines`: the content.
    - `is_call`: whether the tool writes no file; `path` then describes the call, and `lines` are its input.
    """

    tool: str
    path: str
    given_path: str
    effect: str
    guard: str
    lines: Sequence[Spans]
    is_call: bool = False


class ApprovalPane(ScrolledRows):
    """Shows an `Approval`, scrollable to the end."""

    def __init__(self) -> None:
        super().__init__(title="to be written", id="approval")
        self.data: Approval | None = None
        self._head: list[Spans] = []
        self._is_read_to_end = False

    def show(self, data: Approval | None) -> None:
        """Show an approval, or none. For the same approval the scroll position stays."""
        if data is None or self.data is None or replace(data, lines=()) != replace(self.data, lines=()):
            # Otherwise it is the same one, wrapped for another width.
            self.viewport.top, self._is_read_to_end = 0, False
        self.data = data
        self.title = "to be run" if data is not None and data.is_call else "to be written"
        self.fit()
        self.redraw()

    def fit(self) -> None:
        self._head = _head(self.data, self.body_width) if self.data is not None and self.body_width else []
        super().fit()

    @property
    def row_count(self) -> int:
        return len(self._head) + len(self.data.lines) if self.data is not None else 0

    def render_row(self, index: int, line: int, width: int) -> Spans:
        assert self.data is not None
        return self._head[index] if index < len(self._head) else self.data.lines[index - len(self._head)]

    def notes(self) -> Spans:
        last = min(self.row_count, self.viewport.top + self.body_height)
        return (
            [Span(f"{self.viewport.top + 1:,}–{last:,} of {self.row_count:,} lines", "dim")] if self.row_count else []
        )

    def scroll_by(self, key: str) -> None:
        page = max(1, self.body_height - 1)
        steps = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -self.row_count, "end": self.row_count}
        self.scroll_to_line(self.viewport.top + steps[key])

    def on_resize(self) -> None:
        """Keep the end in view if it was read to the end."""
        if self._is_read_to_end:
            self.scroll_to_line(self.viewport.last_top)

    def scroll_to_line(self, top: int) -> bool:
        """The same as for any list; notes whether its end was read."""
        moved = super().scroll_to_line(top)
        self._is_read_to_end = self.viewport.top > 0 and self.viewport.at_end
        return moved


def _head(approval: Approval, room: int) -> list[Spans]:
    tool = safe_text.one_line(approval.tool, 40)
    lead: Spans = [Span(f" {tool} ", "accent bold")]
    path = safe_text.one_line(approval.path, len(approval.path) + 1)
    left = max(12, room - width(lead) - 1)
    effect = Span(f"  {approval.effect}", "dim")
    if cells.width(path) + width([effect]) <= left:
        head: list[Spans] = [[*lead, Span(path, "ink bold"), effect]]
    else:
        head = [
            [*lead, Span(cells.ends(path, left), "ink bold")],
            [Span(" " * width(lead)), Span(effect.text[2:], "dim")],
        ]
    if approval.given_path not in (approval.path, f"./{approval.path}"):
        given_path = safe_text.one_line(approval.given_path, len(approval.given_path) + 1)
        head.append([Span(" the model wrote ", "dim"), Span(cells.ends(given_path, max(12, room - 18)), "dim")])
    if approval.guard:
        guard = safe_text.one_line(approval.guard, 200)
        head.append([Span(f" ▲ {guard}: ctxtui asks each time", "warn bold")])
    return [*head, [Span(" ")]]
