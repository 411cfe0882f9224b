"""Overlays: a list over the session that it is about, with a key line, palette and help of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, ScreenResultType

from ctxtui.tui.commands import EVERYWHERE, Command, bindings, key_text
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.keyline import Key, KeyLine


def overlay_bindings(commands: Iterable[type[Command]]) -> list[BindingType]:
    """The keys of an overlay's `commands`, those that every screen has, and the way out."""
    everywhere = [Binding(key, f"app.{each.action}", show=False) for each in EVERYWHERE for key in each.keys]
    leave = Binding("escape", "dismiss", show=False)
    # Here `q` closes the overlay; `^q` still leaves the program.
    return [*bindings(commands), leave, Binding("q", "dismiss", show=False), *everywhere[:-2], everywhere[-1]]


class ListScreen(ModalScreen[ScreenResultType]):
    """A list that fills the screen; `esc` closes it. A subclass names its `commands` and gives them as its bindings."""

    commands: ClassVar[tuple[type[Command], ...]] = ()
    DEFAULT_CSS = "ListScreen { background: $background; } ListScreen Board { height: 1fr; }"

    def __init__(self, board: Board) -> None:
        super().__init__()
        self._board = board

    def compose(self) -> ComposeResult:
        """The list, and what its keys do."""
        yield self._board
        shown = [Key(each.key_shown(), each.label, each.short) for each in self.commands if each.label]
        yield KeyLine([*shown, Key(key_text("escape"), "close")])

    def commands_now(self) -> list[type[Command]]:
        """What the palette offers here."""
        return [*self.commands, *EVERYWHERE]
