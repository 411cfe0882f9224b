"""The lists that the Inspector opens over itself: threads, tools, heavy blocks, repeats.

The Inspector's way to what is said of the whole session: the bill, and what the cache missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.tui.inspector.controller import Controller
from ctxtui.tui.messages import GoHome

if TYPE_CHECKING:
    from ctxtui.analysis.growth.thread_tree import Kin
    from ctxtui.views.lists.duplicates import Repeated


class ListsController(Controller):
    """Opens lists over the session; what is chosen in one is gone to."""

    def threads(self) -> None:
        """All threads; Enter goes to one."""
        from ctxtui.analysis.growth.thread_tree import family
        from ctxtui.tui.lists.threads import ThreadsScreen

        study = self.state.study
        if study is None:
            return
        for id_ in list(study.session.threads):
            study.thread(id_)  # from now on its calls are priced
        self.state.feed.work()

        def known() -> list[Kin]:
            return family(study.session, study.costs)

        def show(thread: str | None) -> None:
            if thread is not None:
                self.state.to_thread(thread)

        self.access.push(ThreadsScreen(known, self.state.thread, self.state.came_from), show)

    def tools(self) -> None:
        """The tools of the context shown, with the calls of the thread so far."""
        from ctxtui.tui.lists.tools import ToolsScreen

        if self.panels.scene is not None:
            self.access.push(ToolsScreen(self.panels.scene))

    def weights(self) -> None:
        """The heaviest blocks by tokens, carry and cost."""
        from ctxtui.tui.lists.heaviest import WeightsScreen
        from ctxtui.views.lists.heaviest_blocks import weighed

        scene, rows = self.panels.scene, self.panels.transcript.data
        if self.state.study is None or scene is None or rows is None or not scene.counted:
            return
        known = self.state.study.thread(scene.thread)
        screen = WeightsScreen(lambda: weighed(scene, known.stays, known.ledger), rows.readings.preview, scene.number)
        self.access.push(screen, self.state.to_block)

    def repeats(self) -> None:
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

        self.access.push(RepeatsScreen(make, rows.readings.preview, scene.number), self.state.to_block)

    def bill(self) -> None:
        """The bill of the whole session."""
        # Imported here, as below: most sessions are looked at without adding up.
        from ctxtui.tui.lists.bill import BillScreen

        loaded = self.state.loaded
        if loaded is not None and self.state.complete:
            self.access.push(BillScreen(lambda: self.state.source.statement(loaded)), self._go_to)

    def misses(self) -> None:
        """Every miss of the session."""
        from ctxtui.tui.lists.misses import MissesScreen

        loaded = self.state.loaded
        if loaded is not None and self.state.complete:
            self.access.push(MissesScreen(lambda: self.state.source.misses(loaded)), self._go_to)

    def _go_to(self, call: tuple[str, int] | None) -> None:
        """Show a call, by thread and number; None where none was chosen."""
        if call is not None:
            self.state.to_call(call[0], call[1] - 1)

    def skipped(self) -> None:
        """What could not be read."""
        from ctxtui.tui.lists.skipped import SkippedScreen

        if self.state.loaded is not None:
            self.access.push(SkippedScreen(self.state.loaded.skipped))

    def home(self) -> None:
        """Back to the list of sessions."""
        self.access.post(GoHome())
