"""The help: every key of a screen and what the signs mean, made from the commands and the tables of signs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from ctxtui.tui.commands import Command, key_text
from ctxtui.tui.look.rows import Rows
from ctxtui.views import cells
from ctxtui.views.signs import CATEGORY, GUTTER, MARK, Sign
from ctxtui.views.span import Span, Spans

_TOLD = ("miss", "ttl miss", "compaction", "model", "turn", "here", "automatic breakpoint", "error")
_MEANS = {
    "read": "read from the cache: a tenth of the price",
    "write": "written to the cache",
    "fresh": "neither: full price",
    "miss": "the cache lost what it held",
    "ttl miss": "... because its time ran out",
    "compaction": "the context was summarised",
    "model": "another model or client",
    "turn": "a user's turn begins",
    "here": "the call or block shown",
    "automatic breakpoint": "here a cached stretch ends, as far as the report tells",
    "error": "the call failed",
}


class HelpPage(Rows, can_focus=True):
    """The page; arrow keys scroll it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll(-1)", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("pageup", "scroll(-20)", show=False),
        Binding("pagedown,space", "scroll(20)", show=False),
        Binding("home", "scroll(-9999)", show=False),
        Binding("end", "scroll(9999)", show=False),
    ]

    def __init__(self, commands: Sequence[type[Command]]) -> None:
        super().__init__(title="help", id="help")
        self._rows = help_rows(commands)

    @property
    def row_count(self) -> int:
        """Lines of the page."""
        return len(self._rows)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A line."""
        return self._rows[index]

    def action_scroll(self, lines: int) -> None:
        """Scroll the page."""
        self.scroll_to_line(self.top + lines)

    def on_mount(self) -> None:
        """All lines are there from the start."""
        self.reload()

    def notes(self) -> Spans:
        """How to leave."""
        return [Span("esc", "accent bold"), Span(" close", "dim")]


def help_rows(commands: Sequence[type[Command]]) -> list[Spans]:
    """The help page as lines: commands by group, then the signs."""
    groups: dict[str, list[type[Command]]] = {}
    for command in commands:
        groups.setdefault(command.group, []).append(command)
    rows: list[Spans] = []
    for group, members in groups.items():
        rows += [[], [Span(f"  {group}", "accent bold")]]
        rows += [_row(" ".join(map(key_text, each.keys)), each.name, each.help()) for each in members if each.name]
    rows += [[], [Span("  categories: their digit filters them", "accent bold")]]
    rows += [
        [Span(f"   {sign.key or ' ':>13}  ", "accent bold"), sign.span, Span(f" {sign.name}")] for sign in CATEGORY
    ]
    rows += [[], [Span("  signs", "accent bold")]]
    rows += [_sign(sign) for sign in (*GUTTER.values(), *(MARK[name] for name in _TOLD))]
    return rows


def _row(keys: str, name: str, told: str) -> Spans:
    return [
        Span(f"   {cells.right(keys, 13)}  ", "accent bold"),
        Span(cells.left(name, 34) + "  ", "ink"),
        Span(told, "dim"),
    ]


def _sign(sign: Sign) -> Spans:
    return [Span("                ", "ink"), sign.span, Span(f"  {_MEANS[sign.name]}", "dim")]


class HelpScreen(ModalScreen[None]):
    """The help over the screen that it explains."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,f1,enter", "dismiss", show=False)]
    DEFAULT_CSS = "HelpScreen { background: $background; } HelpScreen HelpPage { height: 1fr; }"

    def __init__(self, commands: Sequence[type[Command]]) -> None:
        super().__init__()
        self._commands = commands

    def compose(self) -> ComposeResult:
        """The page fills the screen."""
        yield HelpPage(self._commands)
