"""Searching in the Inspector: typed at the bottom, found in a worker, shown in the transcript.

Commands of the inspector that search.
"""

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


def _run(one: session_search.SessionSearcher) -> None:
    # What opening a block with code in it imports would else halt the first hit.
    next(highlight("pass", "python"), None)
    one.run()


class SearchController(Controller):
    """Searches the session.

    A search is on from the first key in the prompt until `esc`; `sought` holds how the blocks were folded before.
    """

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self.aim: Aim | None = None
        """Where to stand, and what to search for, once all is read."""
        self.regex = False
        self.sought: search_view.TranscriptSearch | None = None
        self._question: Question | None = None
        self._wanted: pattern.Pattern | None = None
        self._finder: session_search.SessionSearcher | None = None
        self._tree: Tree | None = None
        self._blocks = 0
        self._found: session_search.SessionHits | None = None
        self._hits: hits.HitList | None = None
        self._elsewhere = 0
        self._at: int | None = None
        self._origin = 0, 0
        """Row of the cursor and top line of the view when the search began."""
        self._last = ""
        state.on.complete.subscribe(self._to_aim)
        state.on.changed.subscribe(self._refind)
        state.on.closed.subscribe(self._end)

    def facts(self) -> set[str]:
        """Whether a search is on, and whether its text is being typed."""
        return ({SEARCHING} if self.searching else set()) | ({SEEKING} if self.seeking else set())

    @property
    def seeking(self) -> bool:
        """Whether the prompt takes what to search for."""
        return self._question is not None and self.prompt.question is self._question

    @property
    def searching(self) -> bool:
        """Whether a search is on."""
        return self.sought is not None

    def _to_aim(self) -> None:
        """Where the session was opened at a hit, go there."""
        aim, study, rows = self.aim, self.state.study, self.panels.transcript.data
        if aim is None or study is None or rows is None or aim.thread not in study.session.order:
            return
        self.aim = None
        self.state.to_thread(aim.thread)
        self.state.go((aim.call or self.state.count) - 1)
        tree = study.session.tree
        node = next((each for each in rows.entries if each > 0 and tree[each].block.digest == aim.digest), None)
        self.state.to_block(node)
        self.regex, self._last = aim.regex, aim.words
        self.search()
        self.prompt.submit(aim.words)

    def search(self) -> None:
        """Ask what to search for."""
        rows, transcript = self.panels.transcript.data, self.panels.transcript
        if self.state.study is None or self.state.glimpse is not None or rows is None or rows.scene is None:
            self.say([Span("there is nothing to search yet", "dim")])
            return
        if self.sought is None:
            self.sought = search_view.TranscriptSearch(rows)
            self._origin = transcript.cursor, transcript.viewport.top
            self._hits = self._at = None
        self._question = Question(
            self._lead,
            self._kept_search,
            text=self._last,
            esc="back",
            on_cancel=lambda: self._end(back=True),
            on_change=lambda: self._look_for(self.prompt.edit.text),
        )
        self.prompt.ask(self._question)
        self._look_for(self._last)

    @property
    def _lead(self) -> Spans:
        return [Span(" .* " if self.regex else " / ", "accent bold")]

    def expression(self) -> None:
        """A regular expression, or a plain text; where nothing is being typed, the search begins with one."""
        if not self.seeking:
            self.regex = True
            self.search()
            return
        self.regex = not self.regex
        self.prompt.edit.lead = self._lead
        self._look_for(self.prompt.edit.text)

    def _kept_search(self, text: str) -> None:
        """Keep the search: `n` and `N` go on."""
        if text:
            self._tell()
        else:
            self._end()

    def _end(self, *, back: bool = False) -> bool:
        """Fold everything as it was; with `back` the cursor stands where it stood, too. Whether a search was on."""
        if self.sought is None:
            return False
        transcript = self.panels.transcript
        place = transcript.place
        self.sought.end()
        self.sought = self._wanted = self._found = None
        if self._finder is not None:
            self._finder.search_for(None)
        if back:
            transcript.cursor, top = self._origin
            transcript.reopen()
            transcript.scroll_to_line(top)
        else:
            transcript.changed(place)
        self.state.show()
        return True

    # Finding

    def _look_for(self, text: str) -> None:
        """Search for `text` from now on."""
        self._last = text
        try:
            wanted = pattern.Pattern(text, regex=self.regex) if text else None
        except BadPattern as error:
            self._right(failed(f"{error.message} "))
            return
        self._wanted, self._found = wanted, None
        if self.sought is not None:
            self.sought.set_find(wanted.line_spans if wanted is not None else None)
        self._hits, self._at, self._elsewhere = None, None, 0
        self._thread().search_for(wanted)
        if wanted is None:
            self.panels.transcript.reopen()
            self._tell()

    def _thread(self) -> session_search.SessionSearcher:
        assert self.state.study is not None
        tree = self.state.study.session.tree
        if self._finder is None or self._tree is not tree:
            if self._finder is not None:
                self._finder.close()
            self._finder = session_search.SessionSearcher(
                tree, lambda found: self.access.deliver(partial(self._sighted, found))
            )
            self._tree = tree
            self.access.work(partial(_run, self._finder), "search")
        self._blocks = len(tree.blocks)
        return self._finder

    def close(self) -> None:
        """The thread ends with the screen."""
        if self._finder is not None:
            self._finder.close()

    def _sighted(self, found: session_search.SessionHits) -> None:
        """Count the hits, and stand at the first one from where the search began."""
        if self.sought is None or found.pattern is not self._wanted:
            return
        self._found = found
        if found.error is not None:
            self.prompt.refuse(str(found.error))
        self._count()
        if self._at is None and self._hits:
            self._go(self._first())
        else:
            self.panels.transcript.reopen()
        self._tell()

    def _refind(self) -> None:
        """The rows are others: count anew; where the session has grown, search what is new."""
        if self.sought is None or self._found is None or self._wanted is None or self.state.study is None:
            return
        if self._tree is not self.state.study.session.tree:
            self._thread().search_for(self._wanted)
        elif len(self._tree.blocks) != self._blocks:
            self._thread().search_new()
        here = self._hits[self._at] if self._hits and self._at is not None else None
        self._count()
        self._at = self._hits.index_of(here) if self._hits and here is not None else None
        self._tell()

    def _count(self) -> None:
        rows = self.panels.transcript.data
        assert rows is not None and rows.scene is not None and self._found is not None
        tree, spots = rows.scene.session.tree, self._found.spans
        self._hits = hits.HitList(tree, rows.entries, spots)
        self._elsewhere = len(spots) - self._hits.blocks

    def _first(self) -> int:
        """The first hit from the cursor's row on, else the first of all."""
        rows = self.panels.transcript.data
        assert rows is not None
        row = self._origin[0] if self.seeking else self.panels.transcript.cursor
        return self._hits.first_from(row, rows.index_of) if self._hits else 0

    def next_hit(self, step: int) -> None:
        """To the next hit, round and round."""
        if self._hits:
            at = self._first() - (step > 0) if self._at is None else self._at
            self._go((at + step) % len(self._hits))
        self._tell()

    def _go(self, at: int) -> None:
        rows, transcript = self.panels.transcript.data, self.panels.transcript
        assert rows is not None and self.sought is not None and self._hits is not None
        self._at = at
        hit = self._hits[at]
        self.state.unfold(hit.node)
        line = self.sought.go(hit, transcript.grid)
        transcript.stand(rows.index_of(hit.node), line)

    # Telling

    def _tell(self) -> None:
        found = self._found
        words: list[Span] = []
        if found is not None and found.error is None:
            count = hits.describe_progress(self._at, len(self._hits or ()), self._elsewhere, found.done, found.capped)
            words = [Span(count + " ", "ink" if self._hits else "warn")]
        if self.seeking:
            self._right(words)
        elif self.searching and words and self._wanted is not None:
            self.say([Span(f"{self._wanted.text}  ", "accent"), *words, Span(" n N next, previous  esc ends", "faint")])

    def _right(self, words: Spans) -> None:
        keys = (("⏎", " keep "), ("^x", " expression "), ("esc", " back "))
        shown = [span for key, text in keys for span in (Span(" " + key, "accent bold"), Span(text, "dim"))]
        self.prompt.edit.right = [*words, *shown] if self.access.width >= 100 else words
        self.prompt.edit.refresh()


class Search(Command):
    """Find a text in the blocks: each key shows the next hit. `enter` keeps it, `esc` folds all as it was,
    `^x` takes it as a regular expression."""

    name, keys, label, short, group, first = "search", ("slash",), "search", "find", "searching", True
    beside, together = ("SearchExpression",), ("/", "search")
    run = Act(SearchController, SearchController.search)
    key_unless = frozenset({ASKING})


class NextHit(Command):
    """To the next hit of the search, from the last one to the first."""

    name, keys, shown, label, short = "next hit", ("n",), "n N", "hits", "hit"
    parts: ClassVar[tuple[str, ...]] = ("NextHit", "PreviousHit")
    beside = ("PreviousHit",)
    together = ("n N", "next hit, previous hit")
    run = Act(SearchController, lambda it: it.next_hit(1))
    group = "searching"
    needs = frozenset({SEARCHING})
    key_needs = needs


class PreviousHit(NextHit):
    """To the hit before, from the first one to the last."""

    name, keys, shown, label, short, parts = "previous hit", ("N",), "", "", "", ()
    run = Act(SearchController, lambda it: it.next_hit(-1))


class SearchExpression(Command):
    """What is searched for is a regular expression, or a plain text again."""

    name, keys, group = "search by regular expression", ("ctrl+x",), "searching"
    run = Act(SearchController, SearchController.expression)


SEARCH: tuple[type[Command], ...] = (Search, NextHit, PreviousHit, SearchExpression)
