"""Search in the inspector: typed on the prompt line, run in a worker."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from ctxtui.core.errors import BadPattern
from ctxtui.core.tree import Tree
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import ASKING, SEARCHING, SEEKING
from ctxtui.tui.highlight import highlight
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lazy import later
from ctxtui.tui.messages import Aim
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.text.signs import failed
from ctxtui.views.text.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.services.search import pattern, session_search
    from ctxtui.views.transcript import hits, search_view
else:
    session_search, pattern = later("ctxtui.services.search.session_search"), later("ctxtui.services.search.pattern")
    hits, search_view = later("ctxtui.views.transcript.hits"), later("ctxtui.views.transcript.search_view")


def _run(finder: session_search.SessionSearcher) -> None:
    # Import the highlighter here, or it would delay the first hit.
    next(highlight("pass", "python"), None)
    finder.run()


class SearchController(Controller):
    """Searches the session.

    A search is active from when its prompt opens until `esc` or an empty text; `folding` is None without one.
    """

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self.aim: Aim | None = None
        """Cursor position and query to restore once all is read."""
        self.regex = False
        self.folding: search_view.TranscriptSearch | None = None
        self._question: Question | None = None
        self._pattern: pattern.Pattern | None = None
        self._finder: session_search.SessionSearcher | None = None
        self._tree: Tree | None = None
        self._block_count = 0
        self._sightings: session_search.SessionHits | None = None
        self._hits: hits.HitList | None = None
        self._elsewhere = 0
        """Number of blocks with hits that the context shown does not have."""
        self._hit_index: int | None = None
        self._origin = 0, 0
        """Cursor row and top line of the view when the search began."""
        self._last_text = ""
        state.on.complete.subscribe(self._go_to_aim)
        state.on.changed.subscribe(self._update_hits)
        state.on.closed.subscribe(self._end)

    def facts(self) -> set[str]:
        return ({SEARCHING} if self.is_active else set()) | ({SEEKING} if self.is_typing else set())

    @property
    def is_typing(self) -> bool:
        """Whether the prompt takes the search text."""
        return self._question is not None and self.prompt.question is self._question

    @property
    def is_active(self) -> bool:
        return self.folding is not None

    def _go_to_aim(self) -> None:
        aim, study, rows = self.aim, self.state.study, self.panels.transcript.data
        if aim is None or study is None or rows is None or aim.thread not in study.session.order:
            return
        self.aim = None
        self.state.to_thread(aim.thread)
        self.state.go((aim.call or self.state.count) - 1)
        tree = study.session.tree
        node = next((each for each in rows.entries if each > 0 and tree[each].block.digest == aim.digest), None)
        self.state.to_block(node)
        self.regex, self._last_text = aim.regex, aim.words
        self.search()
        self.prompt.submit(aim.words)

    def search(self) -> None:
        rows, transcript = self.panels.transcript.data, self.panels.transcript
        if self.state.study is None or self.state.recording_end is not None or rows is None or rows.scene is None:
            self.show_message([Span("Nothing to search yet.", "dim")])
            return
        if self.folding is None:
            self.folding = search_view.TranscriptSearch(rows)
            self._origin = transcript.cursor, transcript.viewport.top
            self._hits = self._hit_index = None
        self._question = Question(
            self._lead,
            self._submit,
            text=self._last_text,
            esc="back",
            on_cancel=lambda: self._end(back=True),
            on_change=lambda: self._look_for(self.prompt.edit.text),
        )
        self.prompt.ask(self._question)
        self._look_for(self._last_text)

    @property
    def _lead(self) -> Spans:
        return [Span(" .* " if self.regex else " / ", "accent bold")]

    def toggle_regex(self) -> None:
        """Switch between regular expression and plain text.

        Outside the prompt, start with an expression.
        """
        if not self.is_typing:
            self.regex = True
            self.search()
            return
        self.regex = not self.regex
        self.prompt.edit.lead = self._lead
        self._look_for(self.prompt.edit.text)

    def _submit(self, text: str) -> None:
        """Keep the search for `n` and `N`, or end it if the text is empty."""
        if text:
            self._show_count()
        else:
            self._end()

    def _end(self, *, back: bool = False) -> bool:
        """Restore how blocks were folded, with `back` also the cursor.

        Return whether a search was active.
        """
        if self.folding is None:
            return False
        transcript = self.panels.transcript
        place = transcript.place
        self.folding.end()
        self.folding = self._pattern = self._sightings = None
        if self._finder is not None:
            self._finder.search_for(None)
        if back:
            transcript.cursor, top = self._origin
            transcript.reopen()
            transcript.scroll_to_line(top)
        else:
            transcript.update_rows(place)
        self.state.show()
        return True

    # Finding

    def _look_for(self, text: str) -> None:
        self._last_text = text
        try:
            new_pattern = pattern.Pattern(text, regex=self.regex) if text else None
        except BadPattern as error:
            self._set_right(failed(f"{error.message} "))
            return
        self._pattern, self._sightings = new_pattern, None
        if self.folding is not None:
            self.folding.set_find(new_pattern.line_spans if new_pattern is not None else None)
        self._hits, self._hit_index, self._elsewhere = None, None, 0
        self._running_finder().search_for(new_pattern)
        if new_pattern is None:
            self.panels.transcript.reopen()
            self._show_count()

    def _running_finder(self) -> session_search.SessionSearcher:
        assert self.state.study is not None
        tree = self.state.study.session.tree
        if self._finder is None or self._tree is not tree:
            if self._finder is not None:
                self._finder.close()
            self._finder = session_search.SessionSearcher(
                tree, lambda sightings: self.access.deliver(partial(self._on_sightings, sightings))
            )
            self._tree = tree
            self.access.work(partial(_run, self._finder), "search")
        self._block_count = len(tree.blocks)
        return self._finder

    def close(self) -> None:
        if self._finder is not None:
            self._finder.close()

    def _on_sightings(self, sightings: session_search.SessionHits) -> None:
        """Count the hits and go to the first one after the start of the search."""
        if self.folding is None or sightings.pattern is not self._pattern:
            return
        self._sightings = sightings
        if sightings.error is not None:
            self.prompt.refuse(str(sightings.error))
        self._count()
        if self._hit_index is None and self._hits:
            self._go_to_hit(self._first())
        else:
            self.panels.transcript.reopen()
        self._show_count()

    def _update_hits(self) -> None:
        """Count the hits again after the rows changed, and search new blocks."""
        if self.folding is None or self._sightings is None or self._pattern is None or self.state.study is None:
            return
        if self._tree is not self.state.study.session.tree:
            self._running_finder().search_for(self._pattern)
        elif len(self._tree.blocks) != self._block_count:
            self._running_finder().notify_blocks_added()
        hit = self._hits[self._hit_index] if self._hits and self._hit_index is not None else None
        self._count()
        self._hit_index = self._hits.index_of(hit) if self._hits and hit is not None else None
        self._show_count()

    def _count(self) -> None:
        rows = self.panels.transcript.data
        assert rows is not None and rows.scene is not None and self._sightings is not None
        tree, spots = rows.scene.session.tree, self._sightings.spans
        self._hits = hits.HitList(tree, rows.entries, spots)
        self._elsewhere = len(spots) - self._hits.blocks

    def _first(self) -> int:
        """Return the first hit at or after the cursor's row, else 0.

        While typing, that is the row where the search began.
        """
        rows = self.panels.transcript.data
        assert rows is not None
        row = self._origin[0] if self.is_typing else self.panels.transcript.cursor
        return self._hits.first_from(row, rows.index_of) if self._hits else 0

    def next_hit(self, step: int) -> None:
        """Go to the next hit, cyclically."""
        if self._hits:
            index = self._first() - (step > 0) if self._hit_index is None else self._hit_index
            self._go_to_hit((index + step) % len(self._hits))
        self._show_count()

    def _go_to_hit(self, index: int) -> None:
        rows, transcript = self.panels.transcript.data, self.panels.transcript
        assert rows is not None and self.folding is not None and self._hits is not None
        self._hit_index = index
        hit = self._hits[index]
        self.state.unfold(hit.node)
        line = self.folding.go(hit, transcript.grid)
        transcript.move_into_row(rows.index_of(hit.node), line)

    # Telling

    def _show_count(self) -> None:
        sightings = self._sightings
        words: list[Span] = []
        if sightings is not None and sightings.error is None:
            count = hits.describe_progress(
                self._hit_index, len(self._hits or ()), self._elsewhere, sightings.done, sightings.capped
            )
            words = [Span(count + " ", "ink" if self._hits else "warn")]
        if self.is_typing:
            self._set_right(words)
        elif self.is_active and words and self._pattern is not None:
            self.show_message(
                [Span(f"{self._pattern.text}  ", "accent"), *words, Span(" n N next, previous  esc ends", "faint")]
            )

    def _set_right(self, words: Spans) -> None:
        keys = (("⏎", " keep "), ("^x", " expression "), ("esc", " back "))
        shown = [span for key, text in keys for span in (Span(" " + key, "accent bold"), Span(text, "dim"))]
        self.prompt.edit.right = [*words, *shown] if self.access.width >= 100 else words
        self.prompt.edit.refresh()


class Search(Command):
    """Find a text in the blocks: as you type, the first hit is shown.

    `enter` keeps the search, `esc` folds all blocks as before, `^x` switches to a regular expression.
    """

    name, keys, label, short_label, group, has_priority = "search", ("slash",), "search", "find", "searching", True
    help_partners, help_row = ("SearchExpression",), ("/", "search")
    run = Act(SearchController, SearchController.search)
    key_unless = frozenset({ASKING})


class NextHit(Command):
    """Go to the next hit of the search, from the last one to the first."""

    name, keys, shown, label, short_label = "next hit", ("n",), "n N", "hits", "hit"
    part_commands: ClassVar[tuple[str, ...]] = ("NextHit", "PreviousHit")
    help_partners = ("PreviousHit",)
    help_row = ("n N", "next hit, previous hit")
    run = Act(SearchController, lambda it: it.next_hit(1))
    group = "searching"
    needs = frozenset({SEARCHING})
    key_needs = needs


class PreviousHit(NextHit):
    """Go to the previous hit, from the first one to the last."""

    name, keys, shown, label, short_label, part_commands = "previous hit", ("N",), "", "", "", ()
    run = Act(SearchController, lambda it: it.next_hit(-1))


class SearchExpression(Command):
    """Search by regular expression, or by plain text again."""

    name, keys, group = "search by regular expression", ("ctrl+x",), "searching"
    run = Act(SearchController, SearchController.toggle_regex)


SEARCH: tuple[type[Command], ...] = (Search, NextHit, PreviousHit, SearchExpression)
