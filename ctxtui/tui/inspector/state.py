"""What an Inspector shows: of which session, which call, in which way. Its methods are the only ones that change it;
controllers subscribe to its signals, and hear them in the order in which the screen lists the controllers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from textual.message import Message

from ctxtui.core.session import MAIN, AnswerGrew, Event
from ctxtui.services.session_source import SessionSource
from ctxtui.tui.inspector.loader import SessionLoader
from ctxtui.tui.inspector.panels import ALL_LINES, Panels, View
from ctxtui.tui.inspector.place_in_end import place_in_end
from ctxtui.tui.inspector.signals import Signals
from ctxtui.views.model.preview import Preview
from ctxtui.views.model.scene import Scene
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.context_rows import HIDDEN, LINE

if TYPE_CHECKING:
    from ctxtui.analysis.cache.miss_finder import Misses
    from ctxtui.analysis.money.statement import Statement
    from ctxtui.services.recordings.recording import Loaded, RecordingNews
    from ctxtui.services.study.study import Study
    from ctxtui.services.study.thread_study import RecordingEnd
    from ctxtui.services.workers.session_report import Report
    from ctxtui.tui.inspector.context_edits import ContextEdits
    from ctxtui.tui.inspector.controller import ScreenAccess
    from ctxtui.views.model.staging import Staging

T = TypeVar("T")


class Following(Struct, frozen=True):
    """Whether the view goes along with a recording that grows, and whether the user said so."""

    on: bool
    by_hand: bool = False


class InspectorState:
    """Call `index` (from 0) of `thread` is shown, each category `shown` in its way.

    `study` knows the session that `loaded` reads; `glimpse` is its end, as long as the whole is not read. `live`
    says that the recording is being written, `complete` that the first reading is done. `only_edits` shows only the
    rows that edits touch; `edits` are those of the context, if any; `kept` is how lists stood when closed.
    """

    def __init__(self, source: SessionSource, panels: Panels, planner: ScreenAccess, *, follow: bool) -> None:
        self.source, self.panels = source, panels
        self.feed = SessionLoader(source, self._posted)
        self.study: Study | None = None
        self.loaded: Loaded | None = None
        self.glimpse: RecordingEnd | None = None
        self.thread, self.index = MAIN, 0
        self.shown: tuple[str, ...] = ALL_LINES
        self._following = Following(follow)
        self.live = self.complete = self._placed = False
        self._marks: tuple[int, ...] = ()
        self.only_edits = False
        self.waits: int | None = None
        """Seconds until a held request of the session leaves by itself; None where none is held."""
        self.kept: dict[str, tuple[str, int]] = {}
        self.edits: ContextEdits | None = None
        self.on = Signals()
        self._planner = planner
        self._places: dict[str, int] = {}
        self._known: tuple[object, ...] = ()

    def _posted(self, message: Message) -> None:
        self._planner.deliver(lambda: self.on.loader.emit(message))

    @property
    def count(self) -> int:
        """How many calls the thread has."""
        return len(self.study.thread(self.thread).calls) if self.study is not None else 0

    @property
    def follows(self) -> bool:
        """Whether the view goes along with a recording that grows."""
        return self._following.on

    @property
    def came_from(self) -> str:
        """The thread that was shown before this one."""
        return next(reversed(self._places), MAIN)

    @property
    def at_end(self) -> bool:
        """Whether the view stands at the end of the recording: then it goes along."""
        return self.study is None or (self.index >= self.count - 1 and self.panels.transcript.at_last)

    @property
    def word(self) -> str:
        """The header's word for the recording."""
        if self.waits is not None:
            return "held"
        growing = self.loaded is not None and self.loaded.follows and self.complete
        if growing and self._following == Following(True, by_hand=True) and self.at_end:
            return "following"
        return "live" if self.live else "recorded"

    @property
    def view(self) -> View:
        """What is wanted now."""
        behind = self.count - 1 - self.index if self.live and self.count else 0
        return View(
            thread=self.thread,
            index=self.index,
            shown=self.shown,
            state=self.word,
            behind=behind,
            only_edits=self.only_edits,
            marks=frozenset(self._marks),
            waits=self.waits,
        )

    # Showing

    def show(self, *, to_end: bool = False) -> None:
        """Show the scene as it is known now; the cursor stays on its block unless the view goes to the end."""
        study, transcript = self.study, self.panels.transcript
        place = None if to_end else transcript.place
        if self.glimpse is not None:
            self.panels.glimpse(self.glimpse)
            transcript.changed(place)
            return
        if study is None or not study.session.threads:
            return
        self._fill(study)
        transcript.changed(place)
        self.on.changed.emit()
        self.panels.draw_map()
        self.on.shown.emit()

    def fit(self) -> None:
        """The screen has another size: panes that were not there have nothing to show yet."""
        if self.study is None or self.glimpse is not None or not self.study.session.threads:
            return
        transcript = self.panels.transcript
        place, rows = transcript.place, transcript.row_count
        self._fill(self.study)
        if (transcript.place, transcript.row_count) != (place, rows):
            # More was known by now than was shown: the cursor stays on its block.
            transcript.changed(place)
        self.panels.draw_map()
        self.on.fitted.emit()

    def _fill(self, study: Study) -> None:
        if self.panels.show(study, self.view, self.edits):
            self._planner.replan()
            self._planner.after_frame(self.show)

    def filter(self, shown: tuple[str, ...]) -> None:
        """Show each category as told."""
        if self.panels.transcript.data is not None:
            self.panels.transcript.data.folded.clear()
        self.shown = shown
        self.show()

    def show_only_edits(self, only: bool) -> None:
        """Show only the rows that edits touch, or all of them."""
        if only == self.only_edits:
            return
        self.only_edits = only
        if self.panels.transcript.data is not None:
            self.panels.transcript.data.fold()
        self.show()

    def read(self, reads: bool) -> None:
        """Let the transcript have the screen for itself, to be read, or stand among the panes again."""
        self.panels.read(reads)
        self._planner.replan()
        self._planner.after_frame(self.show)

    @property
    def marks(self) -> tuple[int, ...]:
        """The nodes that show the marked blocks in the scene, in the order of marking."""
        return tuple(self.edits.shown(self.scene, self._marks)) if self.edits is not None else self._marks

    def mark(self, nodes: Iterable[int]) -> None:
        """These nodes are marked from now on, and no others; each once, in this order."""
        self._marks = tuple(dict.fromkeys(self.edits.blocks_of(nodes) if self.edits is not None else nodes))

    def unmark(self) -> bool:
        """No block is marked any more; whether any was, which is then told."""
        gone, self._marks = len(self._marks), ()
        if gone:
            self.show()
            self.on.told.emit([Span(f"{gone:,} mark{'' if gone == 1 else 's'} cleared", "dim")])
        return gone > 0

    def take_edits(self, edits: ContextEdits) -> None:
        """The context shown has edits: these say what they make of it."""
        self.edits = edits

    def wait(self, left: int | None) -> None:
        """A request of the session is held, and leaves by itself in `left` seconds; None: none is held."""
        before, self.waits = self.waits, left
        if (before is None) != (left is None):
            self.show()
        elif left is not None and left != before:
            self.panels.header.wait(left)

    # Going

    def go(self, index: int, *, to_end: bool = False) -> None:
        """Show call `index` of the thread, held at the ends."""
        index = min(max(0, index), self.count - 1)
        if self.study is not None and (index != self.index or to_end):
            self.index = index
            self.show(to_end=to_end)

    def to_thread(self, thread: str) -> None:
        """Show a thread: the call that was shown of it last, else its last one."""
        if self.study is None or thread == self.thread:
            return
        self._places.pop(self.thread, None)
        self._places[self.thread] = self.index
        self.thread, self.panels.window = thread, None
        known = self._places.get(thread)
        self.index = self.count - 1 if known is None else min(known, self.count - 1)
        self.show(to_end=known is None)
        self.feed.work()

    def to_call(self, thread: str, number: int) -> None:
        """Show a call by its number in its thread, from 1."""
        self.to_thread(thread)
        self.go(number - 1)

    def to_block(self, node: int | None) -> None:
        """Put the cursor on a block of the context shown: its row is unfolded, or shown again where its category is
        hidden. Where it is not in this context, that is told, and the cursor stays."""
        rows = self.panels.transcript.data
        if rows is None or node is None:
            return
        if not rows.holds(node):
            self.on.told.emit([Span("that block is not in the context of this call", "dim")])
            return
        self.unfold(node)
        self.panels.transcript.move_to(rows.index_of(node))

    def to_new(self, edit: str) -> None:
        """Open what the edit of this id puts in, and stand on it."""
        rows, pane = self.panels.transcript.data, self.panels.transcript
        row = rows.open_insert(edit) if rows is not None else None
        if row is not None:
            pane.stand(row, 0)

    def unfold(self, node: int) -> None:
        """Let the block of the context shown have its row, whatever folds or hides it."""
        rows = self.panels.transcript.data
        if rows is None or rows.scene is None:
            return
        category = rows.scene.running.category(node) if node else 0
        if self.shown[category] == HIDDEN and node:
            self.filter((*self.shown[:category], LINE, *self.shown[category + 1 :]))
        place = self.panels.transcript.place
        if rows.unfold(node):
            self.panels.transcript.changed(place)

    def follow(self, follows: bool) -> None:
        """Follow the recording, or hold the view: the user says so."""
        self._following = Following(follows, by_hand=True)

    # What lists ask

    @property
    def scene(self) -> Scene | None:
        """What is shown."""
        return self.panels.scene

    @property
    def staging(self) -> Staging | None:
        """What edits make of it; None without any."""
        return self.panels.staging

    def edit(self, kind: str, node: int) -> None:
        """Stage an edit of the marked blocks, else of this one: the cursor goes to it."""
        if not self._marks:
            self.to_block(node)
        self.on.edit.emit(kind)

    def compare(self, thread: str, calls: tuple[int, int], block: int, then: Callable[[], object]) -> None:
        """Show what differs between two calls of `thread` (from 1), the first difference from `block` on; `then` is
        done when one goes to a block from there."""
        first, second = calls
        self.on.compare.emit((thread, first - 1), (thread, second - 1), block, then)

    def hear_said(self, do: Callable[[Spans], object]) -> Callable[[], object]:
        """From now on call `do` with what is said; what is returned ends that."""
        self.on.said.subscribe(do)
        return lambda: self.on.said.unsubscribe(do)

    def preview(self, node: int) -> Preview:
        """The block of a node of the context shown, in words."""
        rows = self.panels.transcript.data
        assert rows is not None
        return rows.readings.preview(node)

    def price_all(self) -> None:
        """From now on the calls of every thread are priced."""
        if self.study is not None:
            for id_ in list(self.study.session.threads):
                self.study.thread(id_)
            self.feed.work()

    def statement(self) -> Statement:
        """The session's bill; takes its time."""
        from ctxtui.services.workers.session_report import STATEMENT

        return self.reported(STATEMENT)

    def misses(self) -> Misses:
        """What the cache missed, and why; takes its time."""
        from ctxtui.services.workers.session_report import MISSES

        return self.reported(MISSES)

    def reported(self, kind: Report[T]) -> T:
        """A report, kept until the recording has more; takes its time."""
        assert self.loaded is not None
        return self.feed.reports.of(kind, self.loaded)

    # Opening, and growing

    def open_glimpse(self, end: RecordingEnd) -> None:
        """The end of a long recording: something to read until the whole of it is."""
        self.glimpse, self.thread = end, end.thread
        self.panels.open(end.session, end.names, self.feed.want)
        self.show(to_end=True)

    def open(self, loaded: Loaded) -> None:
        """The recording is open; nothing of it is read yet."""
        self.loaded = loaded
        self._placed = False
        self.study = self.source.study(loaded.session)
        self.study.note_read(whole=self.complete)
        if self.glimpse is None:
            self.panels.open(self.study.session, self.study.book.names, self.feed.want)
        self.feed.work_on(self.study)

    def take(self, news: RecordingNews) -> None:
        """There is more of the recording."""
        if self.loaded is None:
            return
        at_end = self.at_end
        self.loaded.take(news)
        if news.session is not None:
            self.open(self.loaded)
            self.on.reopened.emit()
        self.live = self.live or self.complete
        self.grow(at_end=at_end, events=news.events)
        if answers := tuple(event for event in news.events if isinstance(event, AnswerGrew)):
            self.on.grew.emit(answers)

    def grow(self, *, at_end: bool, events: Iterable[Event] | None = None) -> None:
        """The session has more, by `events` if they are known; with `at_end` the view goes along while it follows."""
        if self.study is None:
            return
        if self.glimpse is not None:
            # Nothing of it is shown yet: its threads are gone through once, when all is read, not at every piece.
            if self.loaded is not None and self.loaded.paths:
                self.panels.reading(self.loaded.bytes_read, self.loaded.paths[0].stat().st_size)
            self.feed.work()
            return
        self.study.session_grew(events)
        counted = self.study.count_new()
        first, self._placed = not self._placed, True
        if self.thread not in self.study.session.threads and self.study.session.threads:
            self.thread = self.study.session.first_thread
        along = at_end and (self.follows or first or not self.complete)
        self.index = self.count - 1 if along else self.index
        self.show(to_end=along)
        self.feed.grew(counted=counted)

    def end_reading(self) -> None:
        """All that is there now is read."""
        self.complete = True
        self.on.reopened.emit()
        if self.glimpse is not None and self.study is not None:
            self.glimpse, stand = None, place_in_end(self.panels.transcript)
            self.panels.open(self.study.session, self.study.book.names, self.feed.want)
            self.index = self.count - 1
            self.grow(at_end=True)
            stand()
        self.look_alive()
        shown = self._placed and self.panels.transcript.row_count
        if self.loaded is not None and self.study is not None and not shown:
            # Figures may have been shown before: then the view stands at the first call still.
            self.grow(at_end=True)
        # A thread that was first shown since the last piece was taken is not worked out yet.
        self.feed.work()
        self.on.complete.emit()

    def take_figures(self, *, done: bool) -> None:
        """More figures are known, with `done` all there is: they replace dots in place."""
        study = self.study
        if study is None or self.glimpse is not None or not study.session.threads:
            return
        known = study.known_state(self.thread, self.index)
        if done and self.panels.transcript.data is not None:
            self.panels.transcript.data.bodies.clear()
        if done or known != self._known:
            self._known = known
            self.show()
        else:
            self.panels.note(study, self.shown)

    def look_alive(self) -> None:
        """Whether the recording is being written."""
        was, self.live = self.live, self.loaded is not None and self.source.is_live(self.loaded)
        if was != self.live:
            self.show()
