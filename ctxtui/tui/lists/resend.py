"""A call that was sent again: the recorded answer and the new one side by side."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from ctxtui.analysis.content.agreement import Trial
from ctxtui.tui.lists.list_screen import PageScreen, overlay_bindings
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.lists import resend
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans


class AnswersPane(Pane):
    """Both answers, line by line."""

    def __init__(self, trial: Trial, model: str) -> None:
        super().__init__(title="sent again", id="answers")
        self._trial, self._model = trial, model
        self.lines: list[Spans] = []

    def measure(self) -> None:
        name = safe_text.one_line(self._model, 60)
        heading = [
            Span(" "),
            resend.describe_agreement(self._trial),
            Span(f" · call {self._trial.number:,}, {name}", "dim"),
        ]
        self.lines = [heading, [], *resend.side_by_side(self._trial, self.body_width)]
        super().measure()

    @property
    def row_count(self) -> int:
        return len(self.lines)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        return self.lines[index]

    def notes(self) -> Spans:
        return [Span(resend.describe_charge(self._trial), "dim")]


class ResendScreen(PageScreen[Trial, None]):
    """Shows `trial`, answered by `model`."""

    loads_at_once = True
    BINDINGS: ClassVar[list[BindingType]] = [
        *overlay_bindings(()),
        Binding("enter", "dismiss(None)", show=False),
    ]

    def __init__(self, trial: Trial, model: str) -> None:
        self._trial = trial
        self.pane = AnswersPane(trial, model)
        super().__init__(self.pane)

    def load(self) -> Trial:
        return self._trial

    def show(self, trial: Trial) -> None:
        self.pane.reload()
        self.pane.focus()

    def fail(self, trouble: str) -> None:
        """Never called: nothing can fail here."""
