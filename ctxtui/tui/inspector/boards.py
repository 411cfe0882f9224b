"""The Inspector's plain boards: header, context, this call, tools, growth, and what stands between them."""

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
        self.what: Header | None = None

    def show(self, what: Header) -> None:
        """Another header."""
        if what != self.what:
            self.what = what
            self.refresh()

    def wait(self, left: int) -> None:
        """A held request leaves by itself in `left` seconds."""
        if self.what is not None:
            self.show(replace(self.what, waits=left))

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        room = self.size.width
        return paint.strip(
            header.draw_header(self.what, room) if self.what else (), room, look_of(self.app), "on-panel"
        )


class WhyLine(Board):
    """Why the context is so big, in one line; Enter or a click goes to what it names."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", "go there", show=False)]
    DEFAULT_CSS = "WhyLine { height: 1; }"
    can_focus = True

    class Chosen(Message):
        """Go to what the line names."""

    def __init__(self) -> None:
        super().__init__(id="why")
        self.what: WhySoBig | None = None
        self._said: tuple[object, Spans] = None, ()
        """The sentence as it was drawn, and of what: with each edit only the cut behind it is another one."""

    def show(self, what: WhySoBig) -> None:
        """Another sentence."""
        if what != self.what:
            self.what = what
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """The line, with the cursor's mark while it has the focus."""
        spans: Spans = ()
        if self.what is not None:
            of = self.what.what, self.what.groups, width
            if self._said[0] != of:
                self._said = of, why_so_big.sentence(self.what, width)
            spans = why_so_big.with_cut(self.what, self._said[1], width)
        return [[Span("▸", "accent"), *spans[1:]] if self.has_focus and spans else spans]

    def action_choose(self) -> None:
        """Tell the screen."""
        self.post_message(self.Chosen())

    def on_click(self, event: events.Click) -> None:
        """As Enter."""
        event.stop()
        self.action_choose()

    def on_focus(self, event: events.Focus | events.Blur) -> None:
        """The mark comes, or goes."""
        self.redraw()

    on_blur = on_focus


class Edge(Still):
    """The hairline over the prompt."""

    ALLOW_SELECT = False

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        return paint.strip([Span("─" * self.size.width, "hair")], self.size.width, look_of(self.app))


class Sentence(Still):
    """What a screen says that is too small for anything else."""

    ALLOW_SELECT = False

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        text = "ctxtui needs 30 x 6 cells" if y == 0 else ""
        return paint.strip([Span(cells.fit(text, self.size.width))], self.size.width, look_of(self.app))


class ViewBoard(Board, Generic[T]):
    """A board that draws one view-model: `lines` (of model, width, height) its body, `noted` (of model, width) what
    stands at the right of its rule."""

    def __init__(
        self,
        title: str,
        join: str,
        lines: Callable[[T, int, int], Sequence[Spans]],
        noted: Callable[[T, int], Spans],
    ) -> None:
        super().__init__(title=title, join=join, id=title.replace(" ", "-"))
        self.what: T | None = None
        self._draw_lines = lines
        self._noted = noted

    def show(self, what: T) -> None:
        """Another model."""
        if what != self.what:
            self.what = what
            self.redraw()

    def redraw_changed(self) -> None:
        """Paint anew the lines that say something else by now, because time passed: most often none or one."""
        self.refresh_rule()
        lines = range(self.body_top, self.size.height)
        before = [self.render_line(y) for y in lines]
        self.forget()
        for y, line in zip(lines, before, strict=True):
            if line != self.render_line(y):
                self.refresh(Region(0, y, self.size.width, 1))

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """The body."""
        return self._draw_lines(self.what, width, height) if self.what is not None else ()

    def notes(self) -> Spans:
        """What stands in the rule."""
        return self._noted(self.what, self.body_width) if self.what is not None else ()


class ContextBoard(ViewBoard["composition.Composition"], can_focus=True):
    """What the context is made of; a click on a category filters by it, Enter or a click on the residual opens it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open_residual", "what the residual is", show=False)]

    class Opened(Message):
        """The residual was opened or folded: the pane wants more lines, or fewer."""

    class Picked(Message):
        """A category was clicked."""

        def __init__(self, category: int) -> None:
            super().__init__()
            self.category = category

    def __init__(self) -> None:
        super().__init__(
            "context",
            "┬",
            lambda *given: composition.lines(*given, opened=self.opened),
            lambda *given: composition.notes(*given),
        )
        self.opened = False

    def action_open_residual(self) -> None:
        """Open the residual, or fold it again."""
        if self.what is not None and self.what.says:
            self.opened = not self.opened
            self.redraw()
            self.post_message(self.Opened())

    def body_line(self, y: int, look: Look) -> Strip:
        """A line; that of the residual, which Enter opens, is lit while the pane has the focus."""
        what, size = self.what, (self.body_width, self.body_height)
        if self.has_focus and what is not None and composition.is_residual(what, *size, y, opened=self.opened):
            return self.strip_of(self.draw(*size)[y], look, "on-cur")
        return super().body_line(y, look)

    def on_click(self, event: events.Click) -> None:
        """Filter by the category under the mouse, or open the residual."""
        if self.what is None:
            return
        room, height, line = self.body_width, self.body_height, event.y - self.body_top
        part = composition.part_at(self.what, room, height, line, opened=self.opened)
        if part is not None and part.sign.key:
            self.post_message(self.Picked(part.category))
        elif composition.is_residual(self.what, room, height, line, opened=self.opened):
            self.action_open_residual()


def call_board() -> ViewBoard[this_call.ThisCall]:
    """How the call shown was charged."""
    return ViewBoard("this call", "├", lambda *given: this_call.lines(*given), lambda *given: this_call.notes(*given))


def staged_board() -> ViewBoard[staged_pane.StagedPane]:
    """What staged edits free, break and cost."""
    return ViewBoard("staged", "├", lambda *given: staged_pane.lines(*given), lambda *given: staged_pane.notes(*given))


def next_board() -> ViewBoard[NextCallForecast]:
    """What the next call will read, write and cost."""
    return ViewBoard(
        "next call",
        "├",
        lambda what, width, height: next_call.lines(what, time.time(), width, height),
        lambda *given: next_call.notes(*given),
    )


def tools_board() -> ViewBoard[toolset.Toolset]:
    """The tools of the context, by server."""
    return ViewBoard(
        "tools",
        "├",
        lambda what, width, height: list(toolset.lines(what, width))[:height],
        lambda what, _: toolset.notes(what),
    )


def growth_board() -> ViewBoard[growth_chart.GrowthChart]:
    """The growth of the context."""
    return ViewBoard("growth", "├", lambda *given: growth_chart.lines(*given), lambda what, _: growth_chart.notes(what))
