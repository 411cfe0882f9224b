"""Widgets that never scroll by themselves: another size is one layout and one frame."""

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
    """A widget whose content is as large as itself.

    Textual lays the screen out again, and paints it again, whenever the size of a widget's content changes, which
    here is at every change of its own size.
    """

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """As Textual has it, which lays out the whole screen for a widget that has no place on it: such a one is
        painted when it has one."""
        if self.is_mounted and not self.size and not (layout or recompose):
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def on_show(self) -> None:
        """It has a place now: what it shows may be another thing than when it had one before."""
        self.refresh()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's filters, less the one that looks for colours which our exact palettes do not have."""
        filters = super().get_line_filters()
        if look_of(self.app).palette.exact:
            return [one for one in filters if not isinstance(one, ANSIToTruecolor)]
        return filters


@cache
def hears_keys(kind: type[DOMNode]) -> bool:
    """Whether widgets of a type do something with a key by themselves, besides what it is bound to."""
    own = [one for one in kind.__mro__ if one not in Widget.__mro__]
    names = [name for one in own for name in vars(one)]
    told = any(events.Key in vars(one).get("_decorated_handlers", ()) for one in own)
    return told or any(name in ("on_key", "_on_key") or name.startswith("key_") for name in names)


class StillScreen(Screen[None]):
    """A screen of still widgets."""

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """On the stack for the first time."""
        if not self.stack_updates:
            self.call_later(self.begin)

    def arrange(self, size: Size, _optimal: bool = False) -> DockArrangeResult:
        """As Textual has it, which keeps the places of each size; here they depend on more."""
        self._clear_arrangement_cache()
        return super().arrange(size, _optimal)

    def begin(self) -> None:
        """What the screen begins with, once it has its size and its focus."""
