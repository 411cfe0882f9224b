"""scripts/picture.py: shapes are exact, screens are drawn."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rich.segment import Segment
from rich.style import Style

Image = pytest.importorskip("PIL.Image")
sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
import picture  # noqa: E402

RED, BLUE, BLACK = (255, 0, 0), (0, 0, 255), (0, 0, 0)
STYLE = Style.parse("#ff0000 on #0000ff")


def drawn(text: str, tmp_path: Path, style: Style = STYLE) -> Image.Image:
    out = tmp_path / "out.png"
    picture.draw([[Segment(text, style)]], out, cell=(10, 20), ground=BLACK)
    return Image.open(out)


@pytest.mark.parametrize(
    ("char", "red"), [("█", 200), ("▀", 100), ("▄", 100), ("▌", 100), ("▂", 50), (" ", 0), ("▖", 50)]
)
def test_blocks_fill_their_share_of_the_cell(char: str, red: int, tmp_path: Path) -> None:
    counts = {colour: count for count, colour in drawn(char, tmp_path).getcolors()}
    assert counts.get(RED, 0) == red and counts.get(BLUE, 0) == 200 - red


def test_lines_meet_without_seams(tmp_path: Path) -> None:
    for char, points in (("━━", [(0, 10), (9, 10), (10, 10), (19, 10)]), ("┃", [(5, 0), (5, 19)])):
        image = drawn(char, tmp_path)
        assert all(image.getpixel(point) == RED for point in points)


def test_reverse_dim_and_default(tmp_path: Path) -> None:
    assert drawn(" ", tmp_path, Style.parse("#ff0000 on #0000ff reverse")).getpixel((3, 3)) == RED
    assert drawn("█", tmp_path, Style.parse("dim #ff0000 on #000000")).getpixel((3, 3)) == (128, 0, 0)
    assert drawn(" ", tmp_path, Style()).getpixel((3, 3)) == BLACK


def test_wide_letters_take_two_cells(tmp_path: Path) -> None:
    assert drawn("登a", tmp_path).size == (30, 20)
