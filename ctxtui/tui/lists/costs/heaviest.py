"""The blocks of a context by weight: tokens, what they carried, cost. Marked and dropped here; Enter goes to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ctxtui.analysis.content.duplicates import standing
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.block_list import MORE_ON_ROWS, ON_ROWS, BlockList
from ctxtui.tui.lists.list_screen import ListHost
from ctxtui.views.lists.costs import heaviest_blocks
from ctxtui.views.lists.costs.heaviest_blocks import HeavyBlock
from ctxtui.views.text.span import Spans
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table


class NextOrder(Command):
    """Order by the next figure: what was carried (tokens x calls it stayed), tokens, stale results, cost."""

    name, keys, label, group = "order by next column", ("S",), "order", "blocks"
    sought = ("stale", "sort")
    run = Act(lambda: HeaviestScreen, lambda screen: screen.next_order())


class HeaviestScreen(BlockList[HeavyBlock]):
    """The heaviest blocks by tokens, by carry or by cost; closes with the node of one."""

    commands: ClassVar[tuple[type[Command], ...]] = (*ON_ROWS, NextOrder, *MORE_ON_ROWS)
    heading, none, order, most = "heaviest", "No block in this context.", "carry", heaviest_blocks.KEEP

    @classmethod
    def ready(cls, host: ListHost) -> bool:
        """Once the context shown is counted."""
        return host.study is not None and host.scene is not None and host.scene.counted

    def load(self) -> Sequence[HeavyBlock]:
        """Weigh them."""
        study, scene = self.host.study, self.scene
        if study is None or scene is None:
            return ()
        known = study.thread(scene.thread)
        found = standing(known.repeated, scene.session.tree, scene.head)
        return heaviest_blocks.weighed(scene, known.stays, known.ledger if known.has_costs else None, found)

    def settled(self, rows: Sequence[HeavyBlock]) -> bool:
        """What blocks cost comes as calls are entered into the ledger."""
        study, scene = self.host.study, self.scene
        if study is None or scene is None:
            return True
        ledger = study.thread(scene.thread).ledger
        return ledger is not None and ledger.done >= scene.number and study.thread(scene.thread).looked

    def figures(self, rows: Sequence[HeavyBlock]) -> Table[HeavyBlock]:
        """Each block with its figures."""
        return heaviest_blocks.table(self.host.preview, rows)

    def node(self, row: HeavyBlock) -> int:
        """Its node."""
        return row.weight.node

    def sums_of_rule(self) -> Mapping[str, str]:
        """What all of them carried."""
        return {ROW: heaviest_blocks.sum_of_total(self.rows)}

    def noted(self, rows: Sequence[HeavyBlock]) -> Spans:
        """What all of them carried."""
        return heaviest_blocks.total(rows)
