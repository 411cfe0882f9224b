"""Notes and bookmarks in the Inspector: set by keys, kept by a worker, marked in rows and in the strip of calls.

Commands of the inspector for notes and bookmarks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.message import Message

from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands.command import Command
from ctxtui.tui.commands.facts import BLOCK, NOTES
from ctxtui.tui.inspector.loader import Complete, Worked
from ctxtui.tui.inspector.prompt import PromptPart
from ctxtui.tui.lazy import later
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.analysis.content import notes
    from ctxtui.core.note import Note
    from ctxtui.services.library.notebook import Notebook
else:
    notes = later("ctxtui.analysis.content.notes")


class Noted(Message):
    """The notes of the session, and where they stand."""

    def __init__(self, book: Notebook, kept: list[Note], marked: notes.SessionNotes) -> None:
        super().__init__()
        self.book = book
        self.kept = kept
        self.marked = marked


class NotKept(Message):
    """A note could not be kept."""

    def __init__(self, error: CtxtuiError) -> None:
        super().__init__()
        self.error = error


class Noting(PromptPart):
    """The part of the Inspector that keeps notes and bookmarks."""

    notebook: Notebook | None = None
    standing: notes.SessionNotes | None = None
    _kept: tuple[Note, ...] = ()
    _came_to: tuple[notes.PlacedNote, int, int, int] | None = None
    """The note that was gone to last, and where that was."""

    @property
    def has_notes(self) -> bool:
        """Whether there are any."""
        return bool(self._kept)

    def read_notes(self) -> None:
        """Find the notes of the session that is open; when it is read, and again when it has grown."""
        self._beside(lambda book: book.read())

    def on_complete(self, message: Complete) -> None:
        """The recording is read: its notes have a place."""
        self.read_notes()

    def on_worked(self, message: Worked) -> None:
        """All that came is worked out: blocks with notes may stand elsewhere too."""
        if message.done and self._kept:
            self.read_notes()

    def _beside(self, read: Callable[[Notebook], list[Note]]) -> None:
        """Let a worker do something with the notebook, then find where the notes stand."""
        loaded, source = self.loaded, self.source
        if loaded is None:
            return

        def work() -> None:
            try:
                book = self.notebook or source.notebook(loaded)
                kept = read(book)
                self.post_message(Noted(book, kept, notes.standing(loaded.session, kept)))
            except CtxtuiError as error:
                self.post_message(NotKept(error))

        self.run_worker(work, thread=True, group="notes")

    def on_noted(self, message: Noted) -> None:
        """Mark what has notes."""
        self.notebook, self._kept, self.standing = message.book, tuple(message.kept), message.marked
        self._show_marks()

    def on_not_kept(self, message: NotKept) -> None:
        """Say why."""
        self.say([Span("✗ ", "crit"), Span(f"notes: {message.error}", "crit")])

    def _show_marks(self) -> None:
        rows, marked = self.panels.transcript.data, self.standing
        if rows is not None and marked is not None:
            rows.noted = marked.nodes
            self.panels.noted = frozenset(marked.at_calls())
            self.show()

    # Setting

    def _book(self) -> Notebook | None:
        if self.notebook is None and self.loaded is not None and self.complete:
            self.notebook = self.source.notebook(self.loaded)
        return self.notebook

    def _of_block(self) -> Note | None:
        """The note on the block under the cursor, or one that says nothing yet."""
        rows, node = self.panels.transcript.data, self.panels.transcript.node
        book = self._book()
        if rows is None or not node or book is None or rows.scene is None:
            return None
        target = notes.target_of(rows.scene.session.tree, node)
        there = next((note for note in self._kept if note.target == target), None)
        says = rows.readings.preview(node)
        return there or book.on_block(target, f"{says.label} {says.text}".strip())

    def _of_call(self) -> Note | None:
        """The note on the call shown, or one that says nothing yet."""
        scene, book = self.panels.scene, self._book()
        if scene is None or book is None or not scene.calls:
            return None
        there = next((note for note in self._kept if note.target is None and note.call == scene.call.id), None)
        return there or book.on_call(scene.call.id, scene.call.model)

    def action_bookmark(self) -> None:
        """Mark the block, or not."""
        self._toggle(self._of_block(), "the block")

    def action_bookmark_call(self) -> None:
        """Mark the call, or not."""
        self._toggle(self._of_call(), "the call")

    def _toggle(self, note: Note | None, what: str) -> None:
        if note is not None:
            self._keep(note.marked(time.time()))
            self.say([Span(f"★ {what} is marked" if not note.bookmark else f"{what} is no longer marked", "dim")])

    def action_write_note(self) -> None:
        """Ask for the text of a note on the block."""
        self._write(self._of_block())

    def action_write_on_call(self) -> None:
        """Ask for the text of a note on the call."""
        self._write(self._of_call())

    def _write(self, note: Note | None) -> None:
        if note is not None:
            self._ask_for(note, note.text)

    def _ask_for(self, note: Note, text: str) -> None:
        """Ask for the text of a note, `text` to begin with."""

        def written(text: str) -> None:
            if text.strip() != note.text:
                self._keep(note.written(text.strip(), time.time()))

        self.ask([Span(" ✎ ", "accent bold")], written, text)

    def _keep(self, note: Note) -> None:
        """Show `note` at once, and let a worker keep it."""
        others = [one for one in self._kept if one.subject != note.subject]
        self._kept = (*others, note) if note.says else tuple(others)
        rows, node = self.panels.transcript.data, self.panels.transcript.node
        if self.standing is not None and rows is not None and note.target is not None and node:
            nodes = {each: one for each, one in self.standing.nodes.items() if one.target != note.target}
            self.standing = replace(self.standing, nodes={**nodes, node: note} if note.says else nodes)
            rows.noted = self.standing.nodes
            self.panels.transcript.refresh_row(self.panels.transcript.cursor)

        def keep(book: Notebook) -> list[Note]:
            book.keep(note)
            return book.read()

        self._beside(keep)

    # Going

    def action_next_marked(self, step: int) -> None:
        """To the next note of the session, round and round."""
        order = [one for one in self.standing.order if one.found] if self.standing is not None else []
        if not order:
            self.say([Span("no notes or bookmarks", "dim")])
            return
        here = 0, self.index + 1, self.panels.transcript.node or 0
        if self._came_to is not None and self._came_to[1:] == here:
            here = self._rank(self._came_to[0])
        after = [one for one in order if self._rank(one) > here] if step > 0 else []
        before = [one for one in order if self._rank(one) < here] if step < 0 else []
        one = (after or order)[0] if step > 0 else (before or order)[-1]
        self.to_note(one)
        self._came_to = one, 0, self.index + 1, self.panels.transcript.node or 0

    def _rank(self, one: notes.PlacedNote) -> tuple[int, int, int]:
        """Where a note comes in the order, seen from the thread shown."""
        ids = list(self.study.session.order) if self.study is not None else []
        shown, thread = ids.index(self.thread), ids.index(one.thread) if one.thread in ids else 0
        return thread - shown, one.call or self.count + 1, one.node or 0

    def action_notes(self) -> None:
        """The list; Enter goes to one."""
        from ctxtui.tui.lists.notes import NotesScreen

        if self.study is None:
            return

        def go(one: notes.PlacedNote | None) -> None:
            if one is not None:
                self.to_note(one)

        rows = self.standing.order if self.standing is not None else ()
        self.app.push_screen(NotesScreen(rows, self.study.session.tree), go)

    def to_note(self, one: notes.PlacedNote) -> None:
        """Show what a note is about: its block where the context shown holds it, else the first call that does."""
        if not one.found:
            self.say([Span("the recording no longer holds it", "warn")])
            return
        self.to_thread(one.thread)
        rows = self.panels.transcript.data
        if one.node is None or rows is None or not rows.holds(one.node):
            self.go((one.call or self.count) - 1)
        if one.node is not None:
            self.to_block(one.node)
        if one.note.text:
            self.say([Span("✎ ", "accent"), Span(one.note.text, "ink")])

    def to_thread(self, thread: str) -> None:
        """Show a thread."""
        raise NotImplementedError

    def to_block(self, node: int) -> None:
        """Put the cursor on a block."""
        raise NotImplementedError


class _Notes(Command):
    group = "notes and bookmarks"


class Bookmark(_Notes):
    """Mark the block under the cursor with ★, or take the mark away. It stays when the recording is read anew."""

    name, action, keys = "bookmark block", "bookmark", ("asterisk",)
    needs = frozenset({BLOCK})


class BookmarkCall(_Notes):
    """Mark the call shown with ★ in the strip of calls, or take the mark away."""

    name, action, keys = "bookmark call", "bookmark_call", ("number_sign",)


class WriteNote(Bookmark):
    """Jot a note on the block under the cursor; an empty one is taken away."""

    name, action, keys = "jot a note on block", "write_note", ("J",)


class WriteOnCall(_Notes):
    """Jot a note on the call shown."""

    name, action, keys = "jot a note on call", "write_on_call", ("C",)


class NextMarked(_Notes):
    """To the next note or bookmark of the session, in the order of its calls."""

    name, action, keys = "next note or bookmark", "next_marked(1)", ("apostrophe",)
    needs = frozenset({NOTES})


class PreviousMarked(NextMarked):
    """To the note or bookmark before."""

    name, action, keys = "previous note or bookmark", "next_marked(-1)", ("quotation_mark",)


class ListNotes(NextMarked):
    """All notes and bookmarks of the session; Enter goes to one."""

    name, action, keys = "notes and bookmarks", "notes", ("B",)


NOTING: tuple[type[Command], ...] = (
    Bookmark, WriteNote, ListNotes, NextMarked, PreviousMarked, BookmarkCall, WriteOnCall,
)  # fmt: skip
