"""The Inspector's prompt: the line on which questions are asked, and on which is said what happened."""

from __future__ import annotations

from collections.abc import Callable

from textual.widget import Widget

from ctxtui.tui.inspector.signals import Signal
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.prompt_line import PromptLine, Question
from ctxtui.views.text.signs import failed
from ctxtui.views.text.span import Span, Spans


class SessionPrompt(PromptLine):
    """Asks on `edit`, tells there, and gives the focus back to `pane`. `hint` stands there when nothing is said,
    without the key that it begins with where the cursor is in the line already. `replan` is called when the line may be
    needed, or no longer."""

    def __init__(self, edit: LineEdit, pane: Widget, hint: Spans, replan: Callable[[], object]) -> None:
        super().__init__(edit, self._enter, self._go_back)
        self.said = False
        """Whether something is said."""
        self.spoken: Signal[[Spans]] = Signal()
        """What is said, for those that stand over the line."""
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
        """Ask for a line that begins as `text`, or for one of `keys`; `then` gets the answer."""
        self.ask(Question(lead, then, text=text, keys=keys, esc=esc))

    def say(self, words: Spans) -> None:
        """What happened, or what may be typed; nothing clears it."""
        self.edit.hint = words or self._resting
        self.edit.refresh()
        if self.said != bool(words):
            self.said = bool(words)
            self._replan()
        self.spoken.emit(words)

    @property
    def _resting(self) -> Spans:
        return self._hint[1:] if self.is_asking else self._hint

    def refuse(self, why: str) -> None:
        """Say why nothing is done."""
        self.say(failed(why))

    def leave(self) -> None:
        """Back to the pane, and forget what was said."""
        self._pane.focus()
        self.say(())

    def _enter(self) -> None:
        self.edit.can_focus = True
        if not self.said:
            self.edit.hint = self._resting
        self._replan()
        self.edit.screen.set_focus(self.edit)

    def _go_back(self) -> None:
        self.edit.show([Span(" › ", "accent")])
        self.edit.screen.set_focus(self._pane)
        self.edit.can_focus = False
        self.say(())
        self._replan()
