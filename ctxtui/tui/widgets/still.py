"""Widgets that never scroll by themselves: another size is one layout and one frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual._styles_cache import StylesCache
from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Size
from textual.reactive import Reactive
from textual.screen import Screen
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


class StillScreen(Screen[None]):
    """A screen of still widgets: what a key changes is one frame, however many of them it changes.

    Textual hears of each widget that wants to be painted in a message of its own, and begins to paint with the first
    few: the last had a frame to themselves, 16 ms later.
    """

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)

    def _gather(self) -> None:
        """Let every widget that wants to be painted by now be in the next frame."""
        self._dirty_widgets.update(one for one in self.children if one._repaint_regions and one.display)

    def _on_timer_update(self) -> None:
        self._gather()
        super()._on_timer_update()

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        self._gather()
        super()._refresh_layout(size, scroll)
        if self.is_current and not self.app._batch_count:
            # Widgets of another size want to be painted, which the layout's frame has just done.
            for one in self.children:
                one._repaint_regions.clear()
