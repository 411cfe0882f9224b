"""The lists that the Inspector opens over itself: threads, tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.tui.screens.inspector_desk import Desk

if TYPE_CHECKING:
    from ctxtui.lab.family import Kin


class Overlays(Desk):
    """The part of the Inspector that opens lists."""

    def action_threads(self) -> None:
        """All threads; Enter goes to one."""
        from ctxtui.lab.family import family
        from ctxtui.tui.screens.threads import ThreadsScreen

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
        from ctxtui.tui.screens.tools import ToolsScreen

        if self.panels.scene is not None:
            self.app.push_screen(ToolsScreen(self.panels.scene))

    def to_thread(self, thread: str) -> None:
        """Show a thread."""
        raise NotImplementedError
