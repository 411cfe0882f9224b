"""A frame is said in fewer bytes, and is the same frame: told by a small terminal."""

from __future__ import annotations

import io
import re

from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.style import Style
from textual._ansi_sequences import SYNC_END, SYNC_START

from ctxtui.tui.frame_bytes import shortened
from ctxtui.tui.terminal import TerminalDriver, TerminalOutput

_ESCAPE = re.compile(r"\x1b\[([0-9;]*)([mH])")
_COLOURS = st.sampled_from([None, "#0e1117", "#dce1ea", "red", "bright_blue", "color(240)", "default"])
_STYLES = st.builds(
    Style, color=_COLOURS, bgcolor=_COLOURS, bold=st.booleans(), dim=st.booleans(), italic=st.booleans(),
    underline=st.booleans(), reverse=st.booleans(),
)  # fmt: skip
_SYSTEMS = st.sampled_from([ColorSystem.TRUECOLOR, ColorSystem.EIGHT_BIT, ColorSystem.STANDARD])
_PIECES = st.one_of(
    st.tuples(st.text("ab ─0;m[", max_size=4), st.one_of(st.none(), _STYLES)),
    st.tuples(st.integers(1, 4), st.integers(1, 9)),
)


def cells(sent: str) -> dict[tuple[int, int], tuple[str, str, str, frozenset[str]]]:
    """What stands where on a terminal that was sent this, and in which style."""
    found = {}
    row, column, at = 1, 1, 0
    style = "", "", frozenset[str]()
    while at < len(sent):
        escape = _ESCAPE.match(sent, at)
        if escape is None:
            if sent[at] == "\n":
                row, column = row + 1, 1
            elif sent[at] != "\r":
                found[row, column] = (sent[at], *style)
                column += 1
            at += 1
            continue
        at, numbers = escape.end(), escape[1].split(";")
        if escape[2] == "H":
            row, column = int(numbers[0]), int(numbers[1])
            continue
        while numbers:
            one = numbers.pop(0)
            foreground, background, others = style
            if one in ("", "0"):
                foreground, background, others = "", "", frozenset()
            elif one in ("38", "48"):
                size = 4 if numbers[0] == "2" else 2
                colour, numbers = ";".join(numbers[:size]), numbers[size:]
                foreground, background = (colour, background) if one == "38" else (foreground, colour)
            elif 30 <= int(one) < 40 or 90 <= int(one) < 100:
                foreground = one
            elif 40 <= int(one) < 50 or 100 <= int(one) < 110:
                background = one
            else:
                others |= {one}
            style = foreground, background, others
    found[0, 0] = ("end", *style)
    return found


@given(st.lists(_PIECES, max_size=30), _SYSTEMS)
def test_the_same_cells_in_the_same_styles(pieces: list[tuple[object, object]], system: ColorSystem) -> None:
    sent = ""
    for one, style in pieces:
        if isinstance(one, int):
            sent += f"\n\x1b[{one};{style}H"
        elif isinstance(style, Style):
            sent += style.render(str(one), color_system=system)
        else:
            sent += str(one)
    short = shortened(sent)
    assert cells(short) == cells(sent)
    assert len(short) <= len(sent)


def test_a_style_is_said_where_it_changes() -> None:
    one, two = "38;2;1;2;3;48;2;4;5;6", "38;2;7;8;9;48;2;4;5;6"
    sent = f"\x1b[2;1H\x1b[{one}mone\x1b[0m\x1b[{two}mtwo\x1b[0m\x1b[3;1H\x1b[{two}mthree\x1b[0m"
    assert shortened(sent) == f"\x1b[2;1H\x1b[{one}mone\x1b[38;2;7;8;9mtwo\x1b[3;1Hthree\x1b[0m"


def test_styles_on_top_of_each_other_stay_as_they_are() -> None:
    sent = "\x1b[1mone\x1b[3mtwo\x1b[0m"
    assert shortened(sent) == sent


class Written(list[str]):
    """What a terminal's thread was given."""

    write = list.append


def _driver() -> tuple[TerminalDriver, Written]:
    driver, written = TerminalDriver.__new__(TerminalDriver), Written()
    driver._writer_thread, driver._output = written, TerminalOutput(io.StringIO())  # type: ignore[assignment]
    return driver, written


def test_a_frame_is_written_at_once() -> None:
    driver, written = _driver()
    for piece in (SYNC_START, "\x1b[1ma\x1b[0m\x1b[1mb\x1b[0m", "c", SYNC_END, "d", "\x1b[1ma\x1b[0m\x1b[1mb\x1b[0m"):
        driver.write(piece)
    assert written == [f"{SYNC_START}\x1b[1mab\x1b[0mc{SYNC_END}", "d", "\x1b[1mab\x1b[0m"]


def test_a_frame_that_says_nothing_is_not_sent() -> None:
    driver, written = _driver()
    for frame in ("\x1b[1;1Ha\x1b[9;9H", "\x1b[9;9H", "\x1b[8;8H", "\x1b[8;8H", "\x1b[1;1Hb\x1b[8;8H"):
        for piece in (SYNC_START, frame, SYNC_END):
            driver.write(piece)
    said = ("\x1b[1;1Ha\x1b[9;9H", "\x1b[8;8H", "\x1b[1;1Hb\x1b[8;8H")
    assert written == [f"{SYNC_START}{one}{SYNC_END}" for one in said]
