"""Find a text in every session: typed above, searched in a process of its own, listed as it is found.

Commands of the search through all sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message

from ctxtui.services.child_process import ChildGone
from ctxtui.services.worker import Worker
from ctxtui.services.workers.search_worker import SessionsSearch
from ctxtui.tui.commands import EVERYWHERE, Act, Command, Commanded
from ctxtui.tui.dialog import Dialog
from ctxtui.tui.lists.list_screen import overlay_bindings
from ctxtui.tui.messages import Aim, Open
from ctxtui.tui.widgets.keyline import Key, KeyLine
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.lists import search_hits
from ctxtui.views.lists.search_hits import BlockHits, Folded, FoundSession, Row, SearchProgress
from ctxtui.views.text.span import Span, Spans, cropped
from ctxtui.views.text.sums import ROW


class FindExpression(Command):
    """What is searched for is a regular expression, or a plain text again."""

    name, keys, group = "search by regular expression", ("ctrl+x",), "searching"
    run = Act(lambda: FindScreen, lambda screen: screen.other_way())


FIND: tuple[type[Command], ...] = (FindExpression,)


MOST = 2000
"""Blocks that are listed."""


class Stepped(Message):
    """One more session is searched for the text with number `wish`."""

    def __init__(self, wish: int, step: SearchProgress) -> None:
        super().__init__()
        self.wish = wish
        self.step = step


class HitPane(Pane):
    """Sessions, each with its blocks."""

    def __init__(self) -> None:
        super().__init__(title="found", id="found")
        self.rows: list[Row] = []
        self.said: Spans = ()
        self.none = ""
        """What is said where nothing was found."""

    @property
    def row_count(self) -> int:
        """Blocks and names of sessions."""
        return len(self.rows)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A block, or a session's name."""
        row, here = self.rows[index], index == self.cursor
        if isinstance(row, FoundSession):
            return cropped(search_hits.session_line(row, width, here=here), width)
        if isinstance(row, Folded):
            return search_hits.folded_line(row, here=here)
        return search_hits.TABLE.draw(row, width, here=here)

    def notes(self) -> Spans:
        """How far the search is."""
        return self.said

    def empty(self) -> Spans:
        """Before anything is looked for, and where nothing was found."""
        if self.none:
            return [Span(self.none)]
        return [Span("Type a text and press enter. Capital letters make case matter.", "dim")]


class FindScreen(Commanded, Dialog[None]):
    """The search; `everywhere` does it."""

    commands: ClassVar[tuple[type[Command], ...]] = FIND
    BINDINGS = [*overlay_bindings(FIND), Binding("slash", "ask", show=False)]
    AUTO_FOCUS = "#text"
    DEFAULT_CSS = "FindScreen { background: $background; } FindScreen Board { height: 1fr; }"

    def __init__(self, everywhere: Worker[SessionsSearch]) -> None:
        super().__init__()
        self.pane, self.words = HitPane(), LineEdit(id="text")
        self._everywhere = everywhere
        self._wish = 0
        self._regex = False
        self._found: list[FoundSession] = []
        self._blocks = 0
        self._text = ""

    def compose(self) -> ComposeResult:
        """What is looked for, what is found, what the keys do."""
        self.words.show([Span(" / ", "accent bold")])
        yield self.words
        yield self.pane
        yield KeyLine(
            [
                Key("⏎", "search, open"),
                Key("^x", "expression", "", FindExpression.actions()),
                Key("/", "another text"),
                Key("esc", "close", "", ("dismiss",)),
            ]
        )

    def commands_now(self) -> list[type[Command]]:
        """What the palette offers here."""
        return [*self.commands, *EVERYWHERE]

    def on_unmount(self) -> None:
        """The process ends with the screen."""
        self._wish += 1
        self._everywhere.close()

    def other_way(self) -> None:
        """A regular expression, or a plain text again."""
        self._regex = not self._regex
        self.words.lead = [Span(" .* " if self._regex else " / ", "accent bold")]
        self.words.refresh()

    def action_ask(self) -> None:
        """Another text."""
        self.words.focus()

    @on(LineEdit.Submitted)
    def _search(self) -> None:
        text = self.words.text
        if not text:
            return
        self._wish += 1
        self._blocks, self._found = 0, []
        self.pane.rows, self.pane.said, self.pane.none = [], [Span("searching", "dim")], "Searching …"
        self._text = text
        self.pane.reload(cursor=0)
        self.pane.focus()
        wish, regex = self._wish, self._regex

        def work() -> None:
            # Where the process ends, what was found stays.
            with suppress(ChildGone):
                for step in self._everywhere.steps(SessionsSearch.search, text, regex):
                    if wish != self._wish:
                        return
                    self.post_message(Stepped(wish, step))

        self.run_worker(work, thread=True, group="find")

    @on(LineEdit.Left)
    def _left(self) -> None:
        if self.pane.rows:
            self.pane.focus()
        else:
            self.dismiss(None)

    def on_stepped(self, message: Stepped) -> None:
        """List what was found."""
        step, pane = message.step, self.pane
        if message.wish != self._wish:
            return
        if step.trouble:
            pane.said = [Span(f"✗ {step.trouble}", "crit")]
            pane.refresh_rule()
            return
        for one in step.found if self._blocks < MOST else ():
            if not self._found or one.target != self._found[-1].target:
                self._found.append(FoundSession(one.target, one.title))
            self._found[-1].blocks.append(one)
            self._blocks += 1
        counts = self._blocks, len(self._found), step.direct
        pane.said = [
            Span(search_hits.progress_text(step.done, step.total, *counts, capped=self._blocks >= MOST), "dim")
        ]
        pane.none = search_hits.empty_text(self._text, step.done, step.total)
        if step.found:
            fresh = not pane.rows
            pane.rows = search_hits.rows(self._found)
            # The first block, not its session: Enter opens it.
            pane.reload(cursor=1 if fresh else pane.cursor)
        else:
            pane.refresh_rule()

    def sums(self, spot: Spot) -> Mapping[str, str]:
        """What the counts of blocks are made of."""
        row = self.pane.row_under(spot.line)
        if spot.pane != "found":
            return {}
        if spot.line == 0 or row is None:
            return {ROW: search_hits.explain_total(self._found)}
        return {ROW: search_hits.explain_count(self.pane.rows[row])}

    def on_pane_chosen(self) -> None:
        """Open the session at the hit; the list is there again when it is left. A session's own line shows all of its
        blocks, or the first ones again."""
        one = self.pane.rows[self.pane.cursor] if self.pane.rows else None
        if isinstance(one, (FoundSession, Folded)):
            session = one if isinstance(one, FoundSession) else one.session
            session.opened = not session.opened
            at = self.pane.cursor if session.opened else self.pane.rows.index(session)
            self.pane.rows = search_hits.rows(self._found)
            self.pane.reload(cursor=at)
        if isinstance(one, BlockHits):
            aim = Aim(one.thread, one.call, one.digest, self.words.text, self._regex)
            self.post_message(Open(one.target, aim).on(self))
