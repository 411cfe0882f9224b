"""The blocks of a context by weight: tokens, what they carried, cost. Enter goes to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import HostedList, ListHost
from ctxtui.views.lists import heaviest_blocks
from ctxtui.views.lists.heaviest_blocks import HeavyBlock
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table


class NextOrder(Command):
    """Order by the next figure: tokens, what was carried (tokens x calls it stayed), cost."""

    name, keys, label, group = "order by next column", ("s",), "order", "blocks"
    run = Act(lambda: HeaviestScreen, lambda screen: screen.next_order())


class HeaviestScreen(HostedList[HeavyBlock, int]):
    """The heaviest blocks by tokens, by carry or by cost; closes with the node of one."""

    commands: ClassVar[tuple[type[Command], ...]] = (NextOrder,)
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
        return heaviest_blocks.weighed(scene, known.stays, known.ledger)

    def table(self, rows: Sequence[HeavyBlock]) -> Table[HeavyBlock]:
        """Each block with its figures."""
        return heaviest_blocks.table(self.host.preview)

    def told(self, rows: Sequence[HeavyBlock]) -> Spans:
        """Of which call."""
        return [Span(f"call {self.scene.number:,}", "dim")] if self.scene is not None else ()

    def noted(self, rows: Sequence[HeavyBlock]) -> Spans:
        """What all of them carried."""
        return heaviest_blocks.total(rows)

    def choose(self, row: HeavyBlock) -> int:
        """Its node."""
        return row.weight.node

    def done(self, result: int) -> None:
        """To the block."""
        self.host.to_block(result)
