"""State of an inspector: the session, the call and the view.

Only its methods change it, except `list_positions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from textual.message import Message

from ctxtui.core.session import MAIN, AnswerGrew, Event
from ctxtui.core.tree import ROOT
from ctxtui.services.session_source import SessionSource
from ctxtui.tui.inspector.loader import SessionLoader
from ctxtui.tui.inspector.panels import ALL_LINES, Panels, View
from ctxtui.tui.inspector.place_in_end import save_cursor
from ctxtui.tui.inspector.signals import Signals
from ctxtui.views.model.preview import Preview
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.context_rows import HIDDEN, LINE

if TYPE_CHECKING:
    from ctxtui.services.recordings.recording import Loaded, RecordingNews
    from ctxtui.services.study.study import Study
    from ctxtui.services.study.thread_study import RecordingEnd
    from ctxtui.services.workers.session_report import Report
    from ctxtui.tui.inspector.context_edits import ContextEdits
    from ctxtui.tui.inspector.controller import ScreenAccess
    from ctxtui.views.model.staging import Staging

T = TypeVar("T")


class InspectorState:
    """The state of an inspector, which shows call `index` (from 0) of `thread`.

    - `shown`: how each category is shown.
    - `recording_end`: the end of a long session, until all of it is read.
    - `live`: the recording is being written; `complete`: the first reading is done.
    - `only_edits`: show only rows that edits touch.
    - `list_positions`: order and cursor of closed lists, which the lists keep here.
    """

    def __init__(self, source: SessionSource, panels: Panels, access: ScreenAccess, *, follow: bool) -> None:
        self.source, self.panels = source, panels
        self.loader = SessionLoader(source, self._posted)
        self.study: Study | None = None
        self.loaded: Loaded | None = None
        self.recording_end: RecordingEnd | None = None
        self.thread, self.index = MAIN, 0
        self.shown: tuple[str, ...] = ALL_LINES
        self.follows = follow
        """Whether the view, if at its end, follows a growing recording."""
        self._follows_by_hand = False
        """Whether the user chose to follow."""
        self.live = self.complete = False
        self._has_position = False
        """Whether `grow` has placed the view."""
        self._marks: tuple[int, ...] = ()
        self.only_edits = False
        self.held_countdown: int | None = None
        """Seconds until a held request is released automatically; None if none is held."""
        self.list_positions: dict[str, tuple[str, int]] = {}
        self.edits: ContextEdits | None = None
        self.on = Signals()
        self._access = access
        self._last_indexes: dict[str, int] = {}
        self._shown_figures: tuple[object, ...] = ()

    def _posted(self, message: Message) -> None:
        self._access.deliver(lambda: self.on.loader.emit(message))

    @property
    def count(self) -> int:
        """Number of calls of the thread; 0 until the session is open."""
        return len(self.study.thread(self.thread).calls) if self.study is not None else 0

    @property
    def previous_thread(self) -> str:
        """The thread shown before this one; the main thread if there was none."""
        return next(reversed(self._last_indexes), MAIN)

    @property
    def at_end(self) -> bool:
        """Whether the view is at the end of the thread's last call, or nothing is open yet."""
        return self.study is None or (self.index >= self.count - 1 and self.panels.transcript.at_last)

    @property
    def follows_by_choice(self) -> bool:
        """Whether the user chose to follow, and the view is at the end."""
        return self._follows_by_hand and self.at_end

    @property
    def recording_state(self) -> str:
        """The header's word for the recording."""
        if self.held_countdown is not None:
            return "held"
        growing = self.loaded is not None and self.loaded.follows and self.complete
        if growing and self.follows_by_choice:
            return "following"
        return "live" if self.live else "recorded"

    @property
    def view(self) -> View:
        behind = self.count - 1 - self.index if self.live and self.count else 0
        return View(
            thread=self.thread,
            index=self.index,
            shown=self.shown,
            state=self.recording_state,
            behind=behind,
            only_edits=self.only_edits,
            marks=frozenset(self._marks),
            auto_release_s=self.held_countdown,
        )

    # Showing

    def show(self, *, to_end: bool = False) -> None:
        """Update the screen; the cursor stays on its block, or goes to the end."""
        study, transcript = self.study, self.panels.transcript
        place = None if to_end else transcript.place
        if self.recording_end is not None:
            self.panels.show_preview(self.recording_end)
            transcript.update_rows(place)
            return
        if study is None or not study.session.threads:
            return
        self._fill(study)
        transcript.update_rows(place)
        self.on.changed.emit()
        self.panels.draw_map()
        self.on.shown.emit()

    def fit(self) -> None:
        """Update the panes for another size or for new facts; the cursor stays on its block."""
        if self.study is None or self.recording_end is not None or not self.study.session.threads:
            return
        transcript = self.panels.transcript
        place, rows = transcript.place, transcript.row_count
        self._fill(self.study)
        if (transcript.place, transcript.row_count) != (place, rows):
            # More was known than shown; keep the cursor on its block.
            transcript.update_rows(place)
        self.panels.draw_map()
        self.on.fitted.emit()

    def _fill(self, study: Study) -> None:
        if self.panels.show(study, self.view, self.edits):
            # After a new layout the panes have other sizes: show again.
            self._access.replan()
            self._access.after_frame(self.show)

    def filter(self, shown: tuple[str, ...]) -> None:
        """Show each category in its display mode of `shown`; folded texts open again."""
        if self.panels.transcript.data is not None:
            self.panels.transcript.data.folded.clear()
        self.shown = shown
        self.show()

    def show_only_edits(self, only: bool) -> None:
        """Show only rows that edits touch, or all rows."""
        if only == self.only_edits:
            return
        self.only_edits = only
        if self.panels.transcript.data is not None:
            self.panels.transcript.data.fold()
        self.show()

    def read(self, reads: bool) -> None:
        """Start or end reading mode."""
        self.panels.set_reading(reads)
        self._access.replan()
        self._access.after_frame(self.show)

    @property
    def marks(self) -> tuple[int, ...]:
        """Nodes that show the marked blocks in the scene, in the order of marking."""
        return tuple(self.edits.nodes_in(self.scene, self._marks)) if self.edits is not None else self._marks

    def mark(self, nodes: Iterable[int]) -> None:
        """Mark exactly these nodes, in this order. Does not redraw."""
        self._marks = tuple(dict.fromkeys(self.edits.blocks_of(nodes) if self.edits is not None else nodes))

    def unmark(self) -> bool:
        """Clear the marks, with a message; return whether there were any."""
        count, self._marks = len(self._marks), ()
        if count:
            self.show()
            self.on.message.emit([Span(f"{numbers.many(count, 'mark')} cleared", "dim")])
        return count > 0

    def set_edits(self, edits: ContextEdits) -> None:
        self.edits = edits

    def set_held_countdown(self, left: int | None) -> None:
        """Set the seconds until the held request is sent (None: none is held)."""
        before, self.held_countdown = self.held_countdown, left
        if (before is None) != (left is None):
            self.show()
        elif left is not None and left != before:
            self.panels.header.show_countdown(left)

    # Going

    def go(self, index: int, *, to_end: bool = False) -> None:
        """Show call `index` (from 0) of the thread, limited to its calls; with `to_end`, its end."""
        index = min(max(0, index), self.count - 1)
        if self.study is not None and (index != self.index or to_end):
            self.index = index
            self.show(to_end=to_end)

    def to_thread(self, thread: str) -> None:
        """Show a thread at its last shown call, else at its last call."""
        if self.study is None or thread == self.thread:
            return
        self._last_indexes.pop(self.thread, None)
        self._last_indexes[self.thread] = self.index
        self.thread, self.panels.window = thread, None
        last_index = self._last_indexes.get(thread)
        self.index = self.count - 1 if last_index is None else min(last_index, self.count - 1)
        self.show(to_end=last_index is None)
        self.loader.work()

    def to_call(self, thread: str, number: int) -> None:
        """Show a call by its number in its thread, from 1."""
        self.to_thread(thread)
        self.go(number - 1)

    def to_block(self, node: int | None) -> None:
        """Move the cursor to a block; says so if the context does not have it. None: do nothing."""
        rows = self.panels.transcript.data
        if rows is None or node is None:
            return
        if not rows.holds(node):
            self.on.message.emit([Span("That block is not in the context of this call.", "dim")])
            return
        self.unfold(node)
        self.panels.transcript.move_to(rows.index_of(node))

    def to_inserted(self, edit: str) -> None:
        """Open the block that the edit with this id inserts, and move the cursor there."""
        rows, pane = self.panels.transcript.data, self.panels.transcript
        row = rows.open_insert(edit) if rows is not None else None
        if row is not None:
            pane.move_into_row(row, 0)

    def unfold(self, node: int) -> None:
        """Give a block of the context its own row, even if it is folded or hidden."""
        rows = self.panels.transcript.data
        if rows is None or rows.scene is None:
            return
        if node != ROOT:  # the unrecorded part, which has no category
            category = rows.scene.running.category(node)
            if self.shown[category] == HIDDEN:
                self.filter((*self.shown[:category], LINE, *self.shown[category + 1 :]))
        place = self.panels.transcript.place
        if rows.unfold(node):
            self.panels.transcript.update_rows(place)

    def follow(self, follows: bool) -> None:
        """Start or stop following a growing recording, by the user's choice."""
        self.follows = self._follows_by_hand = follows

    # For lists

    @property
    def scene(self) -> Scene | None:
        return self.panels.scene

    @property
    def staging(self) -> Staging | None:
        """The scene under edits; None without edits or until they are read."""
        return self.panels.staging

    def edit(self, kind: str, node: int) -> None:
        """Stage an edit of the marked blocks, else of this one after moving the cursor to it."""
        if not self._marks:
            self.to_block(node)
        self.on.edit.emit(kind)

    def compare(self, thread: str, calls: tuple[int, int], block: int, then: Callable[[], object]) -> None:
        """Show the differences of two `calls` of `thread`, numbered from 1.

        The cursor starts at the first difference from position `block` on. `then` is called when the user goes to a
        block from there.
        """
        first, second = calls
        self.on.compare.emit((thread, first - 1), (thread, second - 1), block, then)

    def subscribe_messages(self, do: Callable[[Spans], object]) -> Callable[[], object]:
        """Call `do` with each message shown; call the result to end that."""
        self.on.message_shown.subscribe(do)
        return lambda: self.on.message_shown.unsubscribe(do)

    def preview(self, node: int) -> Preview:
        rows = self.panels.transcript.data
        assert rows is not None
        return rows.readings.preview(node)

    def price_all(self) -> None:
        """Price the calls of all threads in the background."""
        if self.study is not None:
            for id_ in list(self.study.session.threads):
                self.study.thread(id_)
            self.loader.work()

    def report(self, kind: Report[T]) -> T:
        """Return a report of the whole recording, cached until it grows; slow."""
        assert self.loaded is not None
        return self.loader.reports.get(kind, self.loaded)

    # Opening, and growing

    def open_end(self, end: RecordingEnd) -> None:
        """Show the end of a long recording until all of it is read."""
        self.recording_end, self.thread = end, end.thread
        self.panels.open(end.session, end.names, self.loader.request_load)
        self.show(to_end=True)

    def open(self, loaded: Loaded) -> None:
        """Set the recording: just opened with nothing read, or read again after a rewrite."""
        self.loaded = loaded
        self._has_position = False
        self.study = self.source.study(loaded.session)
        self.study.note_read(whole=self.complete)
        if self.recording_end is None:
            self.panels.open(self.study.session, self.study.book.names, self.loader.request_load)
        self.loader.work_on(self.study)

    def add_news(self, news: RecordingNews) -> None:
        """Add a part of the recording that was read, and update the screen."""
        if self.loaded is None:
            return
        at_end = self.at_end
        self.loaded.add_news(news)
        if news.session is not None:
            self.open(self.loaded)
            self.on.reopened.emit()
        self.live = self.live or self.complete
        self.grow(at_end=at_end, events=news.events)
        if answers := tuple(event for event in news.events if isinstance(event, AnswerGrew)):
            self.on.grew.emit(answers)

    def grow(self, *, at_end: bool, events: Iterable[Event] | None = None) -> None:
        """Update after growth, by `events` if known; with `at_end` the view may go to the end."""
        if self.study is None:
            return
        if self.recording_end is not None:
            # None of it is shown yet: process its threads once, when all is read.
            with suppress(OSError):  # the file may be gone
                if self.loaded is not None and self.loaded.paths:
                    self.panels.show_reading_progress(self.loaded.bytes_read, self.loaded.paths[0].stat().st_size)
            self.loader.work()
            return
        self.study.session_grew(events)
        counted = self.study.count_new()
        first, self._has_position = not self._has_position, True
        if self.thread not in self.study.session.threads and self.study.session.threads:
            self.thread = self.study.session.first_thread
        goes_to_end = at_end and (self.follows or first or not self.complete)
        self.index = self.count - 1 if goes_to_end else self.index
        self.show(to_end=goes_to_end)
        self.loader.grew(counted=counted)

    def end_reading(self) -> None:
        """All present records are read."""
        self.complete = True
        self.on.reopened.emit()
        if self.recording_end is not None and self.study is not None:
            self.recording_end, restore_cursor = None, save_cursor(self.panels.transcript)
            self.panels.open(self.study.session, self.study.book.names, self.loader.request_load)
            self.index = self.count - 1
            self.grow(at_end=True)
            restore_cursor()
        self.check_live()
        shown = self._has_position and self.panels.transcript.row_count
        if self.loaded is not None and self.study is not None and not shown:
            # `take_figures` may have shown the first call before any records were added: go to the end.
            self.grow(at_end=True)
        # A thread first shown after the last part has no figures yet.
        self.loader.work()
        self.on.complete.emit()

    def take_figures(self, *, done: bool) -> None:
        """Show new figures; with `done`, a round of work ended (see `Worked`)."""
        study = self.study
        if study is None or self.recording_end is not None or not study.session.threads:
            return
        figures = study.known_state(self.thread, self.index)
        if done and self.panels.transcript.data is not None:
            # Opened blocks show figures of their own: draw them again.
            self.panels.transcript.data.bodies.clear()
        if done or figures != self._shown_figures:
            self._shown_figures = figures
            self.show()
        else:
            self.panels.show_progress(study, self.shown)

    def check_live(self) -> None:
        """Check whether the recording is still being written, and show a change."""
        was, self.live = self.live, self.loaded is not None and self.source.is_live(self.loaded)
        if was != self.live:
            self.show()
