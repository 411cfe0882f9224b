"""The command palette: every command that is available now, found by a part of its name."""

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

_NAME = 36
_PART = 4
"""Letters of a word looked for from which on a part of it is enough."""


class MatchingCommands(Pane):
    """The commands that match, best first; Enter does one."""

    can_focus = False

    def __init__(self, commands: Sequence[type[Command]], title: str) -> None:
        super().__init__(title=title, id="found")
        self.every = commands
        self.found = list(commands)

    def search(self, words: str) -> None:
        """Keep the commands whose name has the letters of `words`, or whose help has the words themselves; first those
        that are looked for by them."""
        self.found = list(self.every)

        def sought(each: type[Command]) -> bool:
            return plain in each.sought or (len(plain) >= _PART and any(plain in one for one in each.sought))

        if words.strip():
            matcher, plain = Matcher(words.strip()), words.strip().lower()
            scored = [
                (sought(each) * 9 or matcher.match(each.name) or (plain in each.help().lower()) / 100, each)
                for each in self.every
            ]
            self.found = [each for score, each in sorted(scored, key=lambda pair: -pair[0]) if score > 0]
        self.reload(cursor=0)

    @property
    def row_count(self) -> int:
        """How many match."""
        return len(self.found)

    def row_state(self, index: int, line: int) -> str:
        """The cursor's ground, though the focus stays in the line above."""
        return "on-cur" if index == self.cursor else ""

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """Name, what it does, its keys."""
        each = self.found[index]
        keys = " ".join(map(key_text, each.keys))
        room = max(0, width - _NAME - 3 - 8)
        return [
            Span("▸ " if index == self.cursor else "  ", "accent"),
            Span(cells.left(each.name, _NAME)),
            Span(cells.left(each.help(), room), "dim"),
            Span(cells.right(keys, 8) + " ", "accent"),
        ]

    def empty(self) -> Spans:
        """Nothing matches."""
        return [Span(f" No {self.title.removesuffix('s')} of that name.", "dim")]

    def notes(self) -> Spans:
        """How to leave."""
        return [Span("⏎", "accent bold"), Span(" do  ", "dim"), Span("esc", "accent bold"), Span(" close", "dim")]


class PaletteScreen(Dialog[type[Command] | None]):
    """The palette over the screen whose commands it offers; ends with the one that was chosen, or None."""

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
        self.words = LineEdit(id="words")
        self.found = MatchingCommands(commands, title)

    def compose(self) -> ComposeResult:
        """A line to type in, and what it finds."""
        yield self.words
        yield self.found

    def on_mount(self) -> None:
        """Typing starts at once."""
        self.words.show([Span(" › ", "accent bold")])
        self.words.focus()
        self.found.search("")

    def on_line_edit_changed(self, message: LineEdit.Changed) -> None:
        """Search for what is typed."""
        self.found.search(message.edit.text)

    def on_line_edit_submitted(self, message: LineEdit.Submitted) -> None:
        """Do the command under the cursor."""
        if self.found.found:
            self.dismiss(self.found.found[self.found.cursor])

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """A double click does a command."""
        self.dismiss(self.found.found[message.index])

    def on_click(self, event: events.Click) -> None:
        """A click beside the palette closes it."""
        if self.get_widget_at(event.screen_x, event.screen_y)[0] is self:
            self.dismiss(None)

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self.found.action_move(rows)
