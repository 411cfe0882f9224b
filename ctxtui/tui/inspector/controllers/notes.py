"""Notes, bookmarks and phases, set by keys and saved by a worker."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ctxtui.analysis.content import notes
from ctxtui.analysis.context_window import ContextWindow
from ctxtui.core.call import Call
from ctxtui.core.errors import BadPattern, CtxtuiError
from ctxtui.core.note import Note
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import BLOCK, NOTES, QUESTION
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.analysis.growth.feasible import GrowthReport
    from ctxtui.services.library.notebook import Notebook
    from ctxtui.tui.lists.growth import GrowthFigures


class NotesController(Controller):
    """Keeps notes and bookmarks. A note on a call that begins with ``phase:`` names a phase."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self.notebook: Notebook | None = None
        self.session_notes: notes.SessionNotes | None = None
        self._notes: tuple[Note, ...] = ()
        self._last_visited: tuple[notes.PlacedNote, int, int, int] | None = None
        """The last visited note, and the cursor then: 0 (the thread shown), call number, node."""
        state.on.complete.subscribe(self.read_notes)
        state.on.worked.subscribe(self._on_worked)

    def facts(self) -> set[str]:
        return {NOTES} if self._notes else set()

    def read_notes(self) -> None:
        self._with_notebook(lambda book: book.read())

    def _on_worked(self, done: bool) -> None:
        # New calls may contain blocks with notes.
        if done and self._notes:
            self.read_notes()

    def _with_notebook(self, read: Callable[[Notebook], list[Note]]) -> None:
        """Run `read` on the notebook in a worker, then locate the notes."""
        loaded, source = self.state.loaded, self.state.source
        if loaded is None:
            return

        def work() -> None:
            try:
                book = self.notebook or source.notebook(loaded)
                stored_notes = read(book)
                marked = notes.locate_notes(loaded.session, stored_notes)
            except CtxtuiError as error:
                why = f"notes: {error}"
                self.access.deliver(lambda: self.prompt.refuse(why))
            else:
                self.access.deliver(lambda: self._show_notes(book, stored_notes, marked))

        self.access.work(work, "notes")

    def _show_notes(self, book: Notebook, stored_notes: list[Note], marked: notes.SessionNotes) -> None:
        self.notebook, self._notes, self.session_notes = book, tuple(stored_notes), marked
        if self.panels.transcript.data is not None:
            self.panels.mark_noted(marked.nodes, marked.at_calls())
            self.state.show()

    # Setting

    def _book(self) -> Notebook | None:
        if self.notebook is None and self.state.loaded is not None and self.state.complete:
            self.notebook = self.state.source.notebook(self.state.loaded)
        return self.notebook

    def _block_note(self) -> Note | None:
        """Return the note on the block under the cursor, or an empty one; None without a block."""
        rows, node = self.panels.transcript.data, self.panels.transcript.node
        book = self._book()
        if rows is None or not node or book is None or rows.scene is None:
            return None
        target = notes.target_of(rows.scene.session.tree, node)
        existing = next((note for note in self._notes if note.target == target), None)
        says = rows.readings.preview(node)
        return existing or book.on_block(target, f"{says.label} {says.text}".strip())

    def _call_note(self) -> Note | None:
        """Return the note on the call shown, or an empty one; None without a call."""
        scene, book = self.panels.scene, self._book()
        if scene is None or book is None or not scene.calls:
            return None
        existing = next((note for note in self._notes if note.target is None and note.call == scene.call.id), None)
        return existing or book.on_call(scene.call.id, scene.call.model)

    def bookmark(self) -> None:
        self._toggle(self._block_note(), "the block")

    def bookmark_call(self) -> None:
        self._toggle(self._call_note(), "the call")

    def _toggle(self, note: Note | None, what: str) -> None:
        if note is not None:
            self._save(note.with_bookmark_toggled(time.time()))
            self.show_message(
                [Span(f"★ {what} is bookmarked" if not note.bookmark else f"bookmark removed from {what}", "dim")]
            )

    def write_note(self) -> None:
        self._write(self._block_note())

    def write_on_call(self) -> None:
        self._write(self._call_note())

    def _write(self, note: Note | None) -> None:
        if note is not None:
            self._ask_for(note, note.text)

    def _ask_for(self, note: Note, text: str) -> None:
        def written(text: str) -> None:
            if text.strip() != note.text:
                self._save(note.with_text(text.strip(), time.time()))

        self.prompt.ask_for([Span(" ✎ ", "accent bold")], written, text)

    def _save(self, note: Note) -> None:
        """Save `note` in a worker; a mark on a block is shown at once."""
        other_notes = tuple(each for each in self._notes if each.subject != note.subject)
        self._notes = (*other_notes, note) if note.has_content else other_notes
        rows, node = self.panels.transcript.data, self.panels.transcript.node
        if self.session_notes is not None and rows is not None and note.target is not None and node:
            nodes = {each: placed for each, placed in self.session_notes.nodes.items() if placed.target != note.target}
            self.session_notes = replace(self.session_notes, nodes={**nodes, node: note} if note.has_content else nodes)
            rows.noted = self.session_notes.nodes
            self.panels.transcript.refresh_row(self.panels.transcript.cursor)

        def keep(book: Notebook) -> list[Note]:
            book.store(note)
            return book.read()

        self._with_notebook(keep)

    # Going

    def go_to_next(self, step: int) -> None:
        """Go to the next note of the session (`step` 1) or the previous one (-1), cyclically."""
        order = (
            [placed for placed in self.session_notes.order if placed.is_found] if self.session_notes is not None else []
        )
        if not order:
            self.show_message([Span("The recording no longer contains a block or call with a note.", "dim")])
            return
        position = 0, self.state.index + 1, self.panels.transcript.node or 0
        if self._last_visited is not None and self._last_visited[1:] == position:
            position = self._rank(self._last_visited[0])
        after = [placed for placed in order if self._rank(placed) > position] if step > 0 else []
        before = [placed for placed in order if self._rank(placed) < position] if step < 0 else []
        placed = (after or order)[0] if step > 0 else (before or order)[-1]
        previous = self._cursor_position()
        self._to_note(placed)
        if self._cursor_position() == previous and len(order) == 1 and not placed.note.text:
            self.show_message([Span("This is the only note or bookmark.", "dim")])
        self._last_visited = placed, 0, self.state.index + 1, self.panels.transcript.node or 0

    def _cursor_position(self) -> tuple[str, int, int]:
        return self.state.thread, self.state.index, self.panels.transcript.cursor

    def _rank(self, placed: notes.PlacedNote) -> tuple[int, int, int]:
        """Return the sort key of a note, relative to the thread shown."""
        ids = list(self.state.study.session.order) if self.state.study is not None else []
        # Before its first call a thread is not in the order.
        shown, thread = (ids.index(id_) if id_ in ids else 0 for id_ in (self.state.thread, placed.thread))
        return thread - shown, placed.call or self.state.count + 1, placed.node or 0

    def list_notes(self) -> None:
        from ctxtui.tui.lists.notes import NotesScreen

        study = self.state.study
        if study is None:
            return

        def go(note: notes.PlacedNote | None) -> None:
            if note is not None:
                self._to_note(note)

        rows = self.session_notes.order if self.session_notes is not None else ()
        self.access.push(NotesScreen(rows, partial(study.book.category, study.session.model)), go)

    def _to_note(self, placed: notes.PlacedNote) -> None:
        """Show the note's block if the context has it, else the first call that does."""
        if not placed.is_found:
            self.show_message([Span("The recording no longer contains it.", "warn")])
            return
        self.state.to_thread(placed.thread)
        rows = self.panels.transcript.data
        if placed.node is None or rows is None or not rows.holds(placed.node):
            self.state.go((placed.call or self.state.count) - 1)
        self.state.to_block(placed.node)
        if placed.note.text:
            self.show_message([Span("✎ ", "accent"), Span(placed.note.text)])

    # Phases

    def phases(self) -> None:
        from ctxtui.tui.lists.growth import NAME_PHASE, GrowthScreen

        if self.state.study is None or not self.state.count:
            return

        def go(number: int | None) -> None:
            if number == NAME_PHASE:
                self.name_phase()
            elif number is not None:
                self.state.go(number - 1)

        self.access.push(GrowthScreen(self._growth_figures, self._growth, self.state.index + 1), go)

    def name_phase(self) -> None:
        note = self._call_note()
        if note is not None:
            from ctxtui.analysis.growth.phases import NOTE_PREFIX

            self._ask_for(note, note.text or f"{NOTE_PREFIX} ")

    def _growth(self) -> GrowthReport:
        """Return the growth report, computed in a separate process."""
        from ctxtui.services.workers.session_report import GROWTH

        return self.state.report(replace(GROWTH, about=self.state.thread))

    def _growth_figures(self) -> GrowthFigures:
        """Return chart and phases; runs in a worker."""
        from ctxtui.analysis.figures import figures
        from ctxtui.analysis.growth.growth import call_sizes, grown_parts_in
        from ctxtui.analysis.growth.phases import build_phases
        from ctxtui.analysis.money.spending import SpendingRow, call_row
        from ctxtui.services.study.phase_rules import find_phases
        from ctxtui.tui.lists.growth import GrowthFigures
        from ctxtui.views.inspector.stacked_chart import StackedChart
        from ctxtui.views.lists.phases import combine

        study = self.state.study
        if study is None:
            return GrowthFigures(StackedChart(()), ())
        calls, costs, book = list(study.thread(self.state.thread).calls), study.costs, study.book

        def tokens(call: Call) -> int:
            return call.usage.input if call.usage is not None else figures(book, call).context_tokens

        def cost(call: Call) -> tuple[SpendingRow, bool]:
            return call_row(call, costs.get(call.id), ""), call.usage is None or call.id in costs

        sizes = call_sizes(book, calls)
        scene = self.panels.scene
        window = scene.limits if scene is not None else ContextWindow()
        cuts = [call_growth.number - 1 for call_growth in sizes if call_growth.broken]
        chart = StackedChart([call_growth.parts for call_growth in sizes], window, self.state.index, cuts)
        try:
            starts = find_phases(study.session, calls, self.state.source.settings.phases, self._notes)
        except BadPattern as error:
            return GrowthFigures(chart, (), f"setting phases: {error}")
        rows = build_phases(calls, starts, tokens, cost)
        return GrowthFigures(chart, combine(rows, [grown_parts_in(sizes, row) for row in rows]))


class _NoteCommand(Command):
    group = "notes and bookmarks"


class Bookmark(_NoteCommand):
    """Set or remove a bookmark (★) on the block under the cursor.

    It stays when the recording is read again.
    """

    name, keys = "bookmark block", ("asterisk",)
    run = Act(NotesController, NotesController.bookmark)
    needs = frozenset({BLOCK})


class BookmarkCall(_NoteCommand):
    """Set or remove a bookmark (★) on the call shown, in the strip of calls."""

    name = "bookmark call"
    run = Act(NotesController, NotesController.bookmark_call)


class WriteNote(_NoteCommand):
    """Write a note on the block under the cursor; an empty text deletes it."""

    name, needs = "write a note on block", frozenset({BLOCK})
    synonyms = ("jot a note on block",)
    run = Act(NotesController, NotesController.write_note)
    key_unless = frozenset({QUESTION})


class WriteOnCall(_NoteCommand):
    """Write a note on the call shown."""

    name = "write a note on call"
    synonyms = ("jot a note on call",)
    run = Act(NotesController, NotesController.write_on_call)
    key_unless = frozenset({QUESTION})


class NextMarked(_NoteCommand):
    """Go to the next note or bookmark of the session, in the order of calls."""

    name = "next note or bookmark"
    run = Act(NotesController, lambda it: it.go_to_next(1))
    needs = frozenset({NOTES})


class PreviousMarked(NextMarked):
    """Go to the previous note or bookmark."""

    name = "previous note or bookmark"
    run = Act(NotesController, lambda it: it.go_to_next(-1))


class ListNotes(NextMarked):
    """List all notes and bookmarks of the session; Enter goes to one."""

    name = "notes and bookmarks"
    run = Act(NotesController, NotesController.list_notes)


NOTING: tuple[type[Command], ...] = (
    Bookmark, WriteNote, ListNotes, NextMarked, PreviousMarked, BookmarkCall, WriteOnCall,
)  # fmt: skip
