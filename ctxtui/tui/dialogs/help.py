"""The help: every key of a screen and what the signs mean, made from the commands and the tables of signs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from ctxtui.tui.commands import Command, key_text
from ctxtui.tui.widgets.rows import ScrolledRows
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.signs import CATEGORY, GUTTER, MARK, Sign
from ctxtui.views.text.span import Span, Spans

_TOLD = ("miss", "ttl miss", "compaction", "model", "turn", "here", "automatic breakpoint", "error")
_KEYS = 16
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


_FIGURES = {
    "hit rate": "tokens read from the cache / all input tokens (the column read). The other common figure, "
    "read / (read + fresh), leaves writes out; ctxtui check shows both.",
    "carry": "what was sent before and sent again; rewrites: what the cache had held, paid in full again.",
    "list price": "every $ is the provider's public price at the call's own time; unknown where nobody knows it.",
}


class HelpPage(ScrolledRows, can_focus=True):
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
        self._commands = commands
        self._rows: list[Spans] = []

    @property
    def row_count(self) -> int:
        """Lines of the page."""
        return len(self._rows)

    def measure(self) -> None:
        """Another width gives other lines."""
        self._rows = help_rows(self._commands, self.body_width)
        super().measure()

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A line."""
        return self._rows[index]

    def action_scroll(self, lines: int) -> None:
        """Scroll the page."""
        self.scroll_to_line(self.top + lines)

    def notes(self) -> Spans:
        """How to leave."""
        return [Span("esc", "accent bold"), Span(" close", "dim")]


def help_rows(commands: Sequence[type[Command]], room: int) -> list[Spans]:
    """The help page as lines of `room` cells: commands by group, then the signs."""
    groups: dict[str, list[type[Command]]] = {}
    for command in commands:
        groups.setdefault(command.group, []).append(command)
    rows: list[Spans] = []
    for group, members in groups.items():
        rows += [[], [Span(f"  {group}", "accent bold")]]
        for each in members:
            rows += _entry(" ".join(map(key_text, each.keys)), each, room)
    rows += [[], [Span("  categories: their digit filters them", "accent bold")]]
    rows += [
        [Span(f"{sign.key or ' ':>{_KEYS}}  ", "accent bold"), sign.span, Span(f" {sign.name}")] for sign in CATEGORY
    ]
    rows += [[], [Span("  figures", "accent bold")]]
    for name, told in _FIGURES.items():
        rows += _told(name, told, room)
    rows += [[], [Span("  signs", "accent bold")]]
    return [*rows, *(_sign(sign) for sign in (*GUTTER.values(), *(MARK[name] for name in _TOLD)))]


def _entry(keys: str, command: type[Command], room: int) -> list[Spans]:
    """A command: its keys, and what it does in as many lines as that takes. Without a key its palette name stands in
    front."""
    first = Span(cells.right(keys, _KEYS) + "  ", "accent bold")
    return _lines(first if keys else Span(cells.right("palette", _KEYS) + "  ", "faint"), command.help(), room)


def _told(name: str, words: str, room: int) -> list[Spans]:
    """What a figure means."""
    return _lines(Span(cells.right(name, _KEYS) + "  ", "accent bold"), words, room)


def _lines(first: Span, words: str, room: int) -> list[Spans]:
    told = safe_text.wrap(words, max(20, room - _KEYS - 4))
    blank = Span(" " * (_KEYS + 2))
    return [[first if number == 0 else blank, Span(line, "ink")] for number, line in enumerate(told)]


def _sign(sign: Sign) -> Spans:
    return [Span(" " * (_KEYS + 2)), sign.span, Span(f"  {_MEANS[sign.name]}", "dim")]


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
