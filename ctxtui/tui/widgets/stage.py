"""The stage: a layout whose boxes are worked out by a function of the screen's size."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.layouts.vertical import VerticalLayout
from textual.widget import Widget

from ctxtui.views.inspector.layout import Box

_OVER = frozenset({"textual-tooltip"})


class Stage(Layout):
    """Puts each child where `boxes` says, by the child's id; a child without a box is not shown."""

    name = "stage"

    def __init__(self, boxes: Callable[[int, int], Mapping[str, Box]]) -> None:
        self._boxes = boxes

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        """Textual's own."""
        parent.pre_layout(self)
        if all(child.id not in _OVER for child in children):
            boxes = self._boxes(size.width, size.height)
        else:
            # Textual's tooltip is in a layer of its own and is as large as what it says.
            return VerticalLayout().arrange(parent, children, size, greedy)
        return [
            WidgetPlacement(Region(*boxes[child.id]), NULL_OFFSET, Spacing(), child, order)
            for order, child in enumerate(children)
            if child.id is not None and child.id in boxes
        ]
