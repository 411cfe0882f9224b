"""Widgets that never scroll by themselves: another size is one layout and one frame."""

from __future__ import annotations

from textual.geometry import Size
from textual.reactive import Reactive
from textual.widget import Widget


class Still(Widget):
    """A widget whose content is as large as itself.

    Textual lays the screen out again, and paints it again, whenever the size of a widget's content changes, which
    here is at every change of its own size.
    """

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)
