"""Panes at any size: inside the screen, side by side, never one over the other."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from ctxtui.views.inspector.layout import PaneNeeds, arrange

staged = st.none() | st.integers(0, 14)
wants = st.builds(PaneNeeds, st.integers(1, 14), st.integers(0, 30), st.integers(0, 20), staged)


@given(st.integers(1, 320), st.integers(1, 120), wants)
@example(80, 24, PaneNeeds())
@example(120, 40, PaneNeeds(10))
@example(200, 60, PaneNeeds(8, 4, 3))
@example(60, 16, PaneNeeds(8, staged=12))
def test_boxes_are_on_the_screen_and_apart(width: int, height: int, wanted: PaneNeeds) -> None:
    boxes = dict(arrange(width, height, wanted).boxes)
    if boxes.get("prompt") == boxes.get("keys"):
        boxes.pop("prompt", None)
    taken: dict[tuple[int, int], str] = {}
    for name, box in boxes.items():
        assert box.width > 0 and box.height > 0, name
        assert box.x >= 0 and box.x + box.width <= width, name
        assert box.y >= 0 and box.y + box.height <= height, name
        for y in range(box.y, box.y + box.height):
            for x in (box.x, box.x + box.width // 2, box.x + box.width - 1):
                assert taken.setdefault((x, y), name) == name, f"{name} over {taken[x, y]} at {x},{y}"


@given(st.integers(60, 320), st.integers(16, 120), wants)
def test_what_is_never_folded_is_there(width: int, height: int, wanted: PaneNeeds) -> None:
    layout = arrange(width, height, wanted)
    assert {"header", "transcript", "context", "map", "this-call", "calls", "prompt", "keys"} <= set(layout.boxes)
    assert layout.boxes["this-call"].height >= 3
    assert ("staged" in layout.boxes) == (wanted.staged is not None)
    assert layout.boxes["transcript"].height >= 5


def test_three_screen_sizes() -> None:
    small, medium, wide = (arrange(*size, PaneNeeds(7, 4, 3)) for size in ((80, 24), (120, 40), (200, 60)))
    assert (small.boxes["context"].width - 1, medium.boxes["context"].width - 1) == (30, 46)
    assert wide.boxes["context"].width - 1 == 88
    assert [layout.map_rows for layout in (small, medium, wide)] == [3, 4, 8]
    assert [layout.strip_rows for layout in (small, medium, wide)] == [1, 4, 8]
    assert [layout.marks for layout in (small, medium, wide)] == [False, True, True]
    assert [layout.map_scale for layout in (small, medium, wide)] == [False, True, True]
    assert "heaviest" not in small.boxes and "heaviest" in medium.boxes
    assert {"threads", "growth", "tools"} <= set(wide.boxes)


def test_edits_fold_what_is_beside_them_last() -> None:
    """Categories, the next call and what edits cost are there at once; one line stays of edits that were sent."""
    for size, heaviest in (((80, 24), False), ((120, 40), False), ((200, 60), True)):
        boxes = arrange(*size, PaneNeeds(8, 2, 1, staged=8)).boxes
        assert boxes["context"].height >= 5 and boxes["staged"].height >= 6 and boxes["this-call"].height >= 4
        assert ("heaviest" in boxes) == heaviest
        assert arrange(*size, PaneNeeds(8, staged=0)).boxes["staged"].height == 1


def test_tiny_screens() -> None:
    assert set(arrange(59, 30, PaneNeeds()).boxes) == {"header", "transcript", "prompt", "keys"}
    assert set(arrange(100, 15, PaneNeeds()).boxes) == {"header", "transcript", "prompt", "keys"}
    assert set(arrange(29, 30, PaneNeeds()).boxes) == {"sentence"}
    assert set(arrange(100, 5, PaneNeeds()).boxes) == {"sentence"}
