"""The line in which one talks: it keeps line breaks that are pasted or typed, and what was said before."""

from __future__ import annotations

from textual import events

from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.views.text.span import Span

_BREAKS = ("ctrl+j", "shift+enter", "alt+enter")


class TalkEdit(LineEdit):
    """A `LineEdit` whose text may have several lines, shown as one (a break is ``·``)."""

    def _typed(self, room: int) -> list[Span]:
        if self.has_focus and not self.buffer.size and not self.keys:
            # What is said stays readable while nothing is typed.
            return [Span(" ", "ink reverse"), Span(" "), *self.hint]
        return super()._typed(room)

    def on_key(self, event: events.Key) -> None:
        """A line break; everything else is the line's own."""
        if event.key in _BREAKS and not self.keys:
            event.stop()
            event.prevent_default()
            self.insert("\n")

    def on_paste(self, event: events.Paste) -> None:
        """All lines of what is pasted."""
        event.stop()
        event.prevent_default()
        if not self.keys:
            self.insert(self.pasted(event.text.replace("\r\n", "\n")))
