"""The lists that the Inspector opens over itself: threads, tools, heavy blocks, repeats.

The Inspector's way to what is said of the whole session: the bill, and what the cache missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.tui.inspector.state import InspectorState

if TYPE_CHECKING:
    from ctxtui.analysis.growth.thread_tree import Kin
    from ctxtui.views.lists.duplicates import Repeated


class Overlays(InspectorState):
    """The part of the Inspector that opens lists."""

    def action_threads(self) -> None:
        """All threads; Enter goes to one."""
        from ctxtui.analysis.growth.thread_tree import family
        from ctxtui.tui.lists.threads import ThreadsScreen

        study = self.study
        if study is None:
            return
        for id_ in list(study.session.threads):
            study.thread(id_)  # from now on its calls are priced
        self.feed.work()

        def known() -> list[Kin]:
            return family(study.session, study.costs)

        def show(thread: str | None) -> None:
            if thread is not None and thread != self.thread:
                self.to_thread(thread)

        self.app.push_screen(ThreadsScreen(known, self.thread, self.came_from), show)

    def action_tools(self) -> None:
        """The tools of the context shown, with the calls of the thread so far."""
        from ctxtui.tui.lists.tools import ToolsScreen

        if self.panels.scene is not None:
            self.app.push_screen(ToolsScreen(self.panels.scene))

    def action_weights(self) -> None:
        """The heaviest blocks by tokens, carry and cost."""
        from ctxtui.tui.lists.heaviest import WeightsScreen
        from ctxtui.views.lists.heaviest_blocks import weighed

        scene, rows = self.panels.scene, self.panels.transcript.data
        if self.study is None or scene is None or rows is None or not scene.counted:
            return
        known = self.study.thread(scene.thread)
        screen = WeightsScreen(lambda: weighed(scene, known.stays, known.ledger), rows.readings.preview, scene.number)
        self.app.push_screen(screen, self._to_chosen)

    def action_repeats(self) -> None:
        """What of the context stands elsewhere too."""
        from ctxtui.tui.lists.heaviest import RepeatsScreen
        from ctxtui.views.lists.duplicates import repeated

        scene, rows = self.panels.scene, self.panels.transcript.data
        if scene is None or rows is None or not scene.counted:
            return

        def make() -> list[Repeated]:
            from ctxtui.services.library.workspace_files import repeats_of

            found = repeats_of(scene.session, scene.book.names, scene.head)
            return [repeated(scene.session.tree, one, scene.running.own(one.node)) for one in found]

        self.app.push_screen(RepeatsScreen(make, rows.readings.preview, scene.number), self._to_chosen)

    def _to_chosen(self, node: int | None) -> None:
        if node is not None:
            self.to_block(node)

    def to_block(self, node: int) -> None:
        """Put the cursor on a block."""
        raise NotImplementedError

    def to_thread(self, thread: str) -> None:
        """Show a thread."""
        raise NotImplementedError


class Reporting(InspectorState):
    """The part of the Inspector that opens reports; Enter in one goes to a call that it names."""

    def action_bill(self) -> None:
        """The bill of the whole session."""
        # Imported here, as below: most sessions are looked at without adding up.
        from ctxtui.tui.lists.bill import BillScreen

        loaded = self.loaded
        if loaded is not None and self.complete:
            self.app.push_screen(BillScreen(lambda: self.source.statement(loaded)), self._go_to)

    def action_misses(self) -> None:
        """Every miss of the session."""
        from ctxtui.tui.lists.misses import MissesScreen

        loaded = self.loaded
        if loaded is not None and self.complete:
            self.app.push_screen(MissesScreen(lambda: self.source.misses(loaded)), self._go_to)

    def _go_to(self, call: tuple[str, int] | None) -> None:
        """Show a call, by thread and number; None where none was chosen."""
        if call is not None:
            if call[0] != self.thread:
                self.to_thread(call[0])
            self.go(call[1] - 1)

    def to_thread(self, thread: str) -> None:
        """Show a thread."""
        raise NotImplementedError

    def go(self, index: int, *, to_end: bool = False) -> None:
        """Show call `index` (from 0) of the thread."""
        raise NotImplementedError
