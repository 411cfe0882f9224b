"""State of the side panes, kept between calls so that each call only costs what is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set
from functools import partial

from msgspec.structs import replace

from ctxtui.analysis.content.tools import ToolUse
from ctxtui.analysis.figures import context_size, figures
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.analysis.session_events import CallEvent
from ctxtui.core.tree import Tree
from ctxtui.services.study.study import Study
from ctxtui.services.study.thread_study import ThreadStudy
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.inspector import call_strip, composition, heaviest, threads, toolset
from ctxtui.views.inspector.call_strip import CallStrip, Columns
from ctxtui.views.inspector.composition import Composition
from ctxtui.views.inspector.growth_chart import GrowthChart
from ctxtui.views.inspector.heaviest import Heaviest, HeaviestRow
from ctxtui.views.inspector.map import context_map
from ctxtui.views.inspector.map.context_map import ContextMap
from ctxtui.views.inspector.strip_columns import COMPACTION, Window, ghost_sign
from ctxtui.views.inspector.threads import ThreadRow, ThreadSums
from ctxtui.views.inspector.toolset import Toolset
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table
from ctxtui.views.transcript.context_rows import ContextRows

NotedCalls = Set[tuple[str, int]]
"""Calls by thread and number."""


class Sides:
    """View models of composition, heaviest blocks, growth, tools and calls of one session."""

    def __init__(self, tree: Tree) -> None:
        self._heavy = Heaviest()
        self._columns: dict[str, Columns] = {}
        self._tools = ToolUse(tree)
        self._threads = ThreadSums()
        self._composition_cache: tuple[tuple[object, ...], Composition] | None = None
        self._map_cache: tuple[tuple[object, ...], ContextMap] | None = None
        self._kind_counts: tuple[Sequence[CallEvent], tuple[int, int, int, int]] = (), (0, 0, 0, 0)
        """Events, and the numbers of misses, compactions, errors and loops among them."""
        self._cost_cache: tuple[tuple[object, ...], dict[tuple[int, int], float | None]] = (), {}
        """Costs of blocks by node and tokens, for the present ledger and call."""

    def composition(self, study: Study, thread_study: ThreadStudy, scene: Scene, shown: tuple[str, ...]) -> Composition:
        """Return the composition of the context, with the change since the previous call and costs."""
        before = figures(study.book, scene.calls[scene.index - 1]) if scene.index else None
        ledger, money = thread_study.ledger, None
        if ledger is not None and ledger.done >= scene.number:
            now, was = ledger.categories(scene.number), ledger.categories(scene.number - 1)
            money = tuple(a - b for a, b in zip(now, was, strict=True)), now
        # Staging does not change the call shown, and its residual depends on all calls before it.
        book, call = study.book, scene.call
        key = (book.contexts.read_of(call), call, scene.figures, book.version, before, money, shown)
        if self._composition_cache is None or self._composition_cache[0] != key:
            self._composition_cache = key, composition.composition(scene, before, money, shown)
        return self._composition_cache[1]

    def context_map(self, scene: Scene, rows: ContextRows, node: int | None, pixels: int) -> ContextMap:
        """Return the map of the context in `pixels`, with the cursor on `node`."""
        book, call, running = scene.book, scene.call, scene.running
        # Later calls do not change the context of the call shown.
        of = (book.contexts.read_of(call), call, scene.figures, scene.limits, scene.counted)
        key = (*of, running, running.version, rows.charge, pixels)
        if self._map_cache is None or self._map_cache[0] != key:
            self._map_cache = key, context_map.context_map(scene, rows.path, rows.charge, pixels)
        return replace(self._map_cache[1], cursor_at=context_map.cursor_token(scene, node))

    def columns(self, thread_study: ThreadStudy, scene: Scene) -> Columns:
        columns = self._columns.setdefault(thread_study.thread, Columns())
        columns.update(thread_study.calls, thread_study.events, thread_study.missed)
        if not thread_study.has_reports:
            running = scene.running
            heads = (call.sent_head for call in thread_study.calls)
            columns.set_counted_sizes(
                [running.read_tokens(head, head) if running.is_counted(head) else None for head in heads]
            )
        return columns

    def strip(
        self,
        thread_study: ThreadStudy,
        scene: Scene,
        window: Window | None,
        room: int,
        noted: NotedCalls = frozenset(),
        ghosts: Sequence[int] = (),
    ) -> tuple[CallStrip, Window]:
        """Return the strip of calls in `room` columns, and the window of calls that it shows.

        `window` is the previous one, `noted` are the calls with notes or bookmarks, `ghosts` the tokens that later
        calls would not have had under staged edits.
        """
        columns = self.columns(thread_study, scene)
        visible = call_strip.window(window, len(columns.columns), scene.index, room)
        shown = tuple(columns.columns[visible.first : visible.last + 1])
        if noted:
            shown = tuple(
                replace(column, marks=(*column.marks, "bookmark")) if (thread_study.thread, number) in noted else column
                for number, column in enumerate(shown, visible.first + 1)
            )
        if any(ghosts):
            first = scene.index + 1
            gone = dict(enumerate(ghosts, first - visible.first))
            shown = tuple(replace(column, ghost=max(0, gone.get(at, 0))) for at, column in enumerate(shown))
        return CallStrip(shown, visible.per, scene.index - visible.first, columns.top, scene.limits.usable), visible

    def range_of(self, window: Window, thread_study: ThreadStudy, *, ghosts: bool, colour: bool) -> list[Span]:
        """Return the range of calls in view with their cost, and a legend for `ghosts`.

        Empty for one call.
        """
        if len(thread_study.calls) < 2:
            return []
        first, last, money = window.first, window.last + 1, ""
        if len(thread_study.spent) > last and (spent := thread_study.spent[last]) is not None:
            lacking = thread_study.lacking[last] - thread_study.lacking[first]
            money = numbers.least(spent - (thread_study.spent[first] or 0.0), lacking > 0)
        shown = [Span(f"{window.first + 1:,}–{window.last + 1:,}{f'  {money}' if money else ''}", "dim")]
        return [*shown, Span("  "), ghost_sign(colour=colour), Span(" would be freed", "dim")] if ghosts else shown

    def legend(self, thread_study: ThreadStudy, room: int) -> list[Span]:
        """Return the legend of the marks with their numbers, for the title rule."""
        if self._kind_counts[0] is not thread_study.events:
            kinds = Counter(event.kind for event in thread_study.events)
            compactions = sum(count for kind, count in kinds.items() if kind.endswith("compaction"))
            self._kind_counts = thread_study.events, (kinds["miss"], compactions, kinds["error"], kinds["loop"])
        misses, compactions, errors, loops = self._kind_counts[1]
        return call_strip.legend(misses, compactions, errors, room, loops)

    def heaviest(self, scene: Scene, path: Sequence[int]) -> list[int]:
        return self._heavy.update(scene, path)

    def heavy(self, rows: ContextRows, thread_study: ThreadStudy, scene: Scene, node: int) -> HeaviestRow:
        """Return the row of a heavy block, with its cost since it entered."""
        tokens = scene.running.block_tokens(node)
        usd = self._spent_on(thread_study.ledger, node, tokens, scene.number) if thread_study.ledger else None
        return HeaviestRow(node, scene.running.category(node), rows.readings.preview(node), tokens, usd)

    def _spent_on(self, ledger: CostLedger, node: int, tokens: int, calls: int) -> float | None:
        under = ledger, ledger.changes, ledger.lifetimes.done, calls
        if self._cost_cache[0] != under:
            self._cost_cache = under, {}
        costs = self._cost_cache[1]
        if (node, tokens) not in costs:
            costs[node, tokens] = ledger.block_usd(node, tokens, calls)
        return costs[node, tokens]

    def growth(self, thread_study: ThreadStudy, scene: Scene) -> GrowthChart:
        sizes = [column.total for column in self.columns(thread_study, scene).columns]
        last = max(1, len(sizes) - 1)
        compactions = tuple((event.number - 1) / last for event in thread_study.events if event.kind == COMPACTION)
        return GrowthChart(tuple(sizes), scene.limits.usable, scene.limits, compactions)

    def threads(self, study: Study) -> list[ThreadRow]:
        return self._threads.rows(study.session, study.costs, partial(context_size, study.book))

    def tools(self, scene: Scene) -> Toolset:
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
        """Show other blocks, heaviest first; the cursor stays on its block if it is still listed.

        `make` returns the row of a node, `most` is the size of a full bar, `money`: whether costs are shown.
        """
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
        """The node under the cursor, or None."""
        return self.nodes[self.cursor] if self.cursor < len(self.nodes) else None

    @property
    def row_count(self) -> int:
        return len(self.nodes)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        assert self._make is not None and self._table is not None
        here = index == self.cursor and self.has_focus
        node = self.nodes[index]
        row = self._painted_rows[node] = self._make(node)
        return self._table.draw(row, width, here=here)

    def empty(self) -> Spans:
        return [Span("·", "faint")]

    def notes(self) -> Spans:
        return [Span("since they entered", "dim")] if self.money else ()


class ThreadsPane(Pane):
    """The threads of the session; Enter shows one."""

    def __init__(self) -> None:
        super().__init__(title="threads", join="├", id="threads")
        self.rows: Sequence[threads.ThreadRow] = ()
        self.current = ""
        self._table: Table[threads.ThreadRow] | None = None

    def show(self, rows: Sequence[threads.ThreadRow], current: str) -> None:
        if tuple(rows) == tuple(self.rows) and current == self.current:
            return
        moved = current != self.current
        self.rows, self.current, self._table = rows, current, threads.pane_table(current)
        if moved:
            self.cursor = next((i for i, row in enumerate(rows) if row.id == current), 0)
        self.reload()

    @property
    def row_count(self) -> int:
        return len(self.rows)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        assert self._table is not None
        here = index == self.cursor and self.has_focus
        return self._table.draw(self.rows[index], width, here=here)

    def notes(self) -> Spans:
        return [Span(threads.PANE_HEADS, "dim")]
