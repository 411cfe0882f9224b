"""Lists of the blocks of a context: by weight, and what repeats. Workers work them out; Enter goes to a block.

Commands of the lists over the inspector: heavy blocks, repeats, phases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.message import Message

from ctxtui.core.tree import ROOT
from ctxtui.tui.commands import Command
from ctxtui.tui.lists.list_screen import ListScreen, overlay_bindings
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.table_pane import TablePane
from ctxtui.views.lists import duplicates, heaviest_blocks
from ctxtui.views.lists.duplicates import Repeated
from ctxtui.views.lists.heaviest_blocks import HeavyBlock
from ctxtui.views.model.preview import Preview
from ctxtui.views.text.span import Span, Spans


class NextOrder(Command):
    """Order by the next figure: tokens, what was carried (tokens x calls it stayed), cost."""

    name, action, keys, label, group = "order by next column", "order", ("s",), "order", "blocks"


class ShowOther(Command):
    """Close the list, and go to the block that stands for this one."""

    name, action, keys, label, short, group = "show the other one", "other", ("v",), "show the other", "other", "blocks"


class NamePhaseHere(Command):
    """Give a name to the phase that begins with the call shown: it is kept as a note on that call, ``phase: name``."""

    name, action, keys, label, short, group = "name a phase here", "name", ("a",), "name a phase here", "name", "phases"


WEIGHTS: tuple[type[Command], ...] = (NextOrder,)
REPEATS: tuple[type[Command], ...] = (ShowOther,)
PHASES: tuple[type[Command], ...] = (NamePhaseHere,)


Say = Callable[[int], Preview]
"""Gives a node's block in words."""


class WeightsScreen(ListScreen[int | None]):
    """The heaviest blocks by tokens, by carry or by cost, as `make` works them out. Closes with the node chosen."""

    commands: ClassVar[tuple[type[Command], ...]] = WEIGHTS
    BINDINGS = overlay_bindings(WEIGHTS)

    class Made(Message):
        """The list is worked out."""

        def __init__(self, rows: Sequence[HeavyBlock]) -> None:
            super().__init__()
            self.rows = rows

    def __init__(self, make: Callable[[], Sequence[HeavyBlock]], say: Say, number: int) -> None:
        self._make = make
        self._rows: Sequence[HeavyBlock] = ()
        self._order = "carry"

        def draw(row: HeavyBlock, room: int, here: bool) -> Spans:
            return heaviest_blocks.draw(row, say(row.weight.node), room - 1, here=here)

        self.pane: TablePane[HeavyBlock] = TablePane("heaviest", draw, "No block in this context.")
        self.pane.heads = lambda room: heaviest_blocks.heads(room - 1, self._order)
        self.pane.told = [Span(f"call {number:,}", "dim")]
        super().__init__(self.pane)

    def on_mount(self) -> None:
        """Weigh."""
        self.run_worker(lambda: self.post_message(self.Made(self._make())), thread=True)

    def on_weights_screen_made(self, message: Made) -> None:
        """Show it."""
        self._rows = message.rows
        self.pane.noted = heaviest_blocks.total(message.rows)
        self._show()

    def _show(self) -> None:
        self.pane.show(heaviest_blocks.ordered(self._rows, self._order), cursor=0)

    def action_order(self) -> None:
        """Order by the next figure."""
        names = list(heaviest_blocks.ORDERS)
        self._order = names[(names.index(self._order) + 1) % len(names)]
        self._show()

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """To the block."""
        row = self.pane.row
        self.dismiss(row.weight.node if row is not None else None)


class RepeatsScreen(ListScreen[int | None]):
    """What of the context stands elsewhere too, as `make` works it out. Closes with the node chosen."""

    commands: ClassVar[tuple[type[Command], ...]] = REPEATS
    BINDINGS = overlay_bindings(REPEATS)

    class Made(Message):
        """The list is worked out."""

        def __init__(self, rows: Sequence[Repeated]) -> None:
            super().__init__()
            self.rows = rows

    def __init__(self, make: Callable[[], Sequence[Repeated]], say: Say, number: int) -> None:
        self._make = make

        def draw(row: Repeated, room: int, here: bool) -> Spans:
            return duplicates.draw(row, say(row.repeat.node), room - 1, here=here)

        self.pane: TablePane[Repeated] = TablePane("repeats", draw, "Nothing in this context stands there twice.")
        self.pane.told = [Span(f"call {number:,}", "dim")]
        super().__init__(self.pane)

    def on_mount(self) -> None:
        """Look."""
        self.run_worker(lambda: self.post_message(self.Made(self._make())), thread=True)

    def on_repeats_screen_made(self, message: Made) -> None:
        """Show it."""
        self.pane.noted = duplicates.total(message.rows)
        self.pane.show(duplicates.ordered(message.rows), cursor=0)

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """To the block."""
        row = self.pane.row
        self.dismiss(row.repeat.node if row is not None else None)

    def action_other(self) -> None:
        """To the one that stands for it."""
        row = self.pane.row
        if row is not None and row.repeat.other != ROOT:
            self.dismiss(row.repeat.other)
