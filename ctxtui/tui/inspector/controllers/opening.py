"""Opening in the Inspector: what its threads post is taken, shown, and followed as it grows."""

from __future__ import annotations

from ctxtui.core.session import MAIN, Session
from ctxtui.tui.inspector.loader import Began, Brought, Complete, Failed, Glimpsed, Read, Worked
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.messages import Refused
from ctxtui.views.text.span import Span

_LIVE_EVERY = 5.0
"""Seconds between looks at whether a recording is still being written."""


class Opening(InspectorState):
    """The part of the Inspector that opens a session and follows it."""

    known: tuple[object, ...] = ()
    """What was known of the call when it was last shown."""

    def start(self) -> None:
        """Begin to read; the empty screen is there already."""
        self.run_worker(self.feed.read, thread=True, group="feed", exit_on_error=True)
        self.run_worker(self.feed.figure, thread=True, group="feed", exit_on_error=True)
        self.set_interval(_LIVE_EVERY, self._look_alive)

    def on_unmount(self) -> None:
        """The threads and helpers end with the screen."""
        self.feed.stop()

    def on_glimpsed(self, message: Glimpsed) -> None:
        """The end of a long recording: something to read until the whole of it is."""
        self.glimpse = self.source.study(message.session)
        self.thread = _first_thread(message.session)
        self.panels.open(self.glimpse, self.feed.want)
        self.show(to_end=True)
        self.call_after_refresh(self.feed.taken)

    def on_began(self, message: Began) -> None:
        """The recording is open."""
        self.loaded = message.loaded
        self._open()

    def _open(self) -> None:
        assert self.loaded is not None
        self._placed = False
        self.study = self.source.study(self.loaded.session)
        if self.glimpse is None:
            self.panels.open(self.study, self.feed.want)
        self.feed.work_on(self.study)

    def on_brought(self, message: Brought) -> None:
        """There is more: take it, and show it if the view stands at the end."""
        if self.loaded is None:
            return
        at_end = self.at_end
        self.loaded.take(message.news)
        if message.news.reading is not None:
            self._open()
            self.load_edits()
        self.live = self.live or self.complete
        self.session_grew(at_end=at_end)
        self.feed.taken()

    _placed = False
    """Whether the view was put where it belongs since the recording was opened."""

    def session_grew(self, *, at_end: bool) -> None:
        """The session has more than before; with `at_end` the view goes along while it follows."""
        if self.study is None:
            return
        if self.glimpse is not None:
            # Nothing of it is shown yet: its threads are gone through once, when all is read, not at every piece.
            self._progress()
            self.feed.work()
            return
        self.study.grew()
        first, self._placed = not self._placed, True
        if self.thread not in self.study.session.threads and self.study.session.threads:
            self.thread = _first_thread(self.study.session)
        along = at_end and (self.follows or first or not self.complete)
        if along:
            self.index = self.count - 1
        self.show(to_end=along)
        self.feed.work()

    def _progress(self) -> None:
        if self.loaded is not None and self.loaded.paths:
            self.panels.reading(self.loaded.bytes_read, self.loaded.paths[0].stat().st_size)

    def on_complete(self, message: Complete) -> None:
        """All that is there now is read."""
        self.complete = True
        self.load_edits()
        if self.glimpse is not None and self.study is not None:
            self.glimpse = None
            self.panels.open(self.study, self.feed.want)
            self.index = self.count - 1
            self.session_grew(at_end=True)
        self._look_alive()
        if (
            self.loaded is not None
            and self.study is not None
            and not (self._placed and self.panels.transcript.row_count)
        ):
            # Figures may have been shown before: then the view stands at the first call still.
            self.session_grew(at_end=True)
        # A thread that was first shown since the last piece was taken is not worked out yet.
        self.feed.work()

    def on_worked(self, message: Worked) -> None:
        """Figures replace dots in place."""
        study = self.study
        if study is None or self.glimpse is not None or not study.session.threads:
            return
        known = study.known(self.thread, self.index)
        if message.done and self.panels.transcript.data is not None:
            self.panels.transcript.data.bodies.forget()
        if message.done or known != self.known:
            self.known = known
            self.show()
        else:
            self.panels.note(study, self.shown)

    def on_read(self, message: Read) -> None:
        """A large block was read: its row and what is open of it can be drawn."""
        if self.panels.transcript.data is not None:
            self.panels.transcript.data.bodies.forget()
        self.panels.transcript.reopen()

    def on_failed(self, message: Failed) -> None:
        """Opening or reading ended in an error: it is said, what is shown stays."""
        self.say([Span("✗ ", "crit"), Span(str(message.error), "crit")])
        if not self.panels.transcript.row_count:
            self.post_message(Refused(message.error))

    def load_edits(self) -> None:
        """Read what was edited before."""
        raise NotImplementedError

    def _look_alive(self) -> None:
        was, self.live = self.live, self.loaded is not None and self.source.is_live(self.loaded)
        if was != self.live:
            self.show()


def _first_thread(session: Session) -> str:
    return MAIN if MAIN in session.threads else next(iter(session.threads))
