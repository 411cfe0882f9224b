"""A word diff as lines: numbered as in the new text, folded, wrapped, safe."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.content.word_diff import word_diff
from ctxtui.views.blocks.word_diff import STYLE, count_words, lines, render
from ctxtui.views.text.span import plain, width
from tests.cases.sessions import HOSTILE

LONG = "\n".join(f"line {n} of it" for n in range(1, 31))


def shown(before: str, after: str, room: int = 60, **how: bool) -> list[str]:
    return [plain(line).rstrip() for line in render(word_diff(before, after), room, **how)]


def test_only_lines_near_a_change_are_shown() -> None:
    got = shown(LONG, LONG.replace("line 8 of", "line eight of").replace("line 20 of it\n", ""))
    assert got[0] == "    ⋮  5 lines unchanged" and got[3] == "    8  line 8eight of it"
    assert any(line.strip() == "line 20 of it" for line in got), got
    assert got[-1] == "    ⋮  8 lines unchanged"
    assert len(shown(LONG, LONG + "\nmore", whole=True)) == 31


def test_changes_are_told_apart_by_more_than_colour() -> None:
    spans = [span for line in lines(word_diff("a cat sat", "a dog sat")) for span in line.spans]
    assert [(span.text, span.style) for span in spans if "bg" in span.style] == [
        ("cat", STYLE["removed"]),
        ("dog", STYLE["added"]),
    ]
    assert "strike" in STYLE["removed"] and "bold" in STYLE["added"]
    assert shown("a cat sat", "a dog sat", spelled=True) == ["    1  a [-cat-]{+dog+} sat"]
    assert count_words(word_diff("a cat sat", "a big dog sat")) == (1, 2)


texts = st.lists(st.sampled_from(["a ", "bb", "\n", "c d", HOSTILE, "\t", "漢字"]), max_size=12).map("".join)


@given(texts, texts, st.integers(30, 80))
def test_every_line_fits_and_nothing_unsafe_is_drawn(before: str, after: str, room: int) -> None:
    for line in render(word_diff(before, after), room):
        assert width(line) <= room
        assert not set(plain(line)) & {"\x1b", "\x07", "\x00", "\u202e", "\n", "\t"}


@given(texts, texts)
def test_numbers_rise_and_end_with_the_new_text(before: str, after: str) -> None:
    numbers = [line.number for line in lines(word_diff(before, after)) if line.number is not None]
    assert numbers == sorted(set(numbers))
    assert not numbers or numbers[-1] <= after.count("\n") + 1
