from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import get_character_cell_size

from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, cropped, merged, padded, plain, width

wide = st.text(st.sampled_from("ab→●登録ｶé\u0301 🙂◆…"), max_size=40)


def test_every_character_is_measured_as_the_terminal_library_does() -> None:
    # In steps that meet every range's neighbourhood cheaply: all of the first planes, every 7th beyond.
    codes = [*range(0x20, 0x20000), *range(0x20000, 0x110000, 7)]
    differ = [code for code in codes if cells.width(chr(code)) != get_character_cell_size(chr(code))]
    assert differ == []


@given(wide, st.integers(0, 30))
def test_cut_fills_its_room_exactly(text: str, room: int) -> None:
    cut = cells.cut(text, room)
    assert cells.width(cut) == min(room, cells.width(text)) or cells.width(text) == 0


@given(wide, st.integers(0, 30))
def test_fit_never_outgrows_and_changes_nothing_that_fits(text: str, room: int) -> None:
    fitted = cells.fit(text, room)
    assert cells.width(fitted) <= room
    if room and cells.width(text) <= room:
        assert fitted == text
    elif room:
        assert fitted.endswith("…") and cells.width(fitted) == room


@given(wide, st.integers(0, 30))
def test_columns_are_exact(text: str, room: int) -> None:
    assert cells.width(cells.left(text, room)) == room
    assert cells.width(cells.right(text, room)) == room


def test_a_lost_half_cell_is_a_space() -> None:
    assert cells.cut("登録", 3) == "登 "
    assert cells.fit("登録録", 4) == "登 …"


def test_fit_of_a_huge_text_reads_its_head_only() -> None:
    class Counted(str):
        __slots__ = ()

        def isascii(self) -> bool:
            raise AssertionError("the whole text was scanned")

    assert cells.fit(Counted("é" * 10_000_000), 10) == "é" * 9 + "…"


@given(st.lists(st.tuples(wide, st.sampled_from(["ink", "dim"]))), st.integers(0, 40))
def test_spans_are_cropped_and_padded_by_cells(raw: list[tuple[str, str]], room: int) -> None:
    spans = [Span(*pair) for pair in raw]
    assert width(cropped(spans, room)) == min(room, width(spans))
    assert width(padded(spans, room)) == width(padded(spans, room, "right")) == room
    assert plain(merged(spans)) == plain(spans)
    assert all(a.style != b.style for a, b in zip(merged(spans), merged(spans)[1:], strict=False))
