"""Search for a text in all sessions, in a separate process.

Hits are listed as they are found.
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
    """Search by regular expression, or by plain text again."""

    name, keys, group = "search by regular expression", ("ctrl+x",), "searching"
    run = Act(lambda: FindScreen, lambda screen: screen.toggle_regex())


FIND: tuple[type[Command], ...] = (FindExpression,)


MAX_BLOCKS = 2000
"""Number of listed blocks from which on no further session is listed."""


class SearchStep(Message):
    """Progress of the search `search_id`: one more session was searched, or the search failed."""

    def __init__(self, search_id: int, step: SearchProgress) -> None:
        super().__init__()
        self.search_id = search_id
        self.step = step


class HitPane(Pane):
    """Sessions, each with its matching blocks."""

    def __init__(self) -> None:
        super().__init__(title="found", id="found")
        self.rows: list[Row] = []
        self.progress: Spans = ()
        self.empty_text = ""
        """Text shown without a hit."""

    @property
    def row_count(self) -> int:
        return len(self.rows)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        row, here = self.rows[index], index == self.cursor
        if isinstance(row, FoundSession):
            return cropped(search_hits.session_line(row, width, here=here), width)
        if isinstance(row, Folded):
            return search_hits.folded_line(row, here=here)
        return search_hits.TABLE.draw(row, width, here=here)

    def notes(self) -> Spans:
        return self.progress

    def empty(self) -> Spans:
        if self.empty_text:
            return [Span(self.empty_text)]
        return [Span("Type a text and press enter. With a capital letter, case matters.", "dim")]


class FindScreen(Commanded, Dialog[None]):
    """Search screen; the `worker` searches."""

    commands: ClassVar[tuple[type[Command], ...]] = FIND
    BINDINGS = [*overlay_bindings(FIND), Binding("slash", "ask", show=False)]
    AUTO_FOCUS = "#text"
    DEFAULT_CSS = "FindScreen { background: $background; } FindScreen Board { height: 1fr; }"

    def __init__(self, worker: Worker[SessionsSearch]) -> None:
        super().__init__()
        self.pane, self.query_line = HitPane(), LineEdit(id="text")
        self._worker = worker
        self._search_id = 0
        self._regex = False
        self._sessions: list[FoundSession] = []
        self._block_count = 0
        self._query = "", False
        """The text that is searched for, and whether it is a regular expression."""

    def compose(self) -> ComposeResult:
        self.query_line.show([Span(" / ", "accent bold")])
        yield self.query_line
        yield self.pane
        yield KeyLine(
            [
                Key("⏎", "search, open"),
                Key("^x", "expression", "", FindExpression.actions()),
                Key("/", "new search"),
                Key("esc", "close", "", ("dismiss",)),
            ]
        )

    def commands_now(self) -> list[type[Command]]:
        return [*self.commands, *EVERYWHERE]

    def on_unmount(self) -> None:
        self._search_id += 1
        self._worker.close()

    def toggle_regex(self) -> None:
        """Switch between a regular expression and plain text for the next search."""
        self._regex = not self._regex
        self.query_line.lead = [Span(" .* " if self._regex else " / ", "accent bold")]
        self.query_line.refresh()

    def action_ask(self) -> None:
        self.query_line.focus()

    @on(LineEdit.Submitted)
    def _search(self) -> None:
        text = self.query_line.text
        if not text:
            return
        self._search_id += 1
        self._block_count, self._sessions = 0, []
        self.pane.rows, self.pane.progress, self.pane.empty_text = [], [Span("searching", "dim")], "Searching …"
        self._query = text, self._regex
        self.pane.reload(cursor=0)
        self.pane.focus()
        search_id, regex = self._search_id, self._regex

        def work() -> None:
            # Keep the hits if the process ends.
            with suppress(ChildGone):
                for step in self._worker.steps(SessionsSearch.search, text, regex):
                    if search_id != self._search_id:
                        return
                    self.post_message(SearchStep(search_id, step))

        self.run_worker(work, thread=True, group="find")

    @on(LineEdit.Left)
    def _left(self) -> None:
        if self.pane.rows:
            self.pane.focus()
        else:
            self.dismiss(None)

    def on_search_step(self, message: SearchStep) -> None:
        step, pane = message.step, self.pane
        if message.search_id != self._search_id:
            return
        if step.trouble:
            pane.progress = [Span(f"✗ {step.trouble}", "crit")]
            pane.refresh_rule()
            return
        for hit in step.new_hits if self._block_count < MAX_BLOCKS else ():
            if not self._sessions or hit.target != self._sessions[-1].target:
                self._sessions.append(FoundSession(hit.target, hit.title))
            self._sessions[-1].blocks.append(hit)
            self._block_count += 1
        counts = self._block_count, len(self._sessions), step.unindexed
        pane.progress = [
            Span(
                search_hits.progress_text(step.done, step.total, *counts, capped=self._block_count >= MAX_BLOCKS), "dim"
            )
        ]
        pane.empty_text = search_hits.empty_text(self._query[0], step.done, step.total)
        if step.new_hits:
            is_first = not pane.rows
            pane.rows = search_hits.rows(self._sessions)
            # Start on the first block instead of its session, so that Enter opens it.
            pane.reload(cursor=1 if is_first else pane.cursor)
        else:
            pane.refresh_rule()

    def sums(self, spot: Spot) -> Mapping[str, str]:
        row = self.pane.row_under(spot.line)
        if spot.pane != "found":
            return {}
        if spot.line == 0 or row is None:
            return {ROW: search_hits.explain_total(self._sessions)}
        return {ROW: search_hits.explain_count(self.pane.rows[row])}

    def on_pane_chosen(self) -> None:
        """Open the session at the hit, or fold or unfold the blocks of a session."""
        row = self.pane.rows[self.pane.cursor] if self.pane.rows else None
        if isinstance(row, (FoundSession, Folded)):
            session = row if isinstance(row, FoundSession) else row.session
            session.opened = not session.opened
            cursor = self.pane.cursor if session.opened else self.pane.rows.index(session)
            self.pane.rows = search_hits.rows(self._sessions)
            self.pane.reload(cursor=cursor)
        if isinstance(row, BlockHits):
            aim = Aim(row.thread, row.call, row.digest, *self._query)
            self.post_message(Open(row.target, aim).sent_from(self))
