"""The threads of the session as a tree: the main line of context and the agents it started; Enter shows one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ctxtui.analysis.figures import context_size
from ctxtui.analysis.growth.thread_tree import ThreadNode, thread_nodes
from ctxtui.tui.lists.list_screen import HostedList
from ctxtui.views.inspector import threads
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table

if TYPE_CHECKING:
    from ctxtui.tui.inspector.state import InspectorState


class ThreadsScreen(HostedList[ThreadNode, str]):
    """The threads, until all are priced; the cursor begins on the one that was shown before."""

    tabs = "money"
    heading, none, at_once, again = "threads", "No thread is recorded.", True, 0.4

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        """Once the session is known; from now on its calls are priced."""
        host.price_all()
        return host.study is not None

    def load(self) -> Sequence[ThreadNode]:
        """As far as they are priced."""
        study = self.host.study
        if study is None:
            return ()
        return thread_nodes(study.session, study.costs, partial(context_size, study.book))

    def settled(self, rows: Sequence[ThreadNode]) -> bool:
        """Costs come as they are worked out."""
        return all(row.priced for row in rows)

    def begins_at(self, rows: Sequence[ThreadNode]) -> int:
        """Where one came from."""
        return next((i for i, row in enumerate(rows) if row.id == self.host.came_from), 0)

    def table(self, rows: Sequence[ThreadNode]) -> Table[ThreadNode]:
        """The thread shown is marked."""
        return threads.table(self.host.thread)

    def noted(self, rows: Sequence[ThreadNode]) -> Spans:
        """What Enter does."""
        return [Span("⏎", "accent bold"), Span(" show", "dim")]

    def sums_of_rule(self) -> Mapping[str, str]:
        """What all of them cost."""
        return {ROW: threads.explain_total(self.rows)}

    def choose(self, row: ThreadNode) -> str:
        """This thread."""
        return row.id

    def done(self, result: str) -> None:
        """Show it."""
        if result != self.host.thread:
            self.host.to_thread(result)
