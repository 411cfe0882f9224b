"""Going on from a recorded call: the Inspector asks the app for a chat.

The commands that go on from a recorded call, and show what did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.messages import Open, TalkFrom
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.views.lists.forks import ForkRow


CHAT = "ctxtui chat"
"""The client of sessions that ctxtui hosted."""


class ForksController(Controller):
    """Lists what the session went on from, and what went on from it."""

    def forks(self) -> None:
        """The tree of forks; what is chosen there is opened, or gone to."""
        loaded, settings = self.state.loaded, self.state.source.settings
        if loaded is None or not self.state.complete:
            return
        from ctxtui.services.study.fork_tree import forks
        from ctxtui.tui.lists.forks import ForksScreen

        thread = self.state.thread

        def show(row: ForkRow | None) -> None:
            if row is not None and row.target:
                self.access.post(Open(row.target))
            elif row is not None and row.call:
                self.state.go(row.call - 1)

        self.access.push(ForksScreen(lambda: forks(loaded, thread, settings)), show)


class ForkController(Controller):
    """Goes on from a call, and offers it where a chat ended in the middle."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        state.on.complete.subscribe(self._complete)

    def _complete(self) -> None:
        """All is read: was this a chat that broke off?"""
        loaded = self.state.loaded
        if loaded is not None and loaded.path is None and loaded.session.about.client == CHAT:
            self.access.work(lambda: self._look_for_rest(loaded.name), "unfinished")

    def _look_for_rest(self, id_: str) -> None:
        from ctxtui.services.chat.resume import hosted_by, is_unfinished

        settings = self.state.source.settings
        host = hosted_by(id_, settings)
        if host:
            self.access.deliver(lambda: self._tell_host(host))
        elif is_unfinished(id_, settings):
            self.access.deliver(self._offer)

    def _offer(self) -> None:
        """Offer to go on."""
        told = Span("this chat ended in the middle of a turn: ", "ink")
        self.say([Span("▲ ", "warn"), told, Span("f", "accent bold"), Span(" goes on", "ink")])

    def _tell_host(self, host: str) -> None:
        """Say who hosts the chat, and offer a branch."""
        branch = [Span(": ", "ink"), Span("f", "accent bold"), Span(" makes a branch of it", "ink")]
        self.say([Span("▲ ", "warn"), Span(f"this chat is open in {host}", "ink"), *(branch if self._answered else [])])

    @property
    def _answered(self) -> int:
        """The last call of the thread that has an answer; 0 where there is none."""
        calls = self.state.study.thread(self.state.thread).calls if self.state.study is not None else ()
        return len(calls) if calls and calls[-1].id else 0

    def talk_here(self) -> None:
        """A chat from the call shown; from the end of the record where that is in view, or a branch of it where another
        process goes on with it."""
        loaded = self.state.loaded
        if self.state.source.name == "-":
            self.say([Span("✗ ", "crit"), Span("standard input cannot be gone on from: save it to a file", "crit")])
            return
        if self.state.study is None or self.state.glimpse is not None or loaded is None:
            return
        if self.state.index < self.state.count - 1:
            self._talk_from(self.state.index + 1)
        elif loaded.path is None and loaded.session.about.client == CHAT:
            self.access.work(lambda: self._talk_at_end(loaded.name), "whose it is")
        else:
            self._talk_from(0)

    def _talk_at_end(self, id_: str) -> None:
        from ctxtui.services.chat.resume import hosted_by

        host = hosted_by(id_, self.state.source.settings)
        if not host:
            self.access.deliver(lambda: self._talk_from(0))
        elif self._answered:
            self.access.deliver(lambda: self._talk_from(self._answered))
        else:
            self.access.deliver(lambda: self._tell_host(host))

    def _talk_from(self, number: int) -> None:
        self.access.post(TalkFrom(self.state.source.name, self.state.thread, number))


class TalkHere(Command):
    """Go on from the call shown: a chat whose context is what the model had read and answered there. The recording
    stays as it is; a chat of ctxtui's own goes on itself when the view is at its end and no other process hosts it."""

    name, keys, label, short, group = "talk from here", ("f",), "talk here", "talk", "chat"
    run = Act(ForkController, ForkController.talk_here)


class Forks(Command):
    """The tree of forks: what this session went on from, chats that went on from its calls, and branches where it went
    back to an earlier call. Enter opens a session, or goes to the call with which a branch begins."""

    name, keys, group = "forks", ("Y",), "lists"
    run = Act(ForksController, ForksController.forks)


TALKING: tuple[type[Command], ...] = (TalkHere, Forks)
