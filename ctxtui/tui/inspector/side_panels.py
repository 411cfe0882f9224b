"""What the Inspector's side panes keep from one call to the next, so that each call costs only what is new in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ctxtui.analysis.content.tools import ToolUse
from ctxtui.analysis.figures import context_size, figures
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.analysis.session_events import CallEvent
from ctxtui.core.tree import Tree
from ctxtui.services.study.study import Study
from ctxtui.services.study.thread_study import ThreadStudy
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.inspector import call_strip, composition, growth_chart, heaviest, threads, toolset
from ctxtui.views.inspector.call_strip import CallStrip, Columns
from ctxtui.views.inspector.composition import Composition
from ctxtui.views.inspector.growth_chart import GrowthChart
from ctxtui.views.inspector.heaviest import Heaviest, HeaviestRow
from ctxtui.views.inspector.map import context_map
from ctxtui.views.inspector.map.context_map import ContextMap
from ctxtui.views.inspector.strip_columns import COMPACTION, GHOST, Window
from ctxtui.views.inspector.threads import ThreadRow, ThreadSums
from ctxtui.views.inspector.toolset import Toolset
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table
from ctxtui.views.transcript.context_rows import ContextRows

if TYPE_CHECKING:
    pass


Noted = Set[tuple[str, int]]
"""Calls by thread and number."""

_POINTS = 400
"""Points of the growth curve: more than it has dots."""


class Sides:
    """The view-models of composition, heaviest blocks, growth, tools and calls of one session, whose `tree` it is."""

    def __init__(self, tree: Tree) -> None:
        self._heavy = Heaviest()
        self._columns: dict[str, Columns] = {}
        self._tools = ToolUse(tree)
        self._threads = ThreadSums()
        self._composed: tuple[tuple[object, ...], Composition] | None = None
        self._mapped: tuple[tuple[object, ...], ContextMap] | None = None
        self._kinds: tuple[Sequence[CallEvent], tuple[int, int, int]] = (), (0, 0, 0)
        """Events of calls, and how many of them are misses, folds and errors."""
        self._spent: tuple[tuple[object, ...], dict[tuple[int, int], float | None]] = (), {}
        """What blocks have cost, by node and tokens, as long as the ledger and the call shown are the same."""

    def composed(self, study: Study, known: ThreadStudy, scene: Scene, shown: tuple[str, ...]) -> Composition:
        """What the context is made of, with the change since the call before and the money."""
        before = figures(study.book, scene.calls[scene.index - 1]) if scene.index else None
        ledger, money = known.ledger, None
        if ledger is not None and ledger.done >= scene.number:
            now, was = ledger.categories(scene.number), ledger.categories(scene.number - 1)
            money = tuple(a - b for a, b in zip(now, was, strict=True)), now
        # Staging changes nothing of the call shown, and its residual is looked for in all calls before it.
        book, call = study.book, scene.call
        key = (book.contexts.read_of(call), call, scene.figures, book.version, before, money, shown)
        if self._composed is None or self._composed[0] != key:
            self._composed = key, composition.composition(scene, before, money, shown)
        return self._composed[1]

    def mapped(self, scene: Scene, rows: ContextRows, node: int | None, pixels: int) -> ContextMap:
        """The map of the context, whose rows are `rows`, in `pixels`, with the cursor on `node`."""
        book, call, running = scene.book, scene.call, scene.running
        # What comes behind the call shown changes nothing of its context.
        of = (book.contexts.read_of(call), call, scene.figures, scene.limits, scene.counted)
        key = (*of, running, running.version, rows.charge, pixels)
        if self._mapped is None or self._mapped[0] != key:
            self._mapped = key, context_map.context_map(scene, rows.path, rows.charge, pixels)
        return replace(self._mapped[1], here=context_map.cursor_token(scene, node))

    def columns(self, known: ThreadStudy, scene: Scene) -> Columns:
        """The strip's columns of a thread, with what it has now."""
        columns = self._columns.setdefault(known.thread, Columns())
        columns.update(known.calls, known.events, known.missed)
        if not known.has_reports:
            running = scene.running
            heads = (call.sent_head for call in known.calls)
            columns.set_counted_sizes(
                [running.read_tokens(head, head) if running.is_counted(head) else None for head in heads]
            )
        return columns

    def strip(
        self,
        known: ThreadStudy,
        scene: Scene,
        window: Window | None,
        room: int,
        noted: Noted = frozenset(),
        ghosts: Sequence[int] = (),
    ) -> tuple[CallStrip, Window]:
        """The strip of calls in `room` columns, and the window of calls that it shows; `window` is the one before,
        `noted` are the calls with notes or bookmarks, by thread and number, `ghosts` the tokens that the calls after
        the one shown would not have had under staged edits."""
        columns = self.columns(known, scene)
        seen = call_strip.window(window, len(columns.columns), scene.index, room)
        shown = tuple(columns.columns[seen.first : seen.last + 1])
        if noted:
            shown = tuple(
                replace(column, marks=(*column.marks, "bookmark")) if (known.thread, number) in noted else column
                for number, column in enumerate(shown, seen.first + 1)
            )
        if any(ghosts):
            first = scene.index + 1
            gone = dict(enumerate(ghosts, first - seen.first))
            shown = tuple(replace(one, ghost=max(0, gone.get(at, 0))) for at, one in enumerate(shown))
        return CallStrip(shown, seen.per, scene.index - seen.first, columns.top, scene.limits.usable), seen

    def range_of(self, window: Window, known: ThreadStudy, *, ghosts: bool = False) -> list[Span]:
        """Which of the calls are in view, and what they cost, for the rule; what `ghosts` are, where there are any."""
        if len(known.calls) < 2:
            return []
        first, last, money = window.first, window.last + 1, ""
        if len(known.spent) > last and (spent := known.spent[last]) is not None:
            lacking = known.lacking[last] - known.lacking[first]
            money = numbers.least(spent - (known.spent[first] or 0.0), lacking > 0)
        shown = [Span(f"{window.first + 1:,}–{window.last + 1:,}{f'  {money}' if money else ''}", "dim")]
        return [*shown, Span("  █", GHOST), Span(" would go", "dim")] if ghosts else shown

    def legend(self, known: ThreadStudy, room: int) -> list[Span]:
        """What the marks mean and how many there are, for the rule."""
        if self._kinds[0] is not known.events:
            kinds = Counter(event.kind for event in known.events)
            folds = sum(many for kind, many in kinds.items() if kind.endswith("compaction"))
            self._kinds = known.events, (kinds["miss"], folds, kinds["error"])
        return call_strip.legend(*self._kinds[1], room)

    def heaviest(self, scene: Scene, path: Sequence[int]) -> list[int]:
        """The nodes of the heaviest blocks of the context, whose nodes are `path`."""
        return self._heavy.update(scene, path)

    def heavy(self, rows: ContextRows, known: ThreadStudy, scene: Scene, node: int) -> HeaviestRow:
        """One of the heaviest blocks, with what it has cost since it entered."""
        tokens = scene.running.block_tokens(node)
        usd = self._spent_on(known.ledger, node, tokens, scene.number) if known.ledger else None
        return HeaviestRow(node, scene.running.category(node), rows.readings.preview(node), tokens, usd)

    def _spent_on(self, ledger: CostLedger, node: int, tokens: int, calls: int) -> float | None:
        under = ledger, ledger.changes, ledger.stays.done, calls
        if self._spent[0] != under:
            self._spent = under, {}
        known = self._spent[1]
        if (node, tokens) not in known:
            known[node, tokens] = ledger.block_usd(node, tokens, calls)
        return known[node, tokens]

    def growth(self, known: ThreadStudy, scene: Scene) -> GrowthChart:
        """The growth of the thread."""
        every = [column.total for column in self.columns(known, scene).columns]
        last = max(1, len(every) - 1)
        folds = tuple((event.number - 1) / last for event in known.events if event.kind == COMPACTION)
        return GrowthChart(
            growth_chart.downsample(every, _POINTS), scene.limits.usable, scene.index, scene.limits, folds
        )

    def threads(self, study: Study) -> list[ThreadRow]:
        """The threads with their contexts, peaks and costs."""
        return self._threads.rows(study.session, study.costs, partial(context_size, study.book))

    def tools(self, scene: Scene) -> Toolset:
        """The tools of the context."""
        return toolset.toolset(scene, self._tools)


class HeaviestPane(Pane):
    """The heaviest blocks of the context; Enter goes to one. Only rows in view are made."""

    def __init__(self) -> None:
        super().__init__(title="heaviest", join="├", id="heaviest")
        self.nodes: Sequence[int] = ()
        self.money = False
        self._make: Callable[[int], heaviest.HeaviestRow] | None = None
        self._table: Table[heaviest.HeaviestRow] | None = None
        self._most = 0
        self._painted_rows: dict[int, heaviest.HeaviestRow] = {}

    def show(self, nodes: Sequence[int], most: int, money: bool, make: Callable[[int], heaviest.HeaviestRow]) -> None:
        """Other blocks, heaviest first; `make` gives the row of a node, `most` are the tokens of a full bar. The cursor
        stays on its block where that is still among them. Where nothing in view is another, nothing is painted."""
        same = (nodes, most, money) == (self.nodes, self._most, self.money)
        self._make = make
        if same and all(make(node) == row for node, row in self._painted_rows.items()):
            return
        node = self.node
        self.nodes, self._most, self.money = nodes, most, money
        self._painted_rows.clear()
        self._table = heaviest.table(most, money=money)
        self.cursor = nodes.index(node) if node in nodes else 0
        self.reload()

    @property
    def node(self) -> int | None:
        """The node under the cursor."""
        return self.nodes[self.cursor] if self.cursor < len(self.nodes) else None

    @property
    def row_count(self) -> int:
        """How many blocks are listed."""
        return len(self.nodes)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A block."""
        assert self._make is not None and self._table is not None
        here = index == self.cursor and self.has_focus
        node = self.nodes[index]
        row = self._painted_rows[node] = self._make(node)
        return self._table.draw(row, width, here=here)

    def empty(self) -> Spans:
        """While tokens are being counted."""
        return [Span("·", "faint")]

    def notes(self) -> Spans:
        """What the money means."""
        return [Span("since they entered", "dim")] if self.money else ()


class ThreadsPane(Pane):
    """The threads of the session; Enter shows one."""

    def __init__(self) -> None:
        super().__init__(title="threads", join="├", id="threads")
        self.rows: Sequence[threads.ThreadRow] = ()
        self.current = ""
        self._table: Table[threads.ThreadRow] | None = None

    def show(self, rows: Sequence[threads.ThreadRow], current: str) -> None:
        """Other threads, or another one shown."""
        if tuple(rows) == tuple(self.rows) and current == self.current:
            return
        moved = current != self.current
        self.rows, self.current, self._table = rows, current, threads.pane_table(current)
        if moved:
            self.cursor = next((i for i, row in enumerate(rows) if row.id == current), 0)
        self.reload()

    @property
    def row_count(self) -> int:
        """How many threads there are."""
        return len(self.rows)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A thread."""
        assert self._table is not None
        here = index == self.cursor and self.has_focus
        return self._table.draw(self.rows[index], width, here=here)

    def notes(self) -> Spans:
        """The heads of the figures."""
        return [Span(threads.PANE_HEADS, "dim")]
