"""One line to type in: the filter, and the prompt at the bottom of Home."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.strip import Strip

from ctxtui.tui.theme import paint
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.still import Still
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span, Spans, width


class LineEdit(Still, can_focus=True):
    """A line of text with `lead` before it, `hint` in place of an empty text, `right` at its end.

    Posts `Changed` at each change, `Submitted` at Enter, `Left` at Escape; up and down go on to the screen. With
    `keys` only those keys do anything: each is submitted as the text (a question answered by one key).
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = "LineEdit { height: 1; }"

    class Changed(Message):
        """The text is another one."""

        def __init__(self, edit: LineEdit) -> None:
            super().__init__()
            self.edit = edit

        @property
        def control(self) -> LineEdit:
            """The line."""
            return self.edit

    class Submitted(Changed):
        """Enter, or one of `keys`."""

    class Left(Changed):
        """Escape."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.text = ""
        self.at = 0
        """Where the next character goes."""
        self.lead: Spans = ()
        self.hint: Spans = ()
        self.right: Spans = ()
        self.keys: tuple[str, ...] = ()

    def show(self, lead: Spans, text: str = "", *, right: Spans = (), keys: tuple[str, ...] = ()) -> None:
        """Ask for another text, beginning with `text`."""
        self.lead, self.right, self.keys = lead, right, keys
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Put `text` in the line, its end under the cursor; nothing is posted."""
        self.text, self.at = text, len(text)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        look = look_of(self.app)
        room = self.size.width
        left = [*self.lead, *(self.hint if not self.text and not self.has_focus else self._typed(room))]
        right = self.right if width(left) + width(self.right) + 2 <= room else ()
        gap = max(0, room - width(left) - width(right) - (1 if right else 0))
        return paint.strip([*left, Span(" " * gap), *right], room, look)

    def _typed(self, room: int) -> list[Span]:
        if not self.has_focus or self.keys:
            return [Span(safe_text.line(self.text), "ink")]
        free = max(1, room - width(self.lead) - 1)
        start = 0
        while cells.width(self.text[start : self.at]) > free:
            start += 1
        under = self.text[self.at : self.at + 1] or " "
        before, after = safe_text.line(self.text[start : self.at]), safe_text.line(self.text[self.at + 1 :])
        return [Span(before, "ink"), Span(safe_text.line(under), "ink reverse"), Span(after, "ink")]

    def on_key(self, event: events.Key) -> None:
        """Typing and moving in the line; other keys go on to the screen."""
        if event.key == "escape":
            self.post_message(self.Left(self))
        elif self.keys:
            if event.character not in self.keys:
                return
            self.text = event.character or ""
            self.post_message(self.Submitted(self))
        elif event.key == "enter":
            self.post_message(self.Submitted(self))
        elif not self._edited(event):
            return
        event.stop()
        event.prevent_default()

    def _edited(self, event: events.Key) -> bool:
        before, after = self.text[: self.at], self.text[self.at :]
        moves = {"left": len(before) - 1, "right": len(before) + 1, "home": 0, "end": len(self.text)}
        if event.key in moves:
            self.at = min(max(0, moves[event.key]), len(self.text))
            self.refresh()
            return True
        if event.key == "backspace":
            before = before[:-1]
        elif event.key == "delete":
            after = after[1:]
        elif event.key == "ctrl+u":
            before = ""
        elif event.key == "ctrl+w":
            before = before.rstrip().rpartition(" ")[0]
            before += " " if before else ""
        elif event.is_printable and event.character:
            before += event.character
        else:
            return False
        self._become(before, after)
        return True

    def _become(self, before: str, after: str) -> None:
        changed = before + after != self.text
        self.text, self.at = before + after, len(before)
        self.refresh()
        if changed:
            self.post_message(self.Changed(self))

    def on_paste(self, event: events.Paste) -> None:
        """The first line of what is pasted."""
        event.stop()
        if not self.keys:
            self._become(self.text[: self.at] + event.text.partition("\n")[0], self.text[self.at :])

    def on_focus(self) -> None:
        """The cursor appears."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor goes."""
        self.refresh()
