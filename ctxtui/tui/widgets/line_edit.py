"""One line to type in: the filter, and the prompt at the bottom of Home."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from textual import events
from textual.message import Message
from textual.strip import Strip

from ctxtui.tui.theme import paint
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.still import Still
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span, Spans, width

PIECE: Final = 1024
"""Characters of a piece at most."""


class TextBuffer:
    """What stands before the cursor and what behind it. Only `text` and `put` read the whole text."""

    def __init__(self) -> None:
        self.at = 0
        """Characters before the cursor."""
        self.size = 0
        """Characters in all."""
        self._before: list[str] = []
        self._after: list[str] = []
        """The nearest piece last."""
        self._whole: str | None = ""

    @property
    def text(self) -> str:
        """The whole text; put together once after a change."""
        if self._whole is None:
            self._whole = "".join([*self._before, *reversed(self._after)])
        return self._whole

    def put(self, text: str) -> None:
        """Another text, its end under the cursor."""
        self._before, self._after = list(_pieces(text)), []
        self.at = self.size = len(text)
        self._whole = text

    def behind(self, count: int) -> str:
        """At most `count` characters that stand before the cursor."""
        first, left = len(self._before), count
        while first and left > 0:
            first -= 1
            left -= len(self._before[first])
        return "".join(self._before[first:])[-count:] if count > 0 else ""

    def ahead(self, count: int) -> str:
        """At most `count` characters that stand behind the cursor, the one under it first."""
        found: list[str] = []
        left = count
        while left > 0 and len(found) < len(self._after):
            found.append(self._after[-1 - len(found)])
            left -= len(found[-1])
        return "".join(found)[: max(0, count)]

    def first(self, count: int) -> str:
        """At most `count` characters from the beginning."""
        found: list[str] = []
        left = count
        for piece in chain(self._before, reversed(self._after)):
            if left <= 0:
                break
            found.append(piece)
            left -= len(piece)
        return "".join(found)[:count]

    def insert(self, text: str) -> None:
        """Put `text` before the cursor."""
        if not text:
            return
        if self._before and len(self._before[-1]) + len(text) <= PIECE:
            self._before[-1] += text
        else:
            self._before.extend(_pieces(text))
        self._changed(len(text), len(text))

    def delete_behind(self, count: int = 1) -> None:
        """Take away `count` characters before the cursor, or as many as there are."""
        gone = self._take_behind(count)
        self._changed(-gone, -gone)

    def delete_ahead(self) -> None:
        """Take away the character under the cursor."""
        if self._after:
            self._put_ahead(self._after.pop()[1:])
            self._changed(0, -1)

    def delete_line(self) -> None:
        """Take away everything before the cursor."""
        self._before.clear()
        self._changed(-self.at, -self.at)

    def delete_word(self) -> None:
        """Take away blanks before the cursor, and the word before them."""
        while self.at:
            piece = self._before[-1]
            self.delete_behind(len(piece) - len(piece.rstrip()))
            if not piece.isspace():
                break
        while self.at:
            piece = self._before[-1]
            space = piece.rfind(" ")
            self.delete_behind(len(piece) - space - 1)
            if space >= 0:
                break

    def left(self) -> None:
        """The cursor one character back."""
        if self._before:
            last = self.behind(1)
            self._take_behind(1)
            self._put_ahead(last)
            self.at -= 1

    def right(self) -> None:
        """The cursor one character on."""
        if self._after:
            piece = self._after.pop()
            self._put_ahead(piece[1:])
            if self._before and len(self._before[-1]) < PIECE:
                self._before[-1] += piece[0]
            else:
                self._before.append(piece[0])
            self.at += 1

    def home(self) -> None:
        """The cursor to the beginning."""
        self._after.extend(reversed(self._before))
        self._before.clear()
        self.at = 0

    def end(self) -> None:
        """The cursor behind the last character."""
        self._before.extend(reversed(self._after))
        self._after.clear()
        self.at = self.size

    def _changed(self, moved: int, grown: int) -> None:
        self.at += moved
        self.size += grown
        self._whole = None

    def _take_behind(self, count: int) -> int:
        left = min(count, self.at)
        gone = left
        while left:
            piece = self._before.pop()
            if len(piece) > left:
                self._before.append(piece[:-left])
                break
            left -= len(piece)
        return gone

    def _put_ahead(self, text: str) -> None:
        if text and self._after and len(self._after[-1]) + len(text) <= PIECE:
            self._after[-1] = text + self._after[-1]
        elif text:
            self._after.append(text)


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + PIECE] for at in range(0, len(text), PIECE))


_HELP = "?"
_LEAST = 12
"""Cells that are left for typing beside what stays at the end."""


class LineEdit(Still, can_focus=True):
    """A line of text with `lead` before it, `hint` in place of an empty text, `right` at its end.

    Posts `Changed` at each change, `Submitted` at Enter, `Left` at Escape; up and down go on to the screen. With
    `keys` only those keys do anything: each is submitted as the text (a question answered by one key); where a pause is
    asked for, only when the question was readable, and nothing typed, for so long.
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
        self.buffer = TextBuffer()
        """What is typed, and where in it the next character goes."""
        self.lead: Spans = ()
        self.hint: Spans = ()
        self.right: Spans = ()
        self._right: Spans = ()
        """What stood at the end when the question came."""
        self.brief: Spans = ()
        """What of `right` stays where there is no room for all of it, however much is typed."""
        self.pasted: Callable[[str], str] = str
        """What is put in for what is pasted, where lines are kept."""
        self.keys: tuple[str, ...] = ()
        self._pause = 0.0
        self._quiet: float | None = None
        """Since when the question is readable and nothing is typed."""
        self._early = ""
        self._on_early: Callable[[str], object] | None = None

    @property
    def text(self) -> str:
        """What is typed. Reads all of it: whoever asks at each key does so for short texts only."""
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
        """Ask for another text, beginning with `text`; or for one of `keys`, which answer after a `pause` in seconds.
        `on_early` gets what was typed before that and was no answer."""
        self.lead, self.right, self.keys = lead, right, keys
        self._right = right
        self.brief, self.pasted = (), str
        self._pause, self._quiet, self._early, self._on_early = pause, None, "", on_early
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Put `text` in the line, its end under the cursor; nothing is posted."""
        self.buffer.put(text)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        look = look_of(self.app)
        room = self.size.width
        if self._pause and self._quiet is None:
            self._rest(time.monotonic())
        lead = self.lead
        if not self.ready:
            lead = [Span(text, "faint" if "accent" in style else style) for text, style in lead]
        kept = width(self.brief) + 1 if self.brief and width(lead) + width(self.brief) + _LEAST <= room else 0
        left = [*lead, *(self.hint if not self.buffer.size and not self.has_focus else self._typed(room - kept))]
        right = self.right if width(left) + width(self.right) + 2 <= room else self.brief if kept else ()
        gap = max(0, room - width(left) - width(right) - (1 if right else 0))
        return paint.strip([*left, Span(" " * gap), *right], room, look)

    def _typed(self, room: int) -> list[Span]:
        buffer, free = self.buffer, max(1, room - width(self.lead) - 1)
        # As much as can be seen, however long the text is; marks and such take no cell.
        most = 4 * room + 16
        if not self.has_focus or self.keys:
            return [Span(cells.cut(safe_text.line(buffer.first(most)), room))]
        before = cells.tail(safe_text.line(buffer.behind(most)), free)
        after = buffer.ahead(most)
        rest = cells.cut(safe_text.line(after[1:]), room)
        return [Span(before), Span(safe_text.line(after[:1] or " "), "ink reverse"), Span(rest)]

    def on_key(self, event: events.Key) -> None:
        """Typing and moving in the line; other keys go on to the screen."""
        if event.key == "escape":
            self.post_message(self.Left(self))
        elif self.keys:
            if not self._answers(event):
                return
            self.buffer.put(event.key if event.key in self.keys else event.character or "")
            self.post_message(self.Submitted(self))
        elif event.key == "enter":
            self.post_message(self.Submitted(self))
        elif not self._edited(event):
            return
        event.stop()
        event.prevent_default()

    @property
    def ready(self) -> bool:
        """Whether a key answers now."""
        return not self._pause or (self._quiet is not None and time.monotonic() - self._quiet >= self._pause)

    def _rest(self, now: float) -> None:
        self._quiet = now
        self.set_timer(self._pause, self.refresh)

    def _answers(self, event: events.Key) -> bool:
        """Whether a key answers the question; what was typed for something else does not, nor does a key held down."""
        typed = event.character if event.is_printable else event.key
        if typed is None or not (event.is_printable or typed in self.keys):
            return False
        # The key's own time: it may have waited while the screen was busy.
        if not self._pause or (self._quiet is not None and event.time - self._quiet >= self._pause):
            if event.is_printable and typed not in (*self.keys, _HELP):
                # It would act on what stands behind the question.
                event.stop()
                event.prevent_default()
                self._misses(typed)
            return typed in self.keys
        # It does nothing else either, but it is not lost.
        event.stop()
        event.prevent_default()
        self._early += typed if event.is_printable else ""
        if self._quiet is not None:
            self._rest(max(self._quiet, event.time))
            self.refresh()
        if typed not in self.keys and self._on_early is not None:
            self._on_early(self._early)
        return False

    def _misses(self, typed: str) -> None:
        self.brief = [Span(f"{safe_text.line(typed)} is no answer: {' '.join(self.keys)}  ", "warn")]
        self.right = [*self.brief, *self._right]
        self.refresh()

    def _edited(self, event: events.Key) -> bool:
        buffer = self.buffer
        moves = {"left": buffer.left, "right": buffer.right, "home": buffer.home, "end": buffer.end}
        deletes = {
            "backspace": buffer.delete_behind,
            "delete": buffer.delete_ahead,
            "ctrl+u": buffer.delete_line,
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
        """Put `text` in at the cursor, as if it was typed."""
        if text:
            self.buffer.insert(text)
            self.refresh()
            self.post_message(self.Changed(self))

    def on_paste(self, event: events.Paste) -> None:
        """The first line of what is pasted."""
        event.stop()
        if not self.keys:
            self.insert(event.text.partition("\n")[0])

    def on_focus(self) -> None:
        """The cursor appears."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor goes."""
        self.refresh()
