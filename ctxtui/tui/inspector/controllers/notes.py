"""Notes and bookmarks in the Inspector: set by keys, kept by a worker, marked in rows and in the strip of calls.

Commands of the inspector for notes and bookmarks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ctxtui.analysis.content import notes
from ctxtui.analysis.context_window import ContextWindow
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
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
    """Keeps notes and bookmarks, and phases: a note on a call that begins with ``phase:`` names one."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self.notebook: Notebook | None = None
        self.standing: notes.SessionNotes | None = None
        self._kept: tuple[Note, ...] = ()
        self._came_to: tuple[notes.PlacedNote, int, int, int] | None = None
        """The note that was gone to last, and where that was."""
        state.on.complete.subscribe(self.read_notes)
        state.on.worked.subscribe(self._worked)

    def facts(self) -> set[str]:
        """Whether there are any."""
        return {NOTES} if self._kept else set()

    def read_notes(self) -> None:
        """Find the notes of the session that is open; when it is read, and again when it has grown."""
        self._beside(lambda book: book.read())

    def _worked(self, done: bool) -> None:
        # Blocks with notes may stand elsewhere too.
        if done and self._kept:
            self.read_notes()

    def _beside(self, read: Callable[[Notebook], list[Note]]) -> None:
        """Let a worker do something with the notebook, then find where the notes stand."""
        loaded, source = self.state.loaded, self.state.source
        if loaded is None:
            return

        def work() -> None:
            try:
                book = self.notebook or source.notebook(loaded)
                kept = read(book)
                marked = notes.locate_notes(loaded.session, kept)
            except CtxtuiError as error:
                why = f"notes: {error}"
                self.access.deliver(lambda: self.prompt.refuse(why))
            else:
                self.access.deliver(lambda: self._stand(book, kept, marked))

        self.access.work(work, "notes")

    def _stand(self, book: Notebook, kept: list[Note], marked: notes.SessionNotes) -> None:
        """Mark what has notes."""
        self.notebook, self._kept, self.standing = book, tuple(kept), marked
        if self.panels.transcript.data is not None:
            self.panels.mark_noted(marked.nodes, marked.at_calls())
            self.state.show()

    # Setting

    def _book(self) -> Notebook | None:
        if self.notebook is None and self.state.loaded is not None and self.state.complete:
            self.notebook = self.state.source.notebook(self.state.loaded)
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

    def bookmark(self) -> None:
        """Mark the block, or not."""
        self._toggle(self._of_block(), "the block")

    def bookmark_call(self) -> None:
        """Mark the call, or not."""
        self._toggle(self._of_call(), "the call")

    def _toggle(self, note: Note | None, what: str) -> None:
        if note is not None:
            self._keep(note.with_bookmark_toggled(time.time()))
            self.say([Span(f"★ {what} is marked" if not note.bookmark else f"{what} is no longer marked", "dim")])

    def write_note(self) -> None:
        """Ask for the text of a note on the block."""
        self._write(self._of_block())

    def write_on_call(self) -> None:
        """Ask for the text of a note on the call."""
        self._write(self._of_call())

    def _write(self, note: Note | None) -> None:
        if note is not None:
            self._ask_for(note, note.text)

    def _ask_for(self, note: Note, text: str) -> None:
        """Ask for the text of a note, `text` to begin with."""

        def written(text: str) -> None:
            if text.strip() != note.text:
                self._keep(note.with_text(text.strip(), time.time()))

        self.prompt.ask_for([Span(" ✎ ", "accent bold")], written, text)

    def _keep(self, note: Note) -> None:
        """Show `note` at once, and let a worker keep it."""
        others = [one for one in self._kept if one.subject != note.subject]
        self._kept = (*others, note) if note.has_content else tuple(others)
        rows, node = self.panels.transcript.data, self.panels.transcript.node
        if self.standing is not None and rows is not None and note.target is not None and node:
            nodes = {each: one for each, one in self.standing.nodes.items() if one.target != note.target}
            self.standing = replace(self.standing, nodes={**nodes, node: note} if note.has_content else nodes)
            rows.noted = self.standing.nodes
            self.panels.transcript.refresh_row(self.panels.transcript.cursor)

        def keep(book: Notebook) -> list[Note]:
            book.store(note)
            return book.read()

        self._beside(keep)

    # Going

    def next_marked(self, step: int) -> None:
        """To the next note of the session, round and round."""
        order = [one for one in self.standing.order if one.is_found] if self.standing is not None else []
        if not order:
            self.say([Span("no notes or bookmarks", "dim")])
            return
        here = 0, self.state.index + 1, self.panels.transcript.node or 0
        if self._came_to is not None and self._came_to[1:] == here:
            here = self._rank(self._came_to[0])
        after = [one for one in order if self._rank(one) > here] if step > 0 else []
        before = [one for one in order if self._rank(one) < here] if step < 0 else []
        one = (after or order)[0] if step > 0 else (before or order)[-1]
        before_it = self._stands()
        self._to_note(one)
        if self._stands() == before_it and len(order) == 1 and not one.note.text:
            self.say([Span("the only note or bookmark stands here", "dim")])
        self._came_to = one, 0, self.state.index + 1, self.panels.transcript.node or 0

    def _stands(self) -> tuple[str, int, int]:
        return self.state.thread, self.state.index, self.panels.transcript.cursor

    def _rank(self, one: notes.PlacedNote) -> tuple[int, int, int]:
        """Where a note comes in the order, seen from the thread shown."""
        ids = list(self.state.study.session.order) if self.state.study is not None else []
        shown, thread = ids.index(self.state.thread), ids.index(one.thread) if one.thread in ids else 0
        return thread - shown, one.call or self.state.count + 1, one.node or 0

    def list_notes(self) -> None:
        """The list; Enter goes to one."""
        from ctxtui.tui.lists.notes import NotesScreen

        study = self.state.study
        if study is None:
            return

        def go(one: notes.PlacedNote | None) -> None:
            if one is not None:
                self._to_note(one)

        rows = self.standing.order if self.standing is not None else ()
        self.access.push(NotesScreen(rows, partial(study.book.category, study.session.model)), go)

    def _to_note(self, one: notes.PlacedNote) -> None:
        """Show what a note is about: its block where the context shown holds it, else the first call that does."""
        if not one.is_found:
            self.say([Span("the recording no longer holds it", "warn")])
            return
        self.state.to_thread(one.thread)
        rows = self.panels.transcript.data
        if one.node is None or rows is None or not rows.holds(one.node):
            self.state.go((one.call or self.state.count) - 1)
        self.state.to_block(one.node)
        if one.note.text:
            self.say([Span("✎ ", "accent"), Span(one.note.text)])

    # Phases

    def phases(self) -> None:
        """The chart of growth, and the table of phases."""
        from ctxtui.tui.lists.growth import NAME, GrowthScreen

        if self.state.study is None or not self.state.count:
            return

        def go(number: int | None) -> None:
            if number == NAME:
                self.name_phase()
            elif number is not None:
                self.state.go(number - 1)

        self.access.push(GrowthScreen(self._worked_out, self._growth, self.state.index + 1), go)

    def name_phase(self) -> None:
        """Ask for the name of the phase that begins with the call shown."""
        note = self._of_call()
        if note is not None:
            from ctxtui.analysis.growth.phases import NOTE_PREFIX

            self._ask_for(note, note.text or f"{NOTE_PREFIX} ")

    def _growth(self) -> GrowthReport:
        """What it means, worked out in a process of its own."""
        from ctxtui.services.workers.session_report import GROWTH

        return self.state.reported(replace(GROWTH, about=self.state.thread))

    def _worked_out(self) -> GrowthFigures:
        """Worked out in a worker. Raises `BadPattern`."""
        from ctxtui.analysis.figures import figures
        from ctxtui.analysis.growth.growth import call_sizes, grown_parts_in
        from ctxtui.analysis.growth.phases import build_phases
        from ctxtui.analysis.money.spending import SpendingRow, call_row
        from ctxtui.services.study.phase_rules import find_phases
        from ctxtui.tui.lists.growth import GrowthFigures
        from ctxtui.views.inspector.stacked_chart import StackedChart
        from ctxtui.views.lists.phases import combine

        study, known = (
            self.state.study,
            self.state.study.thread(self.state.thread) if self.state.study is not None else None,
        )
        if study is None or known is None:
            return GrowthFigures(StackedChart(()), ())
        calls, costs, book = list(known.calls), study.costs, study.book

        def tokens(call: Call) -> int:
            return call.usage.input if call.usage is not None else figures(book, call).context_tokens

        def cost(call: Call) -> tuple[SpendingRow, bool]:
            return call_row(call, costs.get(call.id), ""), call.usage is None or call.id in costs

        every = call_sizes(book, calls)
        rows = build_phases(
            calls, find_phases(study.session, calls, self.state.source.settings.phases, self._kept), tokens, cost
        )
        scene = self.panels.scene
        window = scene.limits if scene is not None else ContextWindow()
        cuts = [one.number - 1 for one in every if one.broken]
        chart = StackedChart([one.parts for one in every], window, self.state.index, cuts)
        return GrowthFigures(chart, combine(rows, [grown_parts_in(every, row) for row in rows]))


class _Notes(Command):
    group = "notes and bookmarks"


class Bookmark(_Notes):
    """Mark the block under the cursor with ★, or take the mark away. It stays when the recording is read anew."""

    name, keys = "bookmark block", ("asterisk",)
    run = Act(NotesController, NotesController.bookmark)
    needs = frozenset({BLOCK})


class BookmarkCall(_Notes):
    """Mark the call shown with ★ in the strip of calls, or take the mark away."""

    name = "bookmark call"
    run = Act(NotesController, NotesController.bookmark_call)


class WriteNote(_Notes):
    """Jot a note on the block under the cursor; an empty one is taken away."""

    name, needs = "jot a note on block", frozenset({BLOCK})
    run = Act(NotesController, NotesController.write_note)
    key_unless = frozenset({QUESTION})


class WriteOnCall(_Notes):
    """Jot a note on the call shown."""

    name = "jot a note on call"
    run = Act(NotesController, NotesController.write_on_call)
    key_unless = frozenset({QUESTION})


class NextMarked(_Notes):
    """To the next note or bookmark of the session, in the order of its calls."""

    name = "next note or bookmark"
    run = Act(NotesController, lambda it: it.next_marked(1))
    needs = frozenset({NOTES})


class PreviousMarked(NextMarked):
    """To the note or bookmark before."""

    name = "previous note or bookmark"
    run = Act(NotesController, lambda it: it.next_marked(-1))


class ListNotes(NextMarked):
    """All notes and bookmarks of the session; Enter goes to one."""

    name = "notes and bookmarks"
    run = Act(NotesController, NotesController.list_notes)


NOTING: tuple[type[Command], ...] = (
    Bookmark, WriteNote, ListNotes, NextMarked, PreviousMarked, BookmarkCall, WriteOnCall,
)  # fmt: skip
