"""The line one types in: what a key does and draws is the same work, however long the text is."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.geometry import Size

from ctxtui.tui.chat.screen import TalkEdit
from ctxtui.tui.widgets.line_edit import MAX_PIECE_CHARACTERS, TextBuffer
from ctxtui.views.text import cells
from tests.sampling import few
from tests.tui.test_chat import chatting, shown, until

KEYS = ["x", "漢", "left", "right", "home", "end", "backspace", "delete", "ctrl+w", "ctrl+u"]


class Plain:
    """A text and a cursor as they are understood: what the pieces must come to."""

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
            before = before.rstrip()
            before = before[: before.rfind(" ") + 1]
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
        "ctrl+u": buffer.delete_line,
    }


words = st.text(st.sampled_from("ab \n漢"), max_size=40)


@given(st.one_of(words, words.map(lambda text: text * 300)), st.lists(st.sampled_from(KEYS), max_size=40))
def test_a_text_in_pieces_is_the_text(text: str, keys: list[str]) -> None:
    buffer, plain = TextBuffer(), Plain(text)
    buffer.set_text(text)
    for key in keys:
        plain.press(key)
        acts(buffer).get(key, lambda key=key: buffer.insert(key))()
        assert (buffer.position, buffer.size) == (plain.at, len(plain.text))
        for count in (0, 1, 7, MAX_PIECE_CHARACTERS + 1):
            assert buffer.text_before(count) == plain.text[max(0, plain.at - count) : plain.at]
            assert buffer.text_after(count) == plain.text[plain.at : plain.at + count]
            assert buffer.text_from_start(count) == plain.text[:count]
    assert buffer.text == plain.text


@given(st.text(st.sampled_from("a漢́ "), max_size=30), st.integers(-1, 40))
def test_the_tail_of_a_text_is_as_wide_as_there_is_room(text: str, room: int) -> None:
    found = cells.tail(text, room)
    assert text.endswith(found) and cells.width(found) <= max(0, room)
    assert not found.startswith("\u0301"), "a mark stands behind its letter"
    before = text[: len(text) - len(found)].rstrip("\u0301")
    assert not before or room <= 0 or cells.width(text[len(before) - 1 :]) > room


class Work:
    """Counts what the program does: the lines of its code that run, and the bytes it takes at once."""

    def __init__(self) -> None:
        self.lines = 0
        self.bytes = 0

    def __enter__(self) -> Work:
        tracemalloc.start()
        sys.settrace(self._traced)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        self.bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    def _traced(self, frame: FrameType, event: str, _: Any) -> Any:
        self.lines += event == "line"
        return self._traced


def work_of(edit: TalkEdit, key: str) -> Work:
    """What one key and the frame after it take."""
    with Work() as done:
        edit._edit(events.Key(key, key if len(key) == 1 else None))
        edit._typed_spans(100)
    return done


@pytest.mark.parametrize("piece", few(["words and more ", "漢字かな", "x", "\x1b[31m\u202e", "é́"], 4))
@pytest.mark.parametrize("key", few(KEYS))
def test_a_key_is_the_same_work_in_five_megabytes_as_in_a_page(
    piece: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TalkEdit, "has_focus", True)
    monkeypatch.setattr(TalkEdit, "post_message", lambda self, message: True)
    monkeypatch.setattr(TalkEdit, "refresh", lambda self: self)
    done: list[Work] = []
    for size in (50_000, 5_000_000):
        edit = TalkEdit()
        edit.set_text((piece * (size // len(piece) + 1))[:size])
        for move in ("end", "home", "end", "left"):
            edit._edit(events.Key(move, None))
        edit._typed_spans(100)
        if key in ("home", "ctrl+u", "ctrl+w"):
            # These go through the pieces (a word may be all of them): a step each, no text is copied.
            with Work() as one:
                edit._edit(events.Key(key, None))
                edit._typed_spans(100)
            assert one.bytes < 400_000
            continue
        done.append(work_of(edit, key))
    assert all(one.bytes < 60_000 for one in done), [one.bytes for one in done]
    if done:
        page, all_ = done
        assert all_.lines <= page.lines + 20, (page.lines, all_.lines)


async def test_five_megabytes_pasted_into_a_chat_leave_the_keys_as_they_were(tmp_path: Path) -> None:
    async with chatting(tmp_path, None) as (screen, pilot):
        edit = screen.prompt
        text = "".join(f"line {n} of what was pasted\n" for n in range(190_000))[:5_000_000]
        assert isinstance(edit, TalkEdit) and edit.has_focus
        edit.post_message(events.Paste(text))
        await until(pilot, lambda: edit.buffer.size == len(text))
        with Work() as pasted:
            edit.render_line(0)
        assert pasted.bytes < 100_000
        await pilot.press(*"the end")
        await until(pilot, lambda: "the end" in shown(screen))
        assert edit.text == text + "the end" and edit.size == Size(edit.size.width, 1)
        await pilot.press("home", *"top ")
        assert edit.text.startswith("top line 0") and "top line 0 of what" in shown(screen)
        await pilot.press("escape", "i")
        assert edit.text == "top " + text + "the end", "a draft is kept whole"
