"""The line one types in: what a key does and draws is the same work, however long the text is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.geometry import Size

from ctxtui.tui.chat.screen import TalkEdit
from ctxtui.tui.dialogs.command_palette import PaletteScreen
from ctxtui.tui.widgets.line_edit import TextBuffer
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span
from tests.tui.test_chat import chatting, shown, until

KEYS = ["x", "漢", "left", "right", "home", "end", "backspace", "delete", "ctrl+w", "ctrl+u"]


class Plain:
    """A text and a cursor as they are understood: what the buffer must come to."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, len(text)

    def press(self, key: str) -> None:
        before, after = self.text[: self.at], self.text[self.at :]
        if key == "backspace":
            before = before[:-1]
        elif key == "delete":
            after = after[1:]
        elif key == "ctrl+u":
            before = ""
        elif key == "ctrl+w":
            before = re.sub(r"\S*\s*\Z", "", before)
        elif key in ("left", "right", "home", "end"):
            self.at = {"left": max(0, self.at - 1), "right": self.at + 1, "home": 0, "end": len(self.text)}[key]
            self.at = min(self.at, len(self.text))
            return
        else:
            before += key
        self.text, self.at = before + after, len(before)


def acts(buffer: TextBuffer) -> dict[str, Callable[[], object]]:
    return {
        "left": buffer.left,
        "right": buffer.right,
        "home": buffer.home,
        "end": buffer.end,
        "backspace": buffer.delete_behind,
        "delete": buffer.delete_ahead,
        "ctrl+w": buffer.delete_word,
        "ctrl+u": buffer.delete_to_start,
    }


words = st.text(st.sampled_from("ab \n漢"), max_size=40)


@given(st.one_of(words, words.map(lambda text: text * 300)), st.lists(st.sampled_from(KEYS), max_size=40))
def test_a_buffer_is_a_text_with_a_cursor(text: str, keys: list[str]) -> None:
    buffer, plain = TextBuffer(), Plain(text)
    buffer.set_text(text)
    for key in keys:
        plain.press(key)
        acts(buffer).get(key, lambda key=key: buffer.insert(key))()
        assert (buffer.position, buffer.size) == (plain.at, len(plain.text))
    assert buffer.text == plain.text


def test_the_last_word_of_several_lines_is_deleted_alone() -> None:
    buffer = TextBuffer()
    buffer.set_text("first\nsecond \n")
    buffer.delete_word()
    assert buffer.text == "first\n"


@given(st.text(st.sampled_from("a漢́ "), max_size=30), st.integers(-1, 40))
def test_the_tail_of_a_text_is_as_wide_as_there_is_room(text: str, room: int) -> None:
    found = cells.tail(text, room)
    assert text.endswith(found) and cells.width(found) <= max(0, room)
    assert not found.startswith("\u0301"), "a mark stands behind its letter"
    before = text[: len(text) - len(found)].rstrip("\u0301")
    assert not before or room <= 0 or cells.width(text[len(before) - 1 :]) > room


async def test_line_breaks_are_pasted_as_every_terminal_sends_them(tmp_path: Path) -> None:
    """Most send a carriage return for a line break, tmux for example."""
    async with chatting(tmp_path, None) as (screen, pilot):
        pilot.app.post_message(events.Paste("a\rb\r\nc\nd"))
        await until(pilot, lambda: screen.prompt.text == "a\nb\nc\nd")
        await pilot.press("ctrl+p")
        palette = pilot.app.screen
        assert isinstance(palette, PaletteScreen)
        pilot.app.post_message(events.Paste("drop\rb"))
        await until(pilot, lambda: palette.query_line.text == "drop")


async def test_five_megabytes_pasted_into_a_chat_leave_the_keys_as_they_were(tmp_path: Path) -> None:
    async with chatting(tmp_path, None) as (screen, pilot):
        edit = screen.prompt
        text = "".join(f"line {n} of what was pasted\n" for n in range(190_000))[:5_000_000]
        assert isinstance(edit, TalkEdit) and edit.has_focus
        edit.post_message(events.Paste(text))
        await until(pilot, lambda: edit.buffer.size == len(text))
        await pilot.press(*"the end")
        await until(pilot, lambda: "the end" in shown(screen))
        assert edit.text == text + "the end" and edit.size == Size(edit.size.width, 1)
        await pilot.press("home", *"top ")
        assert edit.text.startswith("top line 0") and "top line 0 of what" in shown(screen)
        await pilot.press("escape", "i")
        assert edit.text == "top " + text + "the end", "a draft is kept whole"


async def test_a_message_that_does_not_fit_ends_in_an_ellipsis(tmp_path: Path) -> None:
    async with chatting(tmp_path, None) as (screen, pilot):
        await pilot.press("escape")
        screen.line.show_message([Span("a message " * 30)])
        await until(pilot, lambda: "a message" in shown(screen))
        (row,) = (line for line in shown(screen).splitlines() if "a message" in line)
        assert row.rstrip().endswith("…")
