"""Text that comes in: however it is cut, the lines are those of the whole; a line that is done is made once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.views.blocks.live_text import CURSOR, LiveText, render_file_change
from ctxtui.views.text.span import Spans, plain, width

MARKDOWN = st.text(alphabet="ab *`#\n|-_x\u00fc\u4e2d\x1b[", max_size=120) | st.sampled_from(
    ["# head\n\ntext **bold** and `code`\n```python\ndef a():\n    pass\n```\nafter\n", "- a\n- b\n\n> quote"]
)


def lines(text: LiveText) -> list[str]:
    return [plain(text.line(n)) for n in range(text.height)]


@given(MARKDOWN, st.lists(st.integers(0, 120), max_size=6), st.integers(1, 30))
def test_any_cutting_gives_the_same_lines(words: str, cuts: list[int], room: int) -> None:
    whole, pieces = LiveText(room=room), LiveText(room=room)
    whole.feed(words)
    ends = sorted({min(cut, len(words)) for cut in cuts} | {len(words)})
    start = 0
    for end in ends:
        pieces.feed(words[start:end])
        lines(pieces)
        start = end
    assert lines(pieces) == lines(whole)
    assert lines(whole)[-1].endswith(CURSOR)
    assert all(width(whole.line(n)) <= max(room, 2) for n in range(whole.height))
    assert "\x1b" not in "".join(lines(whole))


@given(MARKDOWN, st.integers(1, 20), st.integers(1, 20))
def test_another_width_is_as_if_it_had_always_been(words: str, first: int, then: int) -> None:
    changed, fresh = LiveText(room=first), LiveText(room=then)
    for text in (changed, fresh):
        text.feed(words)
    lines(changed)
    changed.resize(then)
    assert lines(changed) == lines(fresh)


def test_finished_lines_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text, made = LiveText(room=40), []
    original = LiveText._lines

    def counted(self: LiveText, raw: str) -> list[Spans]:
        made.append(raw)
        return original(self, raw)

    monkeypatch.setattr(LiveText, "_lines", counted)
    for n in range(200):
        text.feed(f"line {n}\n")
        text.line(text.height - 1)
    assert len(made) <= 200 * 2 + 2, "each line once, and the last one once a frame"


def test_a_change_of_bytes_that_are_no_text_is_not_called_none() -> None:
    def said(before: bytes | None, after: bytes) -> list[str]:
        return [plain(line).strip() for line in render_file_change(before, after, 80)]

    assert said(b"a", b"a") == ["⋮  1 line unchanged"] and said(b"", b"") == ["(nothing)"]
    assert said(b"\xff", "\ufffd".encode())[-1] == "only bytes that are not text changed"
