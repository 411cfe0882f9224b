"""What a tool would write, over the panes while the user is asked for leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from textual import events

from ctxtui.tui.widgets.rows import ScrolledRows
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span, Spans, width

KEYS: Final = ("up", "down", "pageup", "pagedown", "home", "end")
"""The keys that read on in it."""
_WHEEL: Final = 3


class Approval(Struct, frozen=True, kw_only=True):
    """What is asked: the `tool`, the real `path` of the file, how the model spelled it, what becomes of the file, why
    it is asked for each time ("": it is not), and the `lines` of it. What is no file but `runs` has in `path` what it
    is, and its input in the lines."""

    tool: str
    path: str
    given: str
    told: str
    guard: str
    lines: Sequence[Spans]
    runs: bool = False


class ApprovalPane(ScrolledRows):
    """Shows an `Approval`: where, how much, what; all of it can be read."""

    def __init__(self) -> None:
        super().__init__(title="to be written", id="approval")
        self.data: Approval | None = None
        self._head: list[Spans] = []
        self._read_to_end = False

    def show(self, data: Approval | None) -> None:
        """Another one, or none. Who was reading on in this one stays where they are."""
        if data is None or self.data is None or replace(data, lines=()) != replace(self.data, lines=()):
            # Else it is the same one, its lines wrapped for another width.
            self.viewport.top, self._read_to_end = 0, False
        self.data = data
        self.title = "to be run" if data is not None and data.runs else "to be written"
        self.fit()
        self.redraw()

    def fit(self) -> None:
        """The head is as wide as the pane."""
        self._head = _head(self.data, self.body_width) if self.data is not None and self.body_width else []
        super().fit()

    @property
    def row_count(self) -> int:
        """The head, and the file's lines."""
        return len(self._head) + len(self.data.lines) if self.data is not None else 0

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A line of the head, or of the file."""
        assert self.data is not None
        return self._head[index] if index < len(self._head) else self.data.lines[index - len(self._head)]

    def notes(self) -> Spans:
        """How much of it is in view."""
        last = min(self.row_count, self.viewport.top + self.body_height)
        return (
            [Span(f"{self.viewport.top + 1:,}–{last:,} of {self.row_count:,} lines", "dim")] if self.row_count else []
        )

    def scroll_by(self, key: str) -> None:
        """Read on with one of `KEYS`."""
        page = max(1, self.body_height - 1)
        steps = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -self.row_count, "end": self.row_count}
        self._read(self.viewport.top + steps[key])

    def on_resize(self) -> None:
        """Who had read to the end still sees it where an alarm takes a line away."""
        if self._read_to_end:
            self._read(self.viewport.last_top)

    def _read(self, top: int) -> None:
        if self.scroll_to_line(top):
            self.refresh_rule()
        self._read_to_end = self.viewport.top > 0 and self.viewport.at_end

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel reads on."""
        event.stop()
        self._read(self.viewport.top + _WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel goes back."""
        event.stop()
        self._read(self.viewport.top - _WHEEL)


def _head(data: Approval, room: int) -> list[Spans]:
    tool = safe_text.one_line(data.tool, 40)
    lead: Spans = [Span(f" {tool} ", "accent bold")]
    path = safe_text.one_line(data.path, len(data.path) + 1)
    left = max(12, room - width(lead) - 1)
    told = Span(f"  {data.told}", "dim")
    if cells.width(path) + width([told]) <= left:
        head: list[Spans] = [[*lead, Span(path, "ink bold"), told]]
    else:
        head = [
            [*lead, Span(cells.ends(path, left), "ink bold")],
            [Span(" " * width(lead)), Span(told.text[2:], "dim")],
        ]
    if data.given not in (data.path, f"./{data.path}"):
        spelled = safe_text.one_line(data.given, len(data.given) + 1)
        head.append([Span(" the model wrote ", "dim"), Span(cells.ends(spelled, max(12, room - 18)), "dim")])
    if data.guard:
        guard = safe_text.one_line(data.guard, 200)
        head.append([Span(f" ▲ {guard}: asked for each time", "warn bold")])
    return [*head, [Span(" ")]]
