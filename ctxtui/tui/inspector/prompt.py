"""The Inspector's prompt and filters: what is typed, and which categories are shown how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events

from ctxtui.tui.inspector.boards import ContextBoard
from ctxtui.tui.inspector.panels import ALL_LINES
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lazy import later
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.context_rows import HIDDEN, LINE, SHOWN

if TYPE_CHECKING:
    from ctxtui.views.inspector import prompt_commands
else:
    prompt_commands = later("ctxtui.views.inspector.prompt_commands")

LEAVE: Sequence[Span] = (Span("esc", "accent bold"), Span(" leave ", "dim"))
_HINT: Sequence[Span] = (Span("call number, event or category", "faint"),)


class PromptPart(InspectorState):
    """The part of the Inspector that takes words, and says some."""

    said = False
    """Whether something is said on the prompt's line."""

    def say(self, words: Spans) -> None:
        """What happened, or what may be typed."""
        self.prompt.hint = words or _HINT
        self.prompt.refresh()
        if self.said != bool(words):
            self.said = bool(words)
            self.replan()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that act before any pane sees them do not while something is typed."""
        return not (self.asking and action in ("go", "prompt", "search"))

    def action_prompt(self, text: str = "") -> None:
        """Enter the prompt."""
        self.ask([Span(" › ", "accent bold")], self.travel, text)

    def ask(self, lead: Spans, then: Callable[[str], object], text: str = "", keys: tuple[str, ...] = ()) -> None:
        """Ask for a line that begins as `text`, or for one of `keys`; `then` gets the answer."""
        self.line.ask(Question(lead, then, text=text, keys=keys, right=() if keys else LEAVE))

    def action_go(self) -> None:
        """Ask for a call's number."""
        self.action_prompt()

    def on_click(self, event: events.Click) -> None:
        """A click on the prompt enters it."""
        if event.widget is self.prompt and not self.asking:
            self.action_prompt()

    def on_line_edit_left(self, message: LineEdit.Left) -> None:
        """`esc` leaves the prompt."""
        self.line.cancel()

    def on_line_edit_changed(self, message: LineEdit.Changed) -> None:
        """Another text."""
        self.line.change(message.edit.text)

    def action_leave(self) -> None:
        """Back to the transcript, and forget what was said."""
        self.panels.transcript.focus()
        self.say(())

    def on_line_edit_submitted(self, message: LineEdit.Submitted) -> None:
        """Do what was typed."""
        self.line.submit(message.edit.text)

    def travel(self, text: str) -> None:
        """Go where `text` says, or show what it says."""
        wish = prompt_commands.asked(text, self.count)
        if isinstance(wish, prompt_commands.Go):
            self.go(wish.number - 1)
        elif isinstance(wish, prompt_commands.Seek):
            self.action_seek(wish.kind, wish.step)
        elif isinstance(wish, prompt_commands.Show):
            self.filter(prompt_commands.filtered(wish, LINE, HIDDEN))
        else:
            self.say([Span("✗ ", "crit"), Span(wish.message, "crit")])

    def go(self, index: int, *, to_end: bool = False) -> None:
        """Show call `index`."""
        raise NotImplementedError

    def action_seek(self, kind: str, step: int) -> None:
        """To the next event of a kind."""
        raise NotImplementedError

    # Filters

    def action_filter(self, category: int) -> None:
        """Show a category's blocks in the next way: one line, full, hidden."""
        now = SHOWN[(SHOWN.index(self.shown[category]) + 1) % len(SHOWN)]
        self.filter((*self.shown[:category], now, *self.shown[category + 1 :]))

    def action_show_all(self) -> None:
        """No filter."""
        self.filter(ALL_LINES)

    def filter(self, shown: tuple[str, ...]) -> None:
        """Show each category as told."""
        if self.panels.transcript.data is not None:
            self.panels.transcript.data.folded.clear()
        self.shown = shown
        self.show()

    def on_context_board_picked(self, message: ContextBoard.Picked) -> None:
        """Filter by a category that was clicked."""
        self.action_filter(message.category)
