"""The lists that are opened over the Inspector, and what they may ask of it (see `tui.lists.registry`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.tui.commands import Commanded
from ctxtui.tui.inspector.navigation import Travel
from ctxtui.tui.lists.registry import OpensLists, open_list

if TYPE_CHECKING:
    from ctxtui.analysis.cache.misses import Misses
    from ctxtui.analysis.money.statement import Statement
    from ctxtui.views.model.preview import Preview
    from ctxtui.views.model.scene import Scene


class Lists(Commanded, Travel, OpensLists):
    """The part of the Inspector that lists are opened over (`tui.lists.list_screen.ListHost`)."""

    def open_list(self, opens: str) -> None:
        """Open the list of the class `opens`."""
        open_list(self.app, self, opens)

    @property
    def scene(self) -> Scene | None:
        """What is shown."""
        return self.panels.scene

    def preview(self, node: int) -> Preview:
        """The block of a node of the context shown, in words."""
        rows = self.panels.transcript.data
        assert rows is not None
        return rows.readings.preview(node)

    def price_all(self) -> None:
        """From now on the calls of every thread are priced."""
        if self.study is not None:
            for id_ in list(self.study.session.threads):
                self.study.thread(id_)
            self.feed.work()

    def statement(self) -> Statement:
        """The session's bill."""
        assert self.loaded is not None
        from ctxtui.services.workers.session_report import STATEMENT

        return self.source.report(STATEMENT, self.loaded)

    def misses(self) -> Misses:
        """What the cache missed."""
        assert self.loaded is not None
        from ctxtui.services.workers.session_report import MISSES

        return self.source.report(MISSES, self.loaded)

    def to_call(self, thread: str, number: int) -> None:
        """Show a call by its number in its thread, from 1."""
        if thread != self.thread:
            self.to_thread(thread)
        self.go(number - 1)
