"""A line to type in: filters, searches and the prompt line."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual import events
from textual.message import Message
from textual.strip import Strip

from ctxtui.tui.theme import paint
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.still import Still
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span, Spans, fit_spans, width


class TextBuffer:
    """One line of text with a cursor."""

    def __init__(self) -> None:
        self.text = ""
        self.position = 0
        """Cursor position: characters before it."""

    @property
    def size(self) -> int:
        return len(self.text)

    def set_text(self, text: str) -> None:
        """Replace the text; the cursor goes to its end."""
        self.text, self.position = text, len(text)

    def insert(self, text: str) -> None:
        self.text = self.text[: self.position] + text + self.text[self.position :]
        self.position += len(text)

    def delete_behind(self, count: int = 1) -> None:
        """Delete up to `count` characters before the cursor."""
        start = max(0, self.position - count)
        self.text, self.position = self.text[:start] + self.text[self.position :], start

    def delete_ahead(self) -> None:
        self.text = self.text[: self.position] + self.text[self.position + 1 :]

    def delete_to_start(self) -> None:
        self.delete_behind(self.position)

    def delete_word(self) -> None:
        """Delete blanks before the cursor and the word before them."""
        before = self.text[: self.position].rstrip()
        word = before.rsplit(maxsplit=1)[-1] if before else ""
        self.delete_behind(self.position - len(before) + len(word))

    def left(self) -> None:
        self.position = max(0, self.position - 1)

    def right(self) -> None:
        self.position = min(self.size, self.position + 1)

    def home(self) -> None:
        self.position = 0

    def end(self) -> None:
        self.position = self.size


def pasted_text(event: events.Paste) -> str:
    """Return the pasted text with ``\\n`` for each line break; most terminals send ``\\r``."""
    return event.text.replace("\r\n", "\n").replace("\r", "\n")


_HELP = "?"
"""Key that is left to the screen while one of a question's keys is awaited."""
_MIN_TYPING_CELLS = 12
"""Fewest cells for typing next to `short_right`."""


class LineEdit(Still, can_focus=True):
    """A line of text: `lead` before it, `hint` in place of an empty text, `right` at its end.

    It posts `Changed` at each change, `Submitted` at Enter, `Left` at Escape; keys that do not edit, such as up and
    down, are left to the screen. With `keys` (a question answered by one key) nothing is typed: one of them is
    submitted as the text, another letter shows a hint. With a pause they answer only after the question was visible,
    and nothing typed, for that long.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = "LineEdit { height: 1; }"

    class Changed(Message):
        def __init__(self, edit: LineEdit) -> None:
            super().__init__()
            self.edit = edit

        @property
        def control(self) -> LineEdit:
            return self.edit

    class Submitted(Changed):
        """Enter, or one of `keys`, was pressed."""

    class Left(Changed):
        """Escape was pressed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.buffer = TextBuffer()
        """Typed text and cursor."""
        self.lead: Spans = ()
        self.hint: Spans = ()
        self.right: Spans = ()
        self._original_right: Spans = ()
        """`right` as it was given to `show`."""
        self.short_right: Spans = ()
        """Short form of `right`, shown when there is no space for all of it."""
        self.transform_paste: Callable[[str], str] = str
        """Transforms a paste before it is inserted; only the prompt of a chat calls it."""
        self.keys: tuple[str, ...] = ()
        self._pause = 0.0
        self._quiet_since: float | None = None
        """Monotonic time since which the question is visible and nothing was typed; None before its first frame."""
        self._early_keys = ""
        self._on_early: Callable[[str], object] | None = None

    @property
    def text(self) -> str:
        return self.buffer.text

    def show(
        self,
        lead: Spans,
        text: str = "",
        *,
        right: Spans = (),
        keys: tuple[str, ...] = (),
        pause: float = 0.0,
        on_early: Callable[[str], object] | None = None,
    ) -> None:
        """Start a new text with `text`, or wait for one of `keys` after a `pause` in seconds.

        `on_early` is called for each earlier key that is no answer, with all printable keys typed so far.
        """
        self.lead, self.right, self.keys = lead, right, keys
        self._original_right = right
        self.short_right, self.transform_paste = (), str
        self._pause, self._quiet_since, self._early_keys, self._on_early = pause, None, "", on_early
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Set the text, with the cursor at its end; no message is posted."""
        self.buffer.set_text(text)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        look = look_of(self.app)
        room = self.size.width
        if self._pause and self._quiet_since is None:
            self._restart_pause(time.monotonic())
        lead = self.lead
        if not self.is_ready:
            lead = [Span(text, "faint" if "accent" in style else style) for text, style in lead]
        short_width = (
            width(self.short_right) + 1
            if self.short_right and width(lead) + width(self.short_right) + _MIN_TYPING_CELLS <= room
            else 0
        )
        shows_hint = not self.buffer.size and not self.has_focus
        left = [*lead, *(self.hint if shows_hint else self._typed_spans(room - short_width))]
        if shows_hint and width(left) > room:
            return paint.strip(fit_spans(left, room), room, look)
        right = self.right if width(left) + width(self.right) + 2 <= room else self.short_right if short_width else ()
        gap = max(0, room - width(left) - width(right) - (1 if right else 0))
        return paint.strip([*left, Span(" " * gap), *right], room, look)

    def _typed_spans(self, room: int) -> list[Span]:
        buffer, free = self.buffer, max(1, room - width(self.lead) - 1)
        # Read only what can be visible; combining marks take no cell.
        most = 4 * room + 16
        if not self.has_focus or self.keys:
            return [Span(cells.cut(safe_text.line(buffer.text[:most]), room))]
        at = buffer.position
        before = cells.tail(safe_text.line(buffer.text[max(0, at - most) : at]), free)
        after = buffer.text[at : at + most]
        rest = cells.cut(safe_text.line(after[1:]), room)
        return [Span(before), Span(safe_text.line(after[:1] or " "), "ink reverse"), Span(rest)]

    def on_key(self, event: events.Key) -> None:
        """Edit the line; other keys are left to the screen."""
        if event.key == "escape":
            self.post_message(self.Left(self))
        elif self.keys:
            if not self._is_answer(event):
                return
            self.buffer.set_text(event.key if event.key in self.keys else event.character or "")
            self.post_message(self.Submitted(self))
        elif event.key == "enter":
            self.post_message(self.Submitted(self))
        elif not self._edit(event):
            return
        event.stop()
        event.prevent_default()

    @property
    def is_ready(self) -> bool:
        """Whether a key answers now."""
        return not self._pause or (
            self._quiet_since is not None and time.monotonic() - self._quiet_since >= self._pause
        )

    def _restart_pause(self, now: float) -> None:
        self._quiet_since = now
        self.set_timer(self._pause, self.refresh)

    def _is_answer(self, event: events.Key) -> bool:
        """Whether a key answers the question; a wrong one is explained at the end of the line."""
        typed = event.character if event.is_printable else event.key
        if typed is None or not (event.is_printable or typed in self.keys):
            return False
        # Use the key's own time: it may have waited while the screen was busy.
        if not self._pause or (self._quiet_since is not None and event.time - self._quiet_since >= self._pause):
            if event.is_printable and typed not in (*self.keys, _HELP):
                # The key would act on the screen below the question.
                event.stop()
                event.prevent_default()
                self._show_wrong_key(typed)
            return typed in self.keys
        # Too early to be an answer: keep it for `on_early`.
        event.stop()
        event.prevent_default()
        self._early_keys += typed if event.is_printable else ""
        if self._quiet_since is not None:
            self._restart_pause(max(self._quiet_since, event.time))
            self.refresh()
        if typed not in self.keys and self._on_early is not None:
            self._on_early(self._early_keys)
        return False

    def _show_wrong_key(self, typed: str) -> None:
        self.short_right = [Span(f"{safe_text.line(typed)} does nothing: {' '.join(self.keys)}  ", "warn")]
        self.right = [*self.short_right, *self._original_right]
        self.refresh()

    def _edit(self, event: events.Key) -> bool:
        buffer = self.buffer
        moves = {"left": buffer.left, "right": buffer.right, "home": buffer.home, "end": buffer.end}
        deletes = {
            "backspace": buffer.delete_behind,
            "delete": buffer.delete_ahead,
            "ctrl+u": buffer.delete_to_start,
            "ctrl+w": buffer.delete_word,
        }
        size = buffer.size
        if event.key in moves:
            moves[event.key]()
        elif event.key in deletes:
            deletes[event.key]()
        elif event.is_printable and event.character:
            buffer.insert(event.character)
        else:
            return False
        self.refresh()
        if buffer.size != size:
            self.post_message(self.Changed(self))
        return True

    def insert(self, text: str) -> None:
        """Insert `text` at the cursor, as if typed."""
        if text:
            self.buffer.insert(text)
            self.refresh()
            self.post_message(self.Changed(self))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if not self.keys:
            self.insert(pasted_text(event).partition("\n")[0])

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()
