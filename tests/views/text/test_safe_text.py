from __future__ import annotations

import time
import unicodedata
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.views.text import cells, safe_text

nasty = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x1b\x00\x07\x9b\u202e\u200d\ufe0f\ud83d\t\r\n \u0301\U000e0041ab登"),
    ),
    max_size=80,
)
SAFE_OTHERS = {"Co", "Cn"}  # private use and not yet assigned: drawn as one cell


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\x00\x07\x7fb", "a···b"),
        ("\x9b2J", "⟨U+009B⟩2J"),
        ("x\ud83dy", "x⟨U+D83D⟩y"),
        ("👩\u200d💻 ✂\ufe0f", "👩💻 ✂"),
        ("a\U000e0041b", "a⟨U+E0041⟩b"),
        ("a\u17b4b\u180fc\U0001bca0\U0001d173", "a⟨U+17B4⟩bc⟨U+1BCA0⟩⟨U+1D173⟩"),
        ("soft\u00adhyphen", "soft-hyphen"),
        ("\u0301a", " \u0301a"),
        ("a" + "\u0301" * 50, "a" + "\u0301" * 3),
        ("[bold]not markup[/]", "[bold]not markup[/]"),
        ("登录测试", "登录测试"),
    ],
)
def test_what_is_shown(raw: str, shown: str) -> None:
    assert safe_text.one_line(raw) == shown
    assert safe_text.line(raw) == shown


@given(nasty)
def test_nothing_unsafe_is_left(text: str) -> None:
    for shown in [safe_text.one_line(text), *safe_text.lines(text)]:
        for char in shown:
            kind = unicodedata.category(char)
            assert kind not in {"Cc", "Cs", "Zl", "Zp"}
            assert kind != "Cf" or ord(char) in range(0x600, 0x8E3) or ord(char) > 0x110B0
            assert unicodedata.bidirectional(char) not in set("LRE RLE LRO RLO PDF LRI RLI FSI PDI".split())
        assert not shown or cells.width(shown[0]) > 0


def test_one_line_joins_blanks_and_newlines() -> None:
    assert safe_text.one_line("\n\n  ## Summary\r\n\n\tThe  server\n") == "## Summary The server"
    assert safe_text.one_line(" \n\t ") == ""


def lines_about_tests() -> None:
    assert list(safe_text.lines("a\r\n\tb\n\nc\rd\n")) == ["a", "    b", "", "c·d"]
    assert list(safe_text.lines("登\tx")) == ["登  x"]
    assert list(safe_text.lines("")) == []
    assert list(safe_text.lines("a\nb\nc", start=2)) == ["b", "c"]


def test_a_line_without_end_comes_in_pieces() -> None:
    size = 2 * safe_text.MAX_LINE_CHARS + 5
    assert [len(piece) for piece in safe_text.lines("x" * size + "\ny")] == [safe_text.MAX_LINE_CHARS] * 2 + [5, 1]
    assert [len(p) for p in safe_text.lines("x" * safe_text.MAX_LINE_CHARS + "\ny")] == [safe_text.MAX_LINE_CHARS, 1]


def test_only_the_beginning_is_read() -> None:
    class Cut(str):
        """Fails when more than a few thousand characters are taken at once."""

        __slots__ = ()

        def __getitem__(self, key: object) -> str:
            got = super().__getitem__(key)  # type: ignore[index]
            assert len(got) <= safe_text.MAX_LINE_CHARS
            return got

    huge = Cut("\x1bé" * 5_000_000)
    started = time.process_time()
    assert safe_text.one_line(huge).startswith("␛é␛é")
    assert len(list(islice(safe_text.lines(huge), 3))) == 3
    assert time.process_time() - started < 0.5


@given(nasty, st.integers(2, 20))
def test_wrapped_pieces_fit_and_lose_only_the_spaces_they_break_at(text: str, room: int) -> None:
    for line in safe_text.lines(text):
        pieces = safe_text.wrap(line, room)
        assert all(cells.width(piece) <= room for piece in pieces)
        assert "".join(pieces).replace(" ", "") == line.replace(" ", "")


def test_wrap_breaks_at_spaces_where_it_can() -> None:
    assert safe_text.wrap("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert safe_text.wrap("abcdefghijkl", 5) == ["abcde", "fghij", "kl"]
    assert safe_text.wrap("        x = 1", 10) == ["        x", "= 1"]
    assert safe_text.wrap("", 10) == [""]
    assert safe_text.wrap("登録試", 1) == ["登", "録", "試"]


def test_what_stands_for_an_escape_has_its_own_style() -> None:
    got = safe_text.spans("a␛[31m⟨U+202E⟩b", "ink")
    assert [(s.text, s.style) for s in got] == [
        ("a", "ink"), ("␛", "warn"), ("[31m", "ink"), ("⟨U+202E⟩", "warn"), ("b", "ink")
    ]  # fmt: skip
