"""Going on from a recorded call: the Inspector asks the app for a chat.

The commands that go on from a recorded call, and show what did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from ctxtui.tui.commands.command import Command
from ctxtui.tui.inspector.loader import Complete
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.messages import Open, TalkFrom
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.views.lists.forks import ForkRow


CHAT = "ctxtui chat"
"""The client of sessions that ctxtui hosted."""


class Unfinished(Message):
    """What is open is a chat that ended in the middle of a turn."""


class Forking(InspectorState):
    """The part of the Inspector that goes on from a call, and offers it where a chat ended in the middle."""

    def on_complete(self, message: Complete) -> None:
        """All is read: was this a chat that broke off?"""
        loaded = self.loaded
        if loaded is not None and loaded.path is None and loaded.session.about.client == CHAT and not self.hosted:
            self.run_worker(lambda: self._look_for_rest(loaded.name), thread=True, group="unfinished")

    hosted = False
    """Whether the session is being hosted here."""

    def _look_for_rest(self, id_: str) -> None:
        from ctxtui.services.chat.resume import is_unfinished

        settings = getattr(self.source, "settings", None)
        if settings is not None and is_unfinished(id_, settings):
            self.post_message(Unfinished())

    def on_unfinished(self, message: Unfinished) -> None:
        """Offer to go on."""
        told = Span("this chat ended in the middle of a turn: ", "ink")
        self.say([Span("▲ ", "warn"), told, Span("f", "accent bold"), Span(" goes on", "ink")])

    def action_forks(self) -> None:
        """The tree of forks; what is chosen there is opened, or gone to."""
        loaded, settings = self.loaded, getattr(self.source, "settings", None)
        if loaded is None or settings is None or not self.complete:
            return
        from ctxtui.services.study.fork_tree import forks
        from ctxtui.tui.lists.forks import ForksScreen

        thread = self.thread

        def show(row: ForkRow | None) -> None:
            if row is not None and row.target:
                self.post_message(Open(row.target))
            elif row is not None and row.call:
                self.go(row.call - 1)

        self.app.push_screen(ForksScreen(lambda: forks(loaded, thread, settings)), show)

    def go(self, index: int, *, to_end: bool = False) -> None:
        """Show call `index` (from 0) of the thread."""
        raise NotImplementedError

    def action_talk_here(self) -> None:
        """A chat from the call shown; from the end of the record where that is in view."""
        if self.source.name == "-":
            self.say([Span("✗ ", "crit"), Span("standard input cannot be gone on from: save it to a file", "crit")])
            return
        if self.study is not None and self.glimpse is None:
            number = 0 if self.index >= self.count - 1 else self.index + 1
            self.post_message(TalkFrom(self.source.name, self.thread, number))


class TalkHere(Command):
    """Go on from the call shown: a chat whose context is what the model had read and answered there. The recording
    stays as it is; a chat of ctxtui's own goes on itself when the view is at its end."""

    name, action, keys, label, short, group = "talk from here", "talk_here", ("f",), "talk here", "talk", "chat"


class Forks(Command):
    """The tree of forks: what this session went on from, chats that went on from its calls, and branches where it went
    back to an earlier call. Enter opens a session, or goes to the call with which a branch begins."""

    name, action, keys, group = "forks", "forks", ("Y",), "lists"


TALKING: tuple[type[Command], ...] = (TalkHere, Forks)
