"""Home's layout by the size of the screen (look book, layout)."""

from __future__ import annotations

from typing import Final, NamedTuple

LOW: Final = 30
"""Lines under which the preview is as low as it can be."""
TALL: Final = 50
LEAST: Final = 16
"""Lines under which there is no preview."""
NARROW: Final = 100
WIDE: Final = 160


class PreviewSize(NamedTuple):
    """`height` of the preview with its rule in lines, 0 for none; cells of its left pane."""

    height: int
    composition: int


def preview(width: int, height: int) -> PreviewSize:
    """The preview on a screen of `width` x `height`."""
    lines = 0 if height < LEAST or width < 60 else 7 if height < LOW else 11 if height < TALL else 16
    return PreviewSize(lines, 30 if width < NARROW else 45 if width < WIDE else width * 44 // 100)
