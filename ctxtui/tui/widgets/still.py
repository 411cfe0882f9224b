"""Widgets that never scroll by themselves: another size is one layout and one frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Self

from textual import events
from textual._styles_cache import StylesCache
from textual.binding import BindingsMap
from textual.dom import DOMNode
from textual.errors import NoWidget
from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import NULL_SIZE, Region, Size
from textual.reactive import Reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.frame_timer import PERIOD, FrameTimer
from ctxtui.tui.widgets.side_by_side import SideBySide


class _Lines(StylesCache):
    """The lines of a widget that has neither border nor padding nor tint: what it draws, and no more. Going through
    all that they could have takes Textual as long as drawing them, and it asks all widgets of a frame for all lines."""

    def render_widget(self, widget: Widget, crop: Region) -> list[Strip]:
        """The lines of `crop`, each as wide as that; what was drawn before is not drawn again."""
        width, filters = widget.size.width, widget.get_line_filters()
        if width != self._width:
            self.clear()
            self._width = width
        known, dirty = self._cache, self._dirty_lines
        wanted = [y for y in crop.line_range if y in dirty or y not in known]
        if wanted:
            assert isinstance(widget, Still)
            drawn = widget.render_some(wanted)
            known.update((y, strip.adjust_cell_length(width)) for y, strip in zip(wanted, drawn, strict=True))
            dirty.difference_update(wanted)
        strips = [known[y] for y in crop.line_range]
        for one in filters:
            ground = widget.background_colors[1]
            strips = [strip.apply_filter(one, ground) for strip in strips]
        if crop.column_span != (0, width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips


class _Ground(StylesCache):
    """The lines of a screen behind its widgets: blank, one like the other, since it has no border. Every frame asks for
    all of them, and goes for each through all styles that it could have; here one is made, which stays what it is until
    the screen has another size or another look."""

    def __init__(self) -> None:
        super().__init__()
        self._made: tuple[object, list[Strip]] = None, []

    def clear(self) -> None:
        """What was drawn does not hold any more."""
        super().clear()
        self._made = None, []

    def render_widget(self, widget: Widget, crop: Region) -> list[Strip]:
        """The lines of `crop`, as they were made before where nothing else is asked for."""
        wanted = crop, widget.size, widget.background_colors, look_of(widget.app), widget.opacity
        if self._made[0] != wanted or self._dirty_lines:
            line = super().render_widget(widget, Region(*crop.offset, crop.width, min(1, crop.height)))
            self._made = wanted, line * crop.height
            self._dirty_lines.clear()
        return self._made[1]


class Still(Widget):
    """A widget whose content is as large as itself.

    Textual lays the screen out again, and paints it again, whenever the size of a widget's content changes, which
    here is at every change of its own size.
    """

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._styles_cache = _Lines()

    @property
    def size(self) -> Size:
        """As Textual has it, which looks for the screen and for borders at each of the many times that it is asked."""
        screen = self._parent
        if not isinstance(screen, Screen):
            return super().size
        try:
            return screen.find_widget(self).region.size
        except NoWidget:
            return NULL_SIZE

    def render_some(self, lines: Sequence[int]) -> list[Strip]:
        """What Textual's Line API asks for line by line, of a frame's lines together."""
        return [*map(self.render_line, lines)]

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """As Textual has it; while its screen gathers what a command changes, it tells nobody yet."""
        screen = self._parent
        gathers = isinstance(screen, StillScreen) and screen.gathers and self._is_mounted
        if not gathers or layout or recompose or not repaint:
            return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)
        self._set_dirty(*regions)
        return self

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
    """A screen of still widgets: what a key changes is one frame, however many of them it changes.

    Textual hears of each widget that wants to be painted in a message of its own, and begins to paint with the first
    few: the last had a frame to themselves, 16 ms later.
    """

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)
    _frames: FrameTimer | None = None
    _whole = False
    """Whether all panes were shown anew since a key came."""
    gathers = False
    """Whether a command is being done: what it changes is painted, or told, behind it."""

    def __init__(self) -> None:
        super().__init__()
        self._styles_cache, self._compositor = _Ground(), SideBySide()

    @property
    def _binding_chain(self) -> list[tuple[DOMNode, BindingsMap]]:
        """As Textual has it, which copies all bindings for each key and asks of each whether the focused widget takes
        it as text."""
        way = (self.focused or self).ancestors_with_self
        types = any(type(one).check_consume_key is not DOMNode.check_consume_key for one in way)
        if types or self.app._keymap or (self.focused is not None and self.focused.loading):
            return super()._binding_chain
        return [(one, one._bindings) for one in way]

    @property
    def _update_timer(self) -> FrameTimer:
        if self._frames is None:
            self._frames = FrameTimer(self, PERIOD, name="frames", callback=self._on_timer_update, pause=True)
            self._frames._start()
            self._timers.add(self._frames)
        return self._frames

    def hurry(self) -> None:
        """What a key changes is painted at once."""
        self._whole = False
        self._update_timer.hurry()

    def shown_whole(self) -> None:
        """All panes were shown anew: no message to another pane is to come of the key."""
        self._whole = True

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """What is done within may change many panes: each of them would tell by two messages that it is to be painted,
        which then is done already."""
        self.gathers = True
        try:
            yield
        finally:
            self.gathers = False
            self._paint_whole()
            for one in self.children:
                if one._repaint_regions:
                    one._repaint_required = True
                    one.check_idle()

    def finish(self) -> None:
        """The key is done. Where all panes were shown anew they are painted now, before each of them has told that it
        wants to be; where one is to stand elsewhere, once that is laid out."""
        self._paint_whole()
        self.hurry()

    def _paint_whole(self) -> None:
        if self._whole and not self._layout_required and not any(one._layout_required for one in self.children):
            self._on_timer_update()

    def _gather(self) -> None:
        """Let every widget that wants to be painted by now be in the next frame, and none that has no place: for such a
        one Textual lays out the whole screen."""
        there = self._compositor.visible_widgets
        self._dirty_widgets.update(one for one in there if one._repaint_regions and one is not self)
        self._dirty_widgets.difference_update(one for one in self.children if one not in there)

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """On the stack for the first time: all widgets got their styles as they were mounted, a moment ago."""
        if not self.stack_updates:
            event.refresh_styles = False
            self.call_later(self.begin)

    def begin(self) -> None:
        """What the screen begins with, once it has its size and its focus."""

    def _screen_resized(self, size: Size) -> None:
        # While it starts, Textual tells of the terminal's size several times. What changes the places asks for a layout
        # by itself.
        if size != self._size or not self.app._batch_count:
            super()._screen_resized(size)

    def _compositor_refresh(self) -> None:
        # Textual renders a frame that it throws away where nothing is to be painted.
        if not self.app._batch_count:
            super()._compositor_refresh()

    def _on_timer_update(self) -> None:
        self._gather()
        super()._on_timer_update()

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        self._gather()
        # Textual keeps the places of each size; here they depend on more, and what they are is told to the panes.
        self._clear_arrangement_cache()
        before = [(one, one.size) for one in self.children]
        super()._refresh_layout(size, scroll)
        if self.is_current and not self.app._batch_count:
            # Widgets of another size want to be painted, which the layout's frame has just done.
            for one, was in before:
                if one.size != was:
                    one._repaint_regions.clear()
