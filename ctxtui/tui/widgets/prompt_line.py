"""Questions on the prompt line, one at a time, with callbacks for answer and cancel."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.views.text.span import Spans


def _nothing() -> None:
    pass


class Question(Struct, eq=False):
    """A question: a line that starts with `text`, or one of `keys`, after the label `lead`.

    - `right`: shown at the end of the line; `esc`: the label of that key in the key line.
    - `on_submit`: gets the answer after the line was closed; with `stays` the line is not closed.
    - `on_cancel`: called without an answer, while the text is still there: after esc, or when another question takes
      the line.
    - `on_change`: called at each change of the text.
    - `resume`: a question with it is not cancelled by another one but paused: `on_pause` is called instead of
      `on_cancel`, and `resume` once no other question is open.
    - `pause`: `keys` answer only after the question was visible, and nothing typed, for so many seconds. `on_early` is
      called for each earlier key that is no answer, with all printable keys typed so far.
    """

    lead: Spans
    on_submit: Callable[[str], object]
    text: str = ""
    keys: tuple[str, ...] = ()
    right: Spans = ()
    esc: str = "leave"
    on_cancel: Callable[[], object] = _nothing
    on_change: Callable[[], object] = _nothing
    stays: bool = False
    resume: Callable[[], object] | None = None
    on_pause: Callable[[], object] = _nothing
    pause: float = 0.0
    on_early: Callable[[str], object] | None = None


class PromptLine:
    """Asks questions on `edit`.

    `opened` is called for each question; `closed` when the line is closed, by an answer to a question that does not
    stay or by `cancel`, before a paused question is asked again.
    """

    def __init__(self, edit: LineEdit, opened: Callable[[], object], closed: Callable[[], object]) -> None:
        self.edit = edit
        self.question: Question | None = None
        self._opened = opened
        self._closed = closed
        self._paused: Callable[[], object] | None = None

    @property
    def is_asking(self) -> bool:
        return self.question is not None

    def ask(self, question: Question) -> None:
        """Ask a question; an open one is cancelled, or paused."""
        previous, self.question = self.question, question
        if previous is not None:
            (previous.on_pause if previous.resume is not None else previous.on_cancel)()
        # Of several paused questions only the first is kept; a new one that can be paused replaces it.
        paused = self._paused or (previous.resume if previous is not None else None)
        self._paused = None if question.resume is not None else paused
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
        question = self.question
        if question is None:
            return
        if not question.stays:
            self._close()
        question.on_submit(text)
        self._resume_paused()

    def cancel(self) -> None:
        question = self.question
        if question is None:
            return
        question.on_cancel()
        self._close()
        self._resume_paused()

    def change(self) -> None:
        if self.question is not None:
            self.question.on_change()

    def _close(self) -> None:
        self.question = None
        self._closed()

    def _resume_paused(self) -> None:
        if self.question is None and self._paused is not None:
            resume, self._paused = self._paused, None
            resume()
