"""Questions on a line: one at a time, each with what is done with its answer and what where it is left."""

from __future__ import annotations

from collections.abc import Callable

from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.views.text.span import Spans


def _nothing() -> None:
    pass


class Question:
    """What is asked behind `lead`: a line that begins as `text`, or one of `keys`. `right` stands at the line's end,
    `esc` says in the key line what that key does.

    `on_submit` gets the answer, after the line is closed; it is not closed for it where the question `stays`.
    `on_cancel` is called where there is no answer, while the text still stands: after esc, or when another question
    takes the line. `on_change` is called at each key. A question with `resume` is not cancelled by another one but
    waits for it: `on_pause` is called in place of `on_cancel`, and `resume` as soon as nothing else is asked. `keys`
    answer only when the question was readable, and nothing typed, for `pause` seconds; `on_early` gets what was typed
    before and was no answer.
    """

    # No dataclass: making one takes a millisecond of the first frame.
    def __init__(
        self,
        lead: Spans,
        on_submit: Callable[[str], object],
        *,
        text: str = "",
        keys: tuple[str, ...] = (),
        right: Spans = (),
        esc: str = "leave",
        on_cancel: Callable[[], object] = _nothing,
        on_change: Callable[[], object] = _nothing,
        stays: bool = False,
        resume: Callable[[], object] | None = None,
        on_pause: Callable[[], object] = _nothing,
        pause: float = 0.0,
        on_early: Callable[[str], object] | None = None,
    ) -> None:
        self.lead, self.text, self.keys, self.right = lead, text, keys, right
        self.on_submit, self.on_cancel, self.on_change = on_submit, on_cancel, on_change
        self.esc = esc
        self.stays, self.resume, self.on_pause = stays, resume, on_pause
        self.pause, self.on_early = pause, on_early


class PromptLine:
    """Asks on `edit`. `opened` is called when a question has the line, `closed` when nothing is asked any more."""

    def __init__(self, edit: LineEdit, opened: Callable[[], object], closed: Callable[[], object]) -> None:
        self.edit = edit
        self.question: Question | None = None
        """What is asked now."""
        self._opened = opened
        self._closed = closed
        self._waiting: Callable[[], object] | None = None

    @property
    def asking(self) -> bool:
        """Whether something is asked."""
        return self.question is not None

    def ask(self, question: Question) -> None:
        """Ask this; what was asked before is given up, or waits."""
        before, self.question = self.question, question
        if before is not None:
            (before.on_pause if before.resume is not None else before.on_cancel)()
        # Of several questions the first one waits; one that waits itself takes the place of all before.
        waiting = self._waiting or (before.resume if before is not None else None)
        self._waiting = None if question.resume is not None else waiting
        self.edit.show(
            question.lead,
            question.text,
            right=question.right,
            keys=question.keys,
            pause=question.pause,
            on_early=question.on_early,
        )
        self._opened()

    def submit(self, text: str) -> None:
        """Answer the question."""
        question = self.question
        if question is None:
            return
        if not question.stays:
            self._close()
        question.on_submit(text)
        self._go_on()

    def cancel(self) -> None:
        """Leave the question without an answer."""
        question = self.question
        if question is None:
            return
        question.on_cancel()
        self._close()
        self._go_on()

    def change(self) -> None:
        """The text is another one."""
        if self.question is not None:
            self.question.on_change()

    def _close(self) -> None:
        self.question = None
        self._closed()

    def _go_on(self) -> None:
        if self.question is None and self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            waiting()
