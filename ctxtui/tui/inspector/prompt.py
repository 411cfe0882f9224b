"""The prompt line of the inspector: questions and messages."""

from __future__ import annotations

from collections.abc import Callable

from textual.widget import Widget

from ctxtui.tui.inspector.signals import Signal
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.prompt_line import PromptLine, Question
from ctxtui.views.text.signs import failed
from ctxtui.views.text.span import Span, Spans


class SessionPrompt(PromptLine):
    """Asks and shows messages on `edit`, and returns the focus to `pane`.

    `hint` (its first span is a key) is shown without a message; `replan` lays out the screen when the line appears or
    goes.
    """

    def __init__(self, edit: LineEdit, pane: Widget, hint: Spans, replan: Callable[[], object]) -> None:
        super().__init__(edit, self._open, self._close_line)
        self.has_message = False
        self.message_shown: Signal[[Spans]] = Signal()
        """Emits each message, also (); lists that cover the line show it."""
        self._pane = pane
        self._hint = hint
        self._replan = replan

    def ask_for(
        self,
        lead: Spans,
        then: Callable[[str], object],
        text: str = "",
        keys: tuple[str, ...] = (),
        esc: str = "leave",
    ) -> None:
        """Ask for a line that starts as `text`, or for one of `keys`; `then` gets the answer.

        `esc`: the label of that key.
        """
        self.ask(Question(lead, then, text=text, keys=keys, esc=esc))

    def show_message(self, message: Spans) -> None:
        """Show `message`, or the hint if it is empty.

        It stays until the next one, `leave`, or the end of a question.
        """
        self.edit.hint = message or self._idle_hint
        self.edit.refresh()
        if self.has_message != bool(message):
            self.has_message = bool(message)
            self._replan()
        self.message_shown.emit(message)

    @property
    def _idle_hint(self) -> Spans:
        # While a question is open, the hint's key types itself.
        return self._hint[1:] if self.is_asking else self._hint

    def refuse(self, why: str) -> None:
        self.show_message(failed(why))

    def leave(self) -> None:
        """Focus the pane and clear the message."""
        self._pane.focus()
        self.show_message(())

    def _open(self) -> None:
        self.edit.can_focus = True
        if not self.has_message:
            self.edit.hint = self._idle_hint
        self._replan()
        self.edit.screen.set_focus(self.edit)

    def _close_line(self) -> None:
        self.edit.show([Span(" › ", "accent")])
        self.edit.screen.set_focus(self._pane)
        self.edit.can_focus = False
        self.show_message(())
        self._replan()
