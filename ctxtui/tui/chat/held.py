"""Asks what to do with a request that is held before it is sent."""

from __future__ import annotations

from functools import partial

from ctxtui.agent import events
from ctxtui.core.session import MAIN
from ctxtui.tui.chat.prompt import PAUSE_SECONDS, TalkController
from ctxtui.tui.chat.state import ChatController, ChatState
from ctxtui.tui.commands.situation import HELD
from ctxtui.tui.inspector.context_edits import ContextEdits
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.controllers.edit_log import EditLogController
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span, Spans


class HeldController(ChatController):
    """Asks what to do with a held request; `talk` has the prompt while the user types."""

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
        self._question: Question | None = None
        """The last question of this controller."""
        state.chat_signals.held.subscribe(self._on_held)
        state.on.shown.subscribe(self._close_question)

    def facts(self) -> set[str]:
        return {HELD} if self.state.is_held else set()

    def _on_held(self) -> None:
        """Ask at once, unless the user is typing or another question is open."""
        if not self.prompt.is_asking or (self._talk.is_talking and not self.prompt.edit.buffer.size):
            self.ask()

    def ask(self) -> None:
        """Ask what to do with the held request, which is the main thread's: send, edit or cancel it."""
        self.state.to_thread(MAIN)
        count = self._ready_count()
        choices = {"enter": ("⏎", "send as is")}
        if count:
            choices["a"] = ("a", f"apply {numbers.many(count, 'edit')} and send")
        choices["x"] = ("x", "cancel it")
        lead: Spans = [Span(" ‖ ", "warn bold"), Span("held  ")]
        for key, label in choices.values():
            lead = [*lead, Span(key, "accent bold"), Span(f" {label}  ", "dim")]
        self._question = Question(
            lead,
            self._answered,
            keys=tuple(choices),
            esc="edit it first",
            on_cancel=self._explain_later,
            pause=PAUSE_SECONDS,
            on_early=self._talk.typed_early,
        )
        self.prompt.ask(self._question)

    def _close_question(self) -> None:
        """Close the question if the request is no longer held."""
        if self._question is not None and self.prompt.question is self._question and not self.state.is_held:
            self.prompt.cancel()
        self._talk.refresh_keys()

    def _ready_count(self) -> int:
        return len(self._edits.overlay.ready) if self._edits.overlay is not None else 0

    def _explain_later(self) -> None:
        message = "held: edit it in the panes (d drop, t truncate, s summarize, a apply)"
        self.access.soon(partial(self._show_in_panes, [Span("‖ ", "warn"), Span(message, "dim")]))

    def _show_in_panes(self, message: Spans) -> None:
        """Show a message about the held request, unless the user types; close an empty prompt."""
        if not self.state.is_held:
            return
        if self._talk.is_talking and not self.prompt.edit.buffer.size:
            # The prompt would take the editing keys.
            self.prompt.cancel()
        if not self.prompt.is_asking:
            self.show_message(message)

    def _answered(self, key: str) -> None:
        if key == "a":
            self._log.apply()
            if self._ready_count():
                # The edits were refused, or a summary must be read first: the message names keys of the panes.
                self.access.soon(partial(self._show_in_panes, self.prompt.edit.hint))
                return
        if key == "x":
            self.host.feed(events.Interrupted())
        else:
            self.host.feed(events.Released())
