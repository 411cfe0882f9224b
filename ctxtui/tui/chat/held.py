"""The part of a chat's screen that asks what becomes of a request that is held before it is sent."""

from __future__ import annotations

from ctxtui.agent import events as ev
from ctxtui.tui.chat.prompt import PAUSE, TalkController
from ctxtui.tui.chat.state import ChatController, ChatState
from ctxtui.tui.commands.situation import HELD
from ctxtui.tui.inspector.context_edits import ContextEdits
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.controllers.edit_log import EditLogController
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.text.span import Span, Spans


class HeldController(ChatController):
    """Asks as soon as a request is held, unless something is being typed; `talk` has the prompt otherwise. Staged edits
    are applied by `log`."""

    def __init__(
        self,
        state: ChatState,
        prompt: SessionPrompt,
        access: ScreenAccess,
        edits: ContextEdits,
        talk: TalkController,
        log: EditLogController,
    ) -> None:
        super().__init__(state, prompt, access)
        self._edits, self._talk, self._log = edits, talk, log
        self._own: Question | None = None
        """What was asked here last."""
        state.tells.held.subscribe(self._held)
        state.on.shown.subscribe(self._gone)

    def facts(self) -> set[str]:
        """Whether a request is held."""
        return {HELD} if self.state.status == "held" else set()

    def _held(self) -> None:
        """Ask at once, unless something is being typed or asked."""
        if not self.prompt.is_asking or (self._talk.talking and not self.prompt.edit.buffer.size):
            self.ask()

    def ask(self) -> None:
        """Ask what becomes of it."""
        staged = len(self._edits.overlay.staged) if self._edits.overlay is not None else 0
        choices = {"enter": ("⏎", "send as it is")}
        if staged:
            choices["a"] = ("a", f"apply {staged:,} edit{'' if staged == 1 else 's'} and send")
        choices["x"] = ("x", "take it back")
        lead: Spans = [Span(" ‖ ", "warn bold"), Span("held  ")]
        for key, words in choices.values():
            lead = [*lead, Span(key, "accent bold"), Span(f" {words}  ", "dim")]
        self._own = Question(
            lead,
            self._answered,
            keys=tuple(choices),
            esc="edit it first",
            on_cancel=self._later,
            pause=PAUSE,
            on_early=self._talk.typed_early,
        )
        self.prompt.ask(self._own)

    def _gone(self) -> None:
        """The request went another way: there is nothing to ask any more."""
        if self._own is not None and self.prompt.question is self._own and self.state.status != "held":
            self.prompt.cancel()
        self._talk.refresh_keys()

    def _later(self) -> None:
        """It is looked at, or changed, in the panes."""
        if self.state.status == "held":
            words = "held: edit it in the panes (d drop, t cut, s summarize, a apply)"
            self.access.soon(lambda: self._told_later(words))

    def _told_later(self, words: str) -> None:
        if self.state.status != "held":
            return
        if self._talk.talking and not self.prompt.edit.buffer.size:
            # The prompt would take the keys that edit.
            self.prompt.cancel()
        if not self.prompt.is_asking:
            self.say([Span("‖ ", "warn"), Span(words, "dim")])

    def _answered(self, key: str) -> None:
        if key == "a":
            self._log.apply()
        if key == "x":
            self.host.feed(ev.Interrupted())
        else:
            self.host.feed(ev.Released())
