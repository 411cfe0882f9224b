"""Widgets that never scroll by themselves: a resize takes one layout and one frame."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Self

from textual import events
from textual.dom import DOMNode
from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Region, Size
from textual.layout import DockArrangeResult
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from ctxtui.tui.theme.theme import look_of


class Still(Widget):
    """A widget with content of its own size, which Textual need not lay out again."""

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Refresh, but repaint no widget without a size.

        Textual would lay out the whole screen for it.
        """
        if self.is_mounted and not self.size and not (layout or recompose):
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def on_show(self) -> None:
        """Repaint: the content may have changed while the widget was hidden."""
        self.refresh()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return Textual's filters, for an exact palette without the one for ANSI colours."""
        filters = super().get_line_filters()
        if look_of(self.app).palette.exact:
            return [filter_ for filter_ in filters if not isinstance(filter_, ANSIToTruecolor)]
        return filters


@cache
def handles_keys(kind: type[DOMNode]) -> bool:
    """Whether widgets of a type handle keys themselves, apart from bindings."""
    bases = [base for base in kind.__mro__ if base not in Widget.__mro__]
    names = [name for base in bases for name in vars(base)]
    has_handler = any(events.Key in vars(base).get("_decorated_handlers", ()) for base in bases)
    return has_handler or any(name in ("on_key", "_on_key") or name.startswith("key_") for name in names)


class StillScreen(Screen[None]):
    """A screen of still widgets."""

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        if not self.stack_updates:
            self.call_later(self.begin)

    def arrange(self, size: Size, _optimal: bool = False) -> DockArrangeResult:
        """The same as Textual's, without its cache by size: here the layout depends on more."""
        self._clear_arrangement_cache()
        return super().arrange(size, _optimal)

    def begin(self) -> None:
        """Hook: the screen has its size and its focus."""
