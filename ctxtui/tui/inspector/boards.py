"""Inspector widgets: boards that draw one view model each, and one-line widgets."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from msgspec.structs import replace
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from ctxtui.tui.lazy import later
from ctxtui.tui.theme import paint
from ctxtui.tui.theme.theme import Look, look_of
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.still import Still
from ctxtui.views.inspector import header
from ctxtui.views.inspector.header import Header
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.analysis.cache.keep_warm import KeepWarmStatus
    from ctxtui.analysis.cache.next_call import NextCallForecast
    from ctxtui.views.inspector import composition, growth_chart, next_call, this_call, toolset, why_so_big
    from ctxtui.views.inspector.why_so_big import WhySoBig
    from ctxtui.views.transcript import staged_pane
else:
    composition = later("ctxtui.views.inspector.composition")
    growth_chart = later("ctxtui.views.inspector.growth_chart")
    next_call = later("ctxtui.views.inspector.next_call")
    staged_pane = later("ctxtui.views.transcript.staged_pane")
    this_call = later("ctxtui.views.inspector.this_call")
    toolset = later("ctxtui.views.inspector.toolset")
    why_so_big = later("ctxtui.views.inspector.why_so_big")

T = TypeVar("T")


class HeaderLine(Still):
    """The first line of the screen."""

    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__(id="header")
        self.content: Header | None = None

    def show(self, content: Header) -> None:
        if content != self.content:
            self.content = content
            self.refresh()

    def show_countdown(self, left: int) -> None:
        """Show that a held request is released automatically in `left` seconds."""
        if self.content is not None:
            self.show(replace(self.content, auto_release_s=left))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        spans = header.draw_header(self.content, width) if self.content else ()
        return paint.strip(spans, width, look_of(self.app), "on-panel")


class WhyLine(Board):
    """The main reasons for the size of the context, in one line.

    Enter or a click goes to the first block of the proposed cut, else to the largest block.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", "go there", show=False)]
    DEFAULT_CSS = "WhyLine { height: 1; }"
    can_focus = True

    class Chosen(Message):
        """The line was chosen."""

    def __init__(self) -> None:
        super().__init__(id="why")
        self.content: WhySoBig | None = None
        self._sentence: tuple[object, Spans] = None, ()
        """Cached sentence with its key. The proposed cut after it is drawn anew: it depends on staged edits."""

    def show(self, content: WhySoBig) -> None:
        if content != self.content:
            self.content = content
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        spans: Spans = ()
        if self.content is not None:
            key = self.content.composition, self.content.groups, width
            if self._sentence[0] != key:
                self._sentence = key, why_so_big.sentence(self.content, width)
            spans = why_so_big.with_cut(self.content, self._sentence[1], width)
        return [[Span("▸", "accent"), *spans[1:]] if self.has_focus and spans else spans]

    def action_choose(self) -> None:
        self.post_message(self.Chosen())

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.action_choose()

    def on_focus(self, event: events.Focus | events.Blur) -> None:
        self.redraw()

    on_blur = on_focus


class Edge(Still):
    """The line above the prompt."""

    ALLOW_SELECT = False

    def render_line(self, y: int) -> Strip:
        return paint.strip([Span("─" * self.size.width, "hair")], self.size.width, look_of(self.app))


class TooSmallLine(Still):
    """The message on a screen that is too small for anything else."""

    ALLOW_SELECT = False

    def render_line(self, y: int) -> Strip:
        text = "ctxtui needs 30 x 6 cells" if y == 0 else ""
        return paint.strip([Span(cells.fit(text, self.size.width))], self.size.width, look_of(self.app))


class ViewBoard(Board, Generic[T]):
    """A board for one view model, drawn by functions for its body and its notes.

    These are passed as lambdas, because their modules are imported on first use.
    """

    def __init__(
        self,
        title: str,
        join: str,
        lines: Callable[[T, int, int], Sequence[Spans]],
        draw_notes: Callable[[T, int], Spans],
    ) -> None:
        super().__init__(title=title, join=join, id=title.replace(" ", "-"))
        self.content: T | None = None
        self._draw_lines = lines
        self._draw_notes = draw_notes

    def show(self, content: T) -> None:
        if content != self.content:
            self.content = content
            self.redraw()

    def redraw_changed(self) -> None:
        """Repaint only lines that changed with time, usually none or one."""
        self.refresh_rule()
        lines = range(self.body_top, self.size.height)
        before = [self.render_line(y) for y in lines]
        self.forget()
        for y, line in zip(lines, before, strict=True):
            if line != self.render_line(y):
                self.refresh(Region(0, y, self.size.width, 1))

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        return self._draw_lines(self.content, width, height) if self.content is not None else ()

    def notes(self) -> Spans:
        return self._draw_notes(self.content, self.body_width) if self.content is not None else ()


class ContextBoard(ViewBoard["composition.Composition"], can_focus=True):
    """Composition of the context.

    A click on a category filters the transcript. A click on the residual, or Enter, shows or hides its explanation.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open_residual", "what the residual is", show=False)]

    class Opened(Message):
        """The residual's explanation was shown or hidden: the pane needs more or fewer lines."""

    class Picked(Message):
        """A category was clicked."""

        def __init__(self, category: int) -> None:
            super().__init__()
            self.category = category

    def __init__(self) -> None:
        super().__init__(
            "context",
            "┬",
            lambda *args: composition.lines(*args, opened=self.opened),
            lambda *args: composition.notes(*args),
        )
        self.opened = False

    def action_open_residual(self) -> None:
        if self.content is not None and self.content.residual_cause:
            self.opened = not self.opened
            self.redraw()
            self.post_message(self.Opened())

    def body_line(self, y: int, look: Look) -> Strip:
        """Return a line; the residual is highlighted while the pane has the focus."""
        content, size = self.content, (self.body_width, self.body_height)
        if self.has_focus and content is not None and composition.is_residual(content, *size, y, opened=self.opened):
            return self.strip_of(self.draw(*size)[y], look, "on-cur")
        return super().body_line(y, look)

    def on_click(self, event: events.Click) -> None:
        if self.content is None:
            return
        width, height, line = self.body_width, self.body_height, event.y - self.body_top
        part = composition.part_at(self.content, width, height, line, opened=self.opened)
        if part is not None and part.sign.key:
            self.post_message(self.Picked(part.category))
        elif composition.is_residual(self.content, width, height, line, opened=self.opened):
            self.action_open_residual()


def call_board() -> ViewBoard[this_call.ThisCall]:
    """Make the board of the call shown: tokens, cost, timing."""
    return ViewBoard("this call", "├", lambda *args: this_call.lines(*args), lambda *args: this_call.notes(*args))


def staged_board() -> ViewBoard[staged_pane.StagedPane]:
    """Make the board of what staged edits free, break and cost."""
    return ViewBoard("staged", "├", lambda *args: staged_pane.lines(*args), lambda *args: staged_pane.notes(*args))


class NextBoard(ViewBoard["NextCallForecast"]):
    """Board of the next call: reads, writes, cost, and how its cache is kept warm."""

    content: NextCallForecast | None

    def __init__(self) -> None:
        super().__init__(
            "next call",
            "├",
            lambda content, width, height: next_call.lines(content, time.time(), width, height),
            lambda content, width: next_call.notes(content, width, self._keep_warm),
        )
        self._keep_warm: KeepWarmStatus | None = None

    def show_keep_warm(self, status: KeepWarmStatus | None) -> None:
        """Show how the attached program's cache is kept warm; None: it is not."""
        if status != self._keep_warm:
            self._keep_warm = status
            self.refresh_rule()


def tools_board() -> ViewBoard[toolset.Toolset]:
    return ViewBoard(
        "tools",
        "├",
        lambda content, width, height: list(toolset.lines(content, width))[:height],
        lambda content, _: toolset.notes(content),
    )


def growth_board() -> ViewBoard[growth_chart.GrowthChart]:
    return ViewBoard(
        "growth", "├", lambda *args: growth_chart.lines(*args), lambda content, _: growth_chart.notes(content)
    )
