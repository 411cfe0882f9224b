"""The next request as text, whole, and what differs from the one sent before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, NamedTuple

from ctxtui.services.external_editor import NoPager, show_in_pager
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import PageScreen
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.blocks import request_text
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans

CLIPBOARD: Final = 74_000
"""Bytes that common terminals take into the clipboard at once."""


class Requests(NamedTuple):
    """The request that would leave (`body`), and the one that was sent last ("" where none was)."""

    body: bytes
    sent: bytes = b""
    lacking: str = ""
    """What it lacks because it is not recorded."""


class Texts(NamedTuple):
    """The request's lines, and those that differ from the last one sent."""

    body: bytes
    lacking: str
    whole: Sequence[Spans]
    differs: Sequence[Spans]


class OtherPart(Command):
    """The whole request, or only what differs from the last one that was sent."""

    name, keys, label, short, group = "whole request or difference", ("tab",), "difference", "diff", "request"
    run = Act(lambda: RequestScreen, lambda screen: screen.turn())


class PageRequest(Command):
    """Read the request in $PAGER, byte for byte."""

    name, keys, label, group = "request in pager", ("o",), "pager", "request"
    run = Act(lambda: RequestScreen, lambda screen: screen.page())


class CopyRequest(Command):
    """Copy the request to the clipboard (OSC 52), as it would leave."""

    name, keys, label, group = "copy request", ("y",), "copy", "request"
    run = Act(lambda: RequestScreen, lambda screen: screen.copy())


class RequestPane(Pane):
    """Lines of text, the long ones wrapped."""

    def __init__(self) -> None:
        super().__init__(title="next request", id="request")
        self.lines: Sequence[Spans] | None = None
        self.told: Spans = [Span("being made", "dim")]
        self._rows: list[Spans] = []
        self._made: tuple[int, int] | None = None

    def show(self, lines: Sequence[Spans], told: Spans) -> None:
        """Show these, from their beginning."""
        self.lines, self.told = lines, told
        self.reload(cursor=0)

    @property
    def row_count(self) -> int:
        """Lines of the screen that they take."""
        return len(self._rows)

    def measure(self) -> None:
        """Another width, or other lines, give other rows."""
        lines = self.lines or ()
        if self._made != (id(self.lines), self.body_width):
            self._made = id(self.lines), self.body_width
            self._rows = [row for line in lines for row in request_text.wrap(line, max(8, self.body_width - 1))]
        super().measure()

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A line."""
        return self._rows[index]

    def after(self) -> Spans:
        """What is shown."""
        return self.told


class RequestScreen(PageScreen[Texts, None]):
    """Shows the requests that `make` gives, in a worker thread; `pager` is the user's setting."""

    commands: ClassVar[tuple[type[Command], ...]] = (OtherPart, PageRequest, CopyRequest)

    def __init__(self, make: Callable[[], Requests], pager: str) -> None:
        self._pane = RequestPane()
        super().__init__(self._pane)
        self._make, self._pager = make, pager
        self._what: Texts | None = None
        self._whole = True

    def load(self) -> Texts:
        """The lines of both."""
        body, sent, lacking = self._make()
        whole = request_text.lines(body)
        return Texts(body, lacking, whole, request_text.diff_lines(request_text.lines(sent), whole) if sent else ())

    def show(self, what: Texts) -> None:
        """They are there."""
        self._what = what
        self._draw()

    def fail(self, trouble: str) -> None:
        """It cannot be made."""
        self._pane.show([[Span(f"✗ {safe_text.one_line(trouble, 300)}", "crit")]], ())

    def turn(self) -> None:
        """The whole, or what differs."""
        self._whole = not self._whole
        self._draw()

    def _draw(self) -> None:
        what = self._what
        if what is None:
            return
        if self._whole:
            self._pane.show(what.whole, [Span(f"whole, {len(what.body):,} bytes", "dim"), Span(what.lacking, "warn")])
            return
        none: Sequence[Spans] = [[Span("Nothing differs from the last request that was sent.", "dim")]]
        self._pane.show(what.differs or none, [Span("what differs from the last one sent", "dim")])

    def page(self) -> None:
        """Its bytes in the pager."""
        if self._what is None:
            return
        try:
            with self.app.suspend():
                show_in_pager(safe_text.lines(self._what.body.decode("utf-8", "replace")), self._pager)
        except NoPager as error:
            self.said.say([Span(safe_text.one_line(str(error), 200), "crit")])
        finally:
            self.app.refresh()

    def copy(self) -> None:
        """Its bytes into the clipboard."""
        if self._what is None:
            return
        size = len(self._what.body)
        if size > CLIPBOARD:
            self.said.say([Span(f"{size:,} bytes are too many for a clipboard; o opens the pager", "warn")])
            return
        self.app.copy_to_clipboard(self._what.body.decode("utf-8", "replace"))
        self.said.say([Span(f"copied, {size:,} bytes", "dim")])
