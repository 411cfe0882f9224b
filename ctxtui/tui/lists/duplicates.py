"""What of a context stands elsewhere too. Rows are marked and dropped here; Enter goes to a
block, `v` to the one that stands for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ctxtui.core.tree import ROOT
from ctxtui.services.library.workspace_files import repeats_of
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.block_list import MORE_ON_ROWS, ON_ROWS, BlockList
from ctxtui.tui.lists.list_screen import ListHost
from ctxtui.views.lists import duplicates
from ctxtui.views.lists.duplicates import Repeated
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table


class ShowOther(Command):
    """Close the list, and go to the block that stands for this one."""

    name, keys, label, short, group = "show the other one", ("o",), "show the other", "other", "blocks"
    run = Act(lambda: RepeatsScreen, lambda screen: screen.show_other())


class MarkRepeats(Command):
    """Mark every block in the list: `d` then drops them as one action."""

    name, keys, label, short, group = "mark all that could go", ("A",), "mark all that could go", "all", "blocks"
    run = Act(lambda: RepeatsScreen, lambda screen: screen.mark_these([row.repeat.node for row in screen.rows]))


class RepeatsScreen(BlockList[Repeated]):
    """The blocks that repeat others; closes with the node of one."""

    commands: ClassVar[tuple[type[Command], ...]] = (*ON_ROWS, ShowOther, MarkRepeats, *MORE_ON_ROWS)
    heading, none = "repeats", "Nothing in this context stands there twice."

    @classmethod
    def ready(cls, host: ListHost) -> bool:
        """Once the context shown is counted."""
        return host.scene is not None and host.scene.counted

    def load(self) -> Sequence[Repeated]:
        """Look for them, also in the workspace's files."""
        scene = self.scene
        if scene is None:
            return ()
        tree, running = scene.session.tree, scene.running
        found = repeats_of(scene.session, scene.book.names, scene.head)
        return duplicates.ordered(
            [duplicates.repeated(tree, scene.turns, r, running.own(r.node), running.category(r.node)) for r in found]
        )

    def figures(self, rows: Sequence[Repeated]) -> Table[Repeated]:
        """Each block, and why it could go."""
        return duplicates.table(self.host.preview, rows)

    def noted(self, rows: Sequence[Repeated]) -> Spans:
        """What could go."""
        return duplicates.total(rows)

    def sums_of_rule(self) -> Mapping[str, str]:
        """What could go, as a sum."""
        return {ROW: duplicates.sum_of_total(self.rows)}

    def node(self, row: Repeated) -> int:
        """Its node."""
        return row.repeat.node

    def show_other(self) -> None:
        """Close with the one that stands for it."""
        row = self.pane.row
        if row is not None and row.repeat.other != ROOT:
            self.dismiss(row.repeat.other)
        elif row is not None:
            self.said.say([Span("it stands in the file, not in this context: there is no other block", "dim")])
