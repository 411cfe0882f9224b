"""How high an opened block is, worked out from its text alone, is how many lines of it are painted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxtui.core import block as blocks
from ctxtui.core.block_content import read
from ctxtui.core.category import INDEX
from ctxtui.tui.highlight import highlight
from ctxtui.views.blocks import code_text, content
from ctxtui.views.blocks.content import Content
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span

PIECES = [
    *("a", "word", " ", "    ", "\n", "\n\n", "\t", "\r\n", "\r", "x" * 50, "登" * 30, "y" * 4_200, "登录", "\uac00"),
    *("e\u0301", "\u0301\u0302\u0303\u0304", "\U0001f600", "\U0001f469\u200d\U0001f4bb", "\ufe0f", "\x1b[31m"),
    *("\x00", "\u202e", "# ", "- ", "**b**", "`c`", "```py\n", "```\n", "~~~\n", "| a | b |", "> ", "<tag>"),
    *(
        "def f(x):\n    return 'a'",
        "     1\tx = 1\n",
        "  2→\tb\n",
        '{"a": [1, 2',
        '"}',
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n",
    ),
]
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
rooms = st.integers(1, 90)
HINTS = ["src/a.py", "a.json", "README.md", "b.sh", "page.html", "c.rs", "x.unknown", "t.php", "q.yaml"]


def said(category: str, text: str) -> Content:
    block = blocks.text(text)
    return content.content(INDEX[category], read(block), block.value(), highlight=highlight)


def result(text: str, hint: str, *, coloured: bool) -> Content:
    got = {"type": "tool_result", "tool_use_id": "t", "content": text}
    asked = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": hint}}
    block = blocks.make("tool_result", got)
    call = read(blocks.make("tool_use", asked)) if hint else None
    light = highlight if coloured else None
    return content.content(INDEX["tool_result"], read(block), block.value(), call=call, highlight=light)


def as_painted(make: Callable[[], Content], room: int, most: int) -> None:
    """The height is the same before and after lines are made, and that of the lines."""
    told, painted = make().body(room), make().body(room)
    lead = make().lead
    lines = 0
    while lines < most + lead and painted.line(lines) is not None:
        lines += 1
    assert told.height(most) == lines == painted.height(most)
    told.line(most + 3)
    assert told.height(most) == lines


@given(texts, rooms, st.integers(1, 40), st.sampled_from(["user", "assistant", "thinking", "system"]))
@example("x" * 9_000, 80, 200, "user")
@example("登 " * 9_000, 7, 20, "assistant")
@example("\n", 10, 6, "user")
def test_what_is_said(text: str, room: int, most: int, category: str) -> None:
    as_painted(lambda: said(category, text), room, most)


@given(texts, rooms, st.integers(1, 40), st.sampled_from(["", *HINTS]), st.booleans())
@example("     1\t" + "x" * 300 + "\n     2\ty\n", 40, 6, "src/a.py", True)
def test_results(text: str, room: int, most: int, hint: str, coloured: bool) -> None:
    as_painted(lambda: result(text, hint, coloured=coloured), room, most)


@given(texts, rooms, st.integers(1, 40))
def test_raw_json(text: str, room: int, most: int) -> None:
    as_painted(lambda: content.raw(blocks.text(text)), room, most)


@given(texts, st.integers(0, 60), rooms, st.integers(1, 40))
def test_the_lines_around_a_hit(text: str, at: int, room: int, most: int) -> None:
    as_painted(lambda: content.excerpt(text, min(at, len(text))), room, most)


@given(texts, rooms, st.integers(1, 12), st.integers(1, 4))
def test_under_what_is_told_of_a_block(text: str, room: int, most: int, lead: int) -> None:
    head = [[Span("x" * min(room, 20))]] * lead
    as_painted(lambda: content.prepend(list(head), said("user", text)), room, most)


def test_where_highlighting_ends_a_line_is_broken() -> None:
    room, long = 33, "x = 1 # " + "é" * (code_text.HIGHLIGHT_CHARS - 40 - 8) + "登录 tail " * 20 + "\n" + "more\n"
    one, other = (result(long, "src/a.py", coloured=True).body(room) for _ in range(2))
    other.line(1_000_000)
    assert one.height(1_000_000) == other.height(1_000_000)


def test_a_height_is_known_before_a_line_is_styled(monkeypatch: pytest.MonkeyPatch) -> None:
    def styled(*_: object) -> None:
        raise AssertionError("a line was styled")

    text = "words " * 500
    body = said("user", text).body(40)
    monkeypatch.setattr(safe_text, "spans", styled)
    assert body.height(1_000) == 84
