"""The threads of the session as a tree; Enter shows one."""

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
    """The threads, loaded until all are priced; the cursor starts on the previous thread."""

    tab_group = "money"
    heading, empty_text, loads_at_once, reload_seconds = "threads", "No thread is recorded.", True, 0.4

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        """Start pricing all calls; return whether the session is known."""
        host.price_all()
        return host.study is not None

    def load(self) -> Sequence[ThreadNode]:
        study = self.host.study
        if study is None:
            return ()
        return thread_nodes(study.session, study.costs, partial(context_size, study.book))

    def is_final(self, rows: Sequence[ThreadNode]) -> bool:
        return all(row.priced for row in rows)

    def first_cursor(self, rows: Sequence[ThreadNode]) -> int:
        return next((i for i, row in enumerate(rows) if row.id == self.host.previous_thread), 0)

    def table(self, rows: Sequence[ThreadNode]) -> Table[ThreadNode]:
        return threads.table(self.host.thread)

    def rule_notes(self, rows: Sequence[ThreadNode]) -> Spans:
        return [Span("⏎", "accent bold"), Span(" show", "dim")]

    def sums_of_rule(self) -> Mapping[str, str]:
        return {ROW: threads.explain_total(self.rows)}

    def choose(self, row: ThreadNode) -> str:
        return row.id

    def done(self, result: str) -> None:
        if result != self.host.thread:
            self.host.to_thread(result)
