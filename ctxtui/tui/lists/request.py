"""The next request as text, and its difference from that of the call shown."""

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

MAX_CLIPBOARD_BYTES: Final = 74_000
"""Bytes that common terminals accept for the clipboard."""


class Requests(NamedTuple):
    """The next request (`body`), and that of the call shown (None: it is not sent yet)."""

    body: bytes
    recorded: bytes | None
    missing: str = ""
    """Note about parts that are missing because they were not recorded."""


class Texts(NamedTuple):
    """The lines of the request, and those of the difference (None: there is no other request)."""

    body: bytes
    missing: str
    whole: Sequence[Spans]
    difference: Sequence[Spans] | None


class ToggleDifference(Command):
    """Show the whole request, or its difference from the request of the call shown."""

    name, keys, label, short_label, group = "whole request or difference", ("tab",), "difference", "diff", "request"
    run = Act(lambda: RequestScreen, lambda screen: screen.toggle_difference())


class PageRequest(Command):
    """Read the request in the pager. Terminal escapes are shown, not executed."""

    name, keys, label, group = "request in pager", ("o",), "pager", "request"
    run = Act(lambda: RequestScreen, lambda screen: screen.page())


class CopyRequest(Command):
    """Copy the request to the clipboard (OSC 52)."""

    name, keys, label, group = "copy request", ("y",), "copy", "request"
    run = Act(lambda: RequestScreen, lambda screen: screen.copy())


class RequestPane(Pane):
    """Lines of text; long ones are wrapped."""

    def __init__(self) -> None:
        super().__init__(title="next request", id="request")
        self.lines: Sequence[Spans] | None = None
        self.title_spans: Spans = [Span("loading …", "dim")]
        self._rows: list[Spans] = []
        self._wrapped_for: tuple[int, int] | None = None

    def show(self, lines: Sequence[Spans], title_spans: Spans) -> None:
        self.lines, self.title_spans = lines, title_spans
        self.reload(cursor=0)

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def measure(self) -> None:
        """Wrap again if the width or the lines changed."""
        lines = self.lines or ()
        if self._wrapped_for != (id(self.lines), self.body_width):
            self._wrapped_for = id(self.lines), self.body_width
            self._rows = [row for line in lines for row in request_text.wrap(line, max(8, self.body_width - 1))]
        super().measure()

    def render_row(self, index: int, line: int, width: int) -> Spans:
        return self._rows[index]

    def after(self) -> Spans:
        return self.title_spans


class RequestScreen(PageScreen[Texts, None]):
    """Shows the requests that `make` returns, in a worker thread; `pager` is the user's setting."""

    commands: ClassVar[tuple[type[Command], ...]] = (ToggleDifference, PageRequest, CopyRequest)

    def __init__(self, make: Callable[[], Requests], pager: str) -> None:
        self._pane = RequestPane()
        super().__init__(self._pane)
        self._make, self._pager = make, pager
        self._texts: Texts | None = None
        self._shows_whole = True

    def load(self) -> Texts:
        body, recorded, missing = self._make()
        whole = request_text.lines(body)
        difference = None if recorded is None else request_text.diff_lines(request_text.lines(recorded), whole)
        return Texts(body, missing, whole, difference)

    def show(self, texts: Texts) -> None:
        self._texts = texts
        self._draw()

    def fail(self, trouble: str) -> None:
        self._pane.show([[Span(f"✗ {safe_text.one_line(trouble, 300)}", "crit")]], ())

    def toggle_difference(self) -> None:
        self._shows_whole = not self._shows_whole
        self._draw()

    def _draw(self) -> None:
        texts = self._texts
        if texts is None:
            return
        if self._shows_whole:
            self._pane.show(
                texts.whole, [Span(f"whole, {len(texts.body):,} bytes", "dim"), Span(texts.missing, "warn")]
            )
            return
        sentence = (
            "There is no difference to show: the call shown is not sent yet."
            if texts.difference is None
            else "It is the same as the request of the call shown."
        )
        self._pane.show(texts.difference or [[Span(sentence, "dim")]], [Span("difference from the call shown", "dim")])

    def page(self) -> None:
        if self._texts is None:
            return
        try:
            with self.app.suspend():
                show_in_pager(safe_text.lines(self._texts.body.decode("utf-8", "replace")), self._pager)
        except NoPager as error:
            self.show_message([Span(safe_text.one_line(str(error), 200), "crit")])
        finally:
            self.app.refresh()

    def copy(self) -> None:
        if self._texts is None:
            return
        size = len(self._texts.body)
        if size > MAX_CLIPBOARD_BYTES:
            self.show_message([Span(f"{size:,} bytes do not fit into the clipboard; o opens the pager", "warn")])
            return
        self.app.copy_to_clipboard(self._texts.body.decode("utf-8", "replace"))
        self.show_message([Span(f"copied, {size:,} bytes", "dim")])
