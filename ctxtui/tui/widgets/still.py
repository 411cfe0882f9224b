"""Widgets that never scroll by themselves: another size is one layout and one frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual._styles_cache import StylesCache
from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Size
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widget import Widget

from ctxtui.tui.theme.theme import look_of


class _Lines(StylesCache):
    """The lines of a widget that has neither border nor padding nor tint: what it draws, and no more. Going through
    all that they could have takes Textual as long as drawing them."""

    def render_line(
        self,
        styles: Any,
        y: int,
        size: Size,
        content_size: Size,
        padding: Any,
        base_background: Any,
        background: Any,
        render_content_line: Callable[[int], Strip],
        *more: Any,
    ) -> Strip:
        """Line `y`, `size.width` cells."""
        return render_content_line(y).adjust_cell_length(size.width)


class Still(Widget):
    """A widget whose content is as large as itself.

    Textual lays the screen out again, and paints it again, whenever the size of a widget's content changes, which
    here is at every change of its own size.
    """

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._styles_cache = _Lines()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's filters, less the one that looks for colours which our exact palettes do not have."""
        filters = super().get_line_filters()
        if look_of(self.app).palette.exact:
            return [one for one in filters if not isinstance(one, ANSIToTruecolor)]
        return filters
