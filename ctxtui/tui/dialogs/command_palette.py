"""The command palette: finds an available command by part of its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.fuzzy import Matcher

from ctxtui.tui.commands import Command
from ctxtui.tui.commands.command import key_text
from ctxtui.tui.dialog import Dialog
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, Spans

_NAME_CELLS = 36
_MIN_PARTIAL_LETTERS = 4
"""Fewest letters of a query that may match part of a synonym."""


class MatchingCommands(Pane):
    """The matching commands, best first; Enter runs one."""

    can_focus = False

    def __init__(self, commands: Sequence[type[Command]], title: str) -> None:
        super().__init__(title=title, id="found")
        self.all_commands = commands
        self.matches = list(commands)

    def search(self, query: str) -> None:
        """Keep commands whose name, help or a synonym matches `query`, best first."""
        self.matches = list(self.all_commands)

        def has_synonym(each: type[Command]) -> bool:
            return text in each.synonyms or (
                len(text) >= _MIN_PARTIAL_LETTERS and any(text in synonym for synonym in each.synonyms)
            )

        if query.strip():
            matcher, text = Matcher(query.strip()), query.strip().lower()
            scored = [
                (has_synonym(each) * 9 or matcher.match(each.name) or (text in each.help().lower()) / 100, each)
                for each in self.all_commands
            ]
            self.matches = [each for score, each in sorted(scored, key=lambda pair: -pair[0]) if score > 0]
        self.reload(cursor=0)

    @property
    def row_count(self) -> int:
        return len(self.matches)

    def row_state(self, index: int, line: int) -> str:
        """Mark the cursor's row as if this pane had the focus, which is in the line above."""
        return "on-cur" if index == self.cursor else ""

    def render_row(self, index: int, line: int, width: int) -> Spans:
        each = self.matches[index]
        keys = " ".join(map(key_text, each.keys))
        room = max(0, width - _NAME_CELLS - 3 - 8)
        return [
            Span("▸ " if index == self.cursor else "  ", "accent"),
            Span(cells.left(each.name, _NAME_CELLS)),
            Span(cells.left(each.help(), room), "dim"),
            Span(cells.right(keys, 8) + " ", "accent"),
        ]

    def empty(self) -> Spans:
        return [Span(f" No {self.title.removesuffix('s')} matches.", "dim")]

    def notes(self) -> Spans:
        return [Span("⏎", "accent bold"), Span(" run  ", "dim"), Span("esc", "accent bold"), Span(" close", "dim")]


class PaletteScreen(Dialog[type[Command] | None]):
    """The palette; closes with the chosen command, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "move(-10)", show=False),
        Binding("pagedown", "move(10)", show=False),
        Binding("ctrl+p", "dismiss", show=False),
    ]
    DEFAULT_CSS = """
    PaletteScreen { background: $background 60%; align: center top; }
    PaletteScreen LineEdit { width: 84%; margin-top: 3; background: $panel; }
    PaletteScreen MatchingCommands { width: 84%; height: 60%; background: $background; }
    """

    def __init__(self, commands: Sequence[type[Command]], *, title: str = "commands") -> None:
        super().__init__()
        self.query_line = LineEdit(id="words")
        self.pane = MatchingCommands(commands, title)

    def compose(self) -> ComposeResult:
        yield self.query_line
        yield self.pane

    def on_mount(self) -> None:
        """Focus the line, so that typing searches at once."""
        self.query_line.show([Span(" › ", "accent bold")])
        self.query_line.focus()
        self.pane.search("")

    def on_line_edit_changed(self, message: LineEdit.Changed) -> None:
        self.pane.search(message.edit.text)

    def on_line_edit_submitted(self, message: LineEdit.Submitted) -> None:
        if self.pane.matches:
            self.dismiss(self.pane.matches[self.pane.cursor])

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        self.dismiss(self.pane.matches[message.index])

    def on_click(self, event: events.Click) -> None:
        if self.get_widget_at(event.screen_x, event.screen_y)[0] is self:
            self.dismiss(None)

    def action_move(self, rows: int) -> None:
        self.pane.action_move(rows)
