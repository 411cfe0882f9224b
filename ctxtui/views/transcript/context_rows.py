"""The transcript's rows and lines for the scene shown, computed on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.core.block import HEADER, UNREADABLE
from ctxtui.core.call import answer_path
from ctxtui.core.category import CATEGORIES, INDEX
from ctxtui.core.note import Note
from ctxtui.core.tree import ROOT, Node, Tree
from ctxtui.views.blocks.markdown import Highlight
from ctxtui.views.model.block_cache import Readings
from ctxtui.views.model.call_charge import Charge, ChargeCache
from ctxtui.views.model.preview import Preview
from ctxtui.views.model.scene import Scene, shown_category
from ctxtui.views.text import numbers
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.signs import CATEGORY, MARK, REPEAT, of_note
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript import block_details, rows
from ctxtui.views.transcript.block_details import if_on_path
from ctxtui.views.transcript.open_block import EXTENSION_FACTOR, Bodies, OpenState, body_line
from ctxtui.views.transcript.row_index import MISSING, Boundaries, PathNodes, RowIndex, RuleRow
from ctxtui.views.transcript.rows import TranscriptRow

if TYPE_CHECKING:
    from ctxtui.analysis.content.duplicates import Duplicate
    from ctxtui.analysis.content.search import Find
    from ctxtui.analysis.money.ledger import CostLedger
    from ctxtui.views.blocks.body import Body
    from ctxtui.views.model.staging import InsertedBlock, Staging
    from ctxtui.views.transcript.reading import Reading
    from ctxtui.views.transcript.staged_rows import StagedRows


MAX_CACHED: Final = 2000


class RowCache:
    """Creates block rows, reusing a row while its inputs are equal."""

    def __init__(self) -> None:
        self._inputs: object = None
        self._rows: dict[int, tuple[tuple[Preview, str, Span], TranscriptRow]] = {}

    def show(self, scene: Scene, charge: Charge | None) -> None:
        """Forget the rows if what they depend on in `scene` changed."""
        running, head = scene.running, scene.head
        if not scene.counted:
            # Not cached while it is being counted.
            self._inputs = None
            self._rows.clear()
            return
        inputs = (
            head,
            running,
            running.version,
            len(running.moved_categories),
            scene.book.contexts.absences_at(head),
            charge,
            scene.partial,
        )
        if self._inputs != inputs:
            self._inputs = inputs
            self._rows.clear()

    def row(
        self, scene: Scene, node: Node, says: Preview, charge: Charge | None, sent: bool, call: str, cost: Span
    ) -> TranscriptRow:
        inputs, cached = (says, call, cost), self._rows.get(node.id)
        if cached is not None and cached[0] == inputs:
            return cached[1]
        created = rows.block_row(scene, node, says, charge, sent=sent, call=call, cost=cost)
        # Not cached: turn numbers may change when the call comes, and uncounted blocks will be counted soon.
        if self._inputs is not None and scene.running.is_counted(node.id) and not node.opens_turn:
            if len(self._rows) >= MAX_CACHED:
                self._rows.clear()
            self._rows[node.id] = inputs, created
        return created


class LineCache:
    """Draws block rows, reusing a line while its inputs are equal."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[object, Spans]] = {}

    def draw(self, node: int, row: TranscriptRow, grid: Grid, cursor: str, staging: Staging | None) -> Spans:
        fate, mark, broken = None, "", False
        if staging is not None:
            fate, mark, broken = staging.fate(node), staging.mark(node), staging.is_behind_break(node)
        inputs = row, grid, cursor, fate, mark, broken, staging is not None
        cached = self._lines.get(node)
        if cached is not None and cached[0] == inputs:
            return cached[1]
        if staging is None:
            line: Spans = rows.draw(row, grid, cursor)
        else:
            # Late import: most sessions have no edits.
            from ctxtui.views.transcript import staged_rows

            line = staged_rows.draw(row, grid, cursor, fate, mark, broken=broken)
        if len(self._lines) >= MAX_CACHED:
            self._lines.clear()
        self._lines[node] = inputs, line
        return line


class Tails:
    """Finds the tails of the call shown: its answer, then the blocks that are not sent yet."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._since = ROOT, ROOT, ROOT
        """Cache: an answer, the last unsent node after it, and the first one."""

    def find(self, scene: Scene) -> tuple[int, list[tuple[RuleRow, int]]]:
        """The node at which the first rows end, and for each tail after it a rule and its last node."""
        tree, call, tip = self._tree, scene.call, scene.tip
        answer = call.response_head or scene.head
        if tip != answer and not tree.holds(tip, answer):
            # A held request may encode the answer differently, or start again: it is shown as it would be sent.
            # What it shares with the last call, as sent or as the program made it, is nothing new.
            shared = (tree.common(tip, head) for head in (scene.head, call.raw_head))
            head = max(shared, key=lambda node: tree[node].depth)
            while tree[head].kind == HEADER:
                head = tree[head].parent
            rest = tree.path(tip, head)
            return head, [(RuleRow("since", "not sent yet", rest[0]), tip)] if rest else []
        tails = []
        answer_nodes = answer_path(tree, call)
        if answer_nodes:
            text = f"{numbers.tokens(call.output)} tokens reported"
            if not call.is_reported:
                text = "not reported" if call.is_partial else ""
            elif call.is_partial:
                text = f"{numbers.least_tokens(call.output, True)} tokens"
            tails.append((RuleRow("answer", text, answer_nodes[0]), answer))
        if tip != answer:
            tails.append((RuleRow("since", "not sent yet", self._first(tip, answer)), tip))
        return scene.head, tails

    def _first(self, tip: int, answer: int) -> int:
        known_answer, before, first = self._since
        if known_answer != answer or before == ROOT or not self._tree.holds(tip, before):
            first = self._tree.path(tip, answer)[0]
        self._since = answer, tip, first
        return first


LINE, FULL, HIDDEN = "line", "full", "hidden"
DISPLAY_MODES: Final = (LINE, FULL, HIDDEN)
"""Display modes of a category, in the order of its key."""
_ALL_LINE: Final = (LINE,) * len(CATEGORIES)
INSERT_LINES: Final = 400
"""Lines shown of an opened insert."""
_TEXTS: Final = frozenset(INDEX[name] for name in ("user", "assistant", "thinking", "summary"))
"""Categories of plain text: the row of an open block shows only the category, as the text is below it."""


class ContextRows:
    """The rows of one session's contexts. Only `show` changes the scene."""

    _tails: Tails | None = None
    _listed: Sequence[int] = ()
    """Nodes and rules of the rows."""

    def __init__(self, readings: Readings, highlight: Highlight | None = None) -> None:
        self.readings = readings
        self.bodies = Bodies(readings, highlight)
        self.opened: dict[int, OpenState] = {}
        self.folded: set[int] = set()
        self.scene: Scene | None = None
        self.ledger: CostLedger | None = None
        self.charge: Charge | None = None
        self.shown: tuple[str, ...] = _ALL_LINE
        self.preview_lines = 6
        self.noted: Mapping[int, Note] = {}
        """Notes and bookmarks by node."""
        self.lifetimes: BlockLifetimes | None = None
        self.repeats: Mapping[int, Duplicate] = {}
        """Duplicates in the thread's contexts, by node."""
        self.find: Find | None = None
        """Finds search hits in a line."""
        self.current_hit: tuple[int, int] | None = None
        """Current search hit: a node, and the index in its open body."""
        self.staging: Staging | None = None
        """The scene under edits; with `only_edits` untouched rows are folded."""
        self.only_edits = False
        self.marked: frozenset[int] = frozenset()
        """Nodes marked by the user."""
        self.reading: Reading | None = None
        """The reading layout, if it is active."""
        self.read: set[str] = set()
        """Edits whose inserts the user has opened."""
        self._open_inserts: dict[str, OpenState] = {}
        self._line_cache, self._row_cache = LineCache(), RowCache()
        self._unfolded: set[int] = set()
        self._rows: RowIndex | None = None
        self._staged: StagedRows | None = None
        self._path_nodes: PathNodes | None = None
        self._charge_cache = ChargeCache()

    def show(self, scene: Scene, boundaries: Boundaries, ledger: CostLedger | None, shown: tuple[str, ...]) -> None:
        """Show another call, or the same one with more data.

        `shown` has the display mode of each category.
        """
        if self._rows is None or self._path_nodes is None or self._tails is None:
            tree = scene.session.tree
            self._rows, self._path_nodes, self._tails = RowIndex(tree), PathNodes(tree), Tails(tree)
        if self.scene is not None and scene.call is not self.scene.call:
            # What is not recorded, labels and costs of images differ from call to call.
            self.bodies.clear()
        self.scene, self.ledger, self.shown = scene, ledger, shown
        self.charge = self._charge_cache.get(scene, self._path_nodes.show(scene.head))
        self._row_cache.show(scene, self.charge)
        self._rows.show(
            *self._tails.find(scene),
            boundaries=boundaries.at,
            hidden=frozenset(category for category, how in enumerate(shown) if how == HIDDEN),
            moved=scene.running.moved_categories,
            missing=scene.missing > 0,
            partial=scene.partial,
        )
        self._apply_staging()

    def _apply_staging(self) -> None:
        self._staged = None
        if self.staging is not None and self._rows is not None:
            # Late import: most sessions have no edits.
            from ctxtui.views.transcript.staged_rows import StagedRows

            only = (self.marked | self._unfolded) if self.only_edits else None
            self._staged = StagedRows(self.staging, self._rows, only)
        rows = self._list
        self._listed = rows.entries if rows is not None else ()

    @property
    def is_folding(self) -> bool:
        return self.only_edits and self._staged is not None

    def fold(self) -> None:
        self._unfolded.clear()

    def unfold(self, node: int) -> bool:
        """Show the row of `node` and its neighbours if it is folded; return whether it was."""
        if not self.is_folding or self.entry(self.index_of(node)) == node:
            return False
        self._unfolded.add(node)
        self._apply_staging()
        return True

    @property
    def path(self) -> Sequence[int]:
        return self._path_nodes.nodes if self._path_nodes is not None else ()

    @property
    def _list(self) -> RowIndex | StagedRows | None:
        return self._rows if self._staged is None else self._staged

    @property
    def count(self) -> int:
        return len(self._listed)

    @property
    def blocks(self) -> int:
        return self._rows.context_blocks if self._rows is not None else 0

    @property
    def entries(self) -> Sequence[int]:
        """Nodes and rules of all rows, folded ones included."""
        return self._rows.entries if self._rows is not None else ()

    def entry(self, index: int) -> int:
        """The node of row `index`; `MISSING` for unrecorded content, negative for other rows."""
        return self._listed[index]

    def insert_at(self, index: int) -> InsertedBlock | None:
        """The block that an unsent edit inserts at row `index`; None for other rows."""
        return self._staged.insert_at(self.entry(index)) if self._staged is not None else None

    def sent_insert_at(self, index: int) -> InsertedBlock | None:
        """The block of row `index` if a sent edit inserted it; else None."""
        entry = self.entry(index)
        return self.staging.insert_of(entry) if self.staging is not None and entry > 0 else None

    def open_insert(self, edit: str) -> int | None:
        """Open the insert of edit `edit`; returns its row, None if it has none."""
        row_index = next((row for row, new in self.inserts if new.edit.id == edit), None)
        if row_index is not None and self.open_state(row_index) is None:
            self.toggle(row_index)
        return row_index

    @property
    def inserts(self) -> list[tuple[int, InsertedBlock]]:
        return self._staged.inserts if self._staged is not None else []

    def rule_at(self, index: int) -> RuleRow | None:
        """The rule in row `index`; None for blocks, inserts and folded rows."""
        entry = self.entry(index)
        if entry >= 0 or self._list is None or self.insert_at(index) is not None or self.is_folded(index):
            return None
        return self._list.rule(entry)

    def insert_before(self, at: int) -> int | None:
        return self._staged.insert_before(at) if self._staged is not None else None

    def holds(self, node: int) -> bool:
        """Whether `node` is in the context, its answer, or the unsent blocks; true for the root."""
        if self.scene is None or self._rows is None:
            return False
        return node == ROOT or self._is_sent(node) or self._rows.is_in_tail(node)

    def _is_sent(self, node: int) -> bool:
        at = self.readings.tree[node].depth - 1
        return at < len(self.path) and self.path[at] == node

    def index_of(self, node: int) -> int:
        assert self._list is not None and self.scene is not None
        return self._list.index_of(node)

    def turn_row(self, index: int) -> int | None:
        """The first row of the turn of row `index`, if it is visible above it."""
        entry = self.entry(index)
        if entry <= 0 or self.scene is None:
            return None
        start = self.scene.session.tree[entry].turn_start
        if start in (ROOT, entry):
            return None
        row = self.index_of(start)
        return row if row < index and self.entry(row) == start else None

    def row(self, index: int, *, history: bool = True) -> rows.TranscriptRow | RuleRow:
        """Row `index` as a view model; with its call and cost only if `history`."""
        assert self._list is not None and self.scene is not None
        entry, scene = self._listed[index], self.scene
        if entry < 0:
            return self._list.rule(entry)
        if entry == MISSING:
            return rows.missing_row(scene, self.charge)
        node = scene.session.tree[entry]
        call, cost = block_details.call_and_cost(scene, self.ledger, entry) if history else ("", rows.EMPTY_SPAN)
        says, sent = self.readings.preview(entry), self._is_sent(entry)
        block_row = self._row_cache.row(scene, node, says, self.charge, sent, call, cost)
        if self._rows is not None and list(self._rows.withheld[:1]) == [entry]:
            block_row = rows.withheld_row(block_row, scene, self._rows.withheld)
        note, repeat = self.noted.get(entry), self._repeat(entry)
        if repeat is not None:
            block_row = replace(block_row, mark=REPEAT[repeat.kind].span)
        if entry in self.marked:
            block_row = replace(block_row, mark=MARK["marked"].span)
        return block_row if note is None else replace(block_row, note=of_note(note))

    def _repeat(self, node: int) -> Duplicate | None:
        repeat = self.repeats.get(node)
        return repeat and if_on_path(self.readings.tree, self.path, repeat)

    def details(self, index: int, room: int) -> list[list[Span]]:
        entry = self.entry(index)
        if self.scene is None:
            return []
        return block_details.details(self.scene, entry, self.lifetimes, self._repeat(entry), room)

    def is_user_row(self, index: int) -> bool:
        entry = self.entry(index)
        return entry > 0 and self.scene is not None and rows.is_user_text(self.scene.session.tree[entry])

    def open_state(self, index: int) -> OpenState | None:
        """The open state of row `index`; None if it is one line."""
        entry = self.entry(index)
        if entry < 0:
            new = self.insert_at(index) if self._open_inserts else None
            return self._open_inserts.get(new.edit.id) if new is not None else None
        state = self.opened.get(entry)
        if state is not None or entry in self.folded or entry == MISSING or self.scene is None:
            return state
        return OpenState(self.preview_lines) if self.shown[self.scene.running.category(entry)] == FULL else None

    @property
    def streaming_rows(self) -> range:
        return range(0)

    def opened_rows(self, near: range) -> frozenset[int]:
        """The open rows; those of fully shown categories only if they are `near`."""
        single = {self.index_of(node) for node in self.opened if node and self.holds(node)}
        first = {0} if MISSING in self.opened and self.count and self.entry(0) == MISSING else set()
        candidates = {*single, *first, *(row for row, _ in self.inserts), *(near if FULL in self.shown else ())}
        return frozenset(row for row in candidates if self.open_state(row))

    def toggle(self, index: int, *, raw: bool | None = None) -> None:
        """Open or fold row `index`; with `raw`, open it with or without the JSON view."""
        if self.reading is not None and raw is None and self._uses_reading_layout(index) and self.reading.fold(index):
            return
        state, entry = self.open_state(index), self.entry(index)
        if entry < 0:
            self._toggle_insert(index, state, raw)
            return
        if state is None:
            self.folded.discard(entry)
            self.opened[entry] = OpenState(self.preview_lines, bool(raw))
        elif raw is not None:
            self.opened[entry] = replace(state, raw=raw)
        else:
            self.opened.pop(entry, None)
            self.folded.add(entry)

    def _toggle_insert(self, index: int, open_block: OpenState | None, raw: bool | None) -> None:
        new = self.insert_at(index)
        if new is None:
            if self._staged is not None and self.is_folded(index):
                self._unfolded.update(self._staged.folded_nodes(self.entry(index)))
                self._apply_staging()
            return
        self.read.add(new.edit.id)
        if open_block is not None and raw is None:
            del self._open_inserts[new.edit.id]
        else:
            self._open_inserts[new.edit.id] = OpenState(open_block.lines if open_block else INSERT_LINES, bool(raw))

    def is_folded(self, index: int) -> bool:
        entry = self.entry(index)
        return self._staged is not None and self._staged.is_edit_rule(entry) and bool(self._staged.folded_nodes(entry))

    def _is_text(self, entry: int) -> bool:
        node = self.readings.tree[entry] if entry > 0 else None
        return node is not None and node.category in _TEXTS and node.block.kind != UNREADABLE

    def body(self, index: int, open_block: OpenState, room: int) -> Body:
        assert self.scene is not None
        new = self.insert_at(index)
        if new is not None:
            return self.bodies.insert_body(new, open_block, room)
        return self.bodies.body(self.scene, self.ledger, self.entry(index), open_block, room)

    def _uses_reading_layout(self, index: int) -> bool:
        if self.reading is None:
            return False
        entry = self.entry(index)
        how = self.opened.get(entry) if entry > 0 else None
        touched = self.staging is not None and (
            self.insert_at(index) is not None or (entry > 0 and self.staging.fate(entry) is not None)
        )
        return not touched and (how is None or (not how.raw and self.reading.is_extendable(index)))

    def height(self, index: int, grid: Grid) -> int:
        if self.reading is not None and self._uses_reading_layout(index):
            return self.reading.height(index, grid)
        state = self.open_state(index)
        if state is None:
            return 1
        return 2 + self.body(index, state, grid.body).height(state.lines) + len(self.details(index, grid.body))

    def _rule_line(self, index: int, rule: RuleRow, grid: Grid, cursor: str) -> Spans:
        if self._staged is None or self.staging is None or not self._staged.is_edit_rule(self.entry(index)):
            return rows.draw_rule(rule, grid, cursor)
        from ctxtui.views.transcript import staged_rows

        new = self._staged.insert_at(self.entry(index))
        if new is not None:
            return staged_rows.draw_insert(new, grid, cursor)
        return staged_rows.draw_rule(rule, grid, self.staging.broken, cursor)

    def line(self, index: int, line: int, grid: Grid, cursor: str) -> Spans:
        """Line `line` (from 0) of row `index`; `cursor` is drawn in its first line."""
        if self.reading is not None and self._uses_reading_layout(index):
            return self.reading.line(index, line, grid, cursor)
        row, state, entry = self.row(index, history=grid.call > 0), self.open_state(index), self.entry(index)
        if isinstance(row, RuleRow):
            if line == 0 or state is None:
                return self._rule_line(index, row, grid, cursor)
            return body_line(self.body(index, state, grid.body), state, line, Span(" "), "accent")
        if line == 0 and state is not None and not state.raw and self._is_text(entry):
            category = shown_category(self.scene, self.readings.tree, entry)
            row = replace(row, words=(Span(CATEGORY[category].name, "dim"),))
        if line == 0 or state is None:
            if self.find is not None:
                from ctxtui.views.transcript.hits import highlight

                row = replace(row, words=tuple(highlight(row.words, self.find)))
            return self._line_cache.draw(entry, row, grid, cursor, self.staging)
        body = self.body(index, state, grid.body)
        hit_node, nth = self.current_hit or (-1, 0)
        here = body.hit(nth, state.lines) if hit_node == entry else None
        money = block_details.describe_cost(self.scene, self.ledger, entry) if self.scene is not None else ""
        gutter = row.gutter
        if self.staging is not None:
            from ctxtui.views.transcript.staged_rows import gutter_of

            gutter = gutter_of(gutter, self.staging.fate(entry), broken=self.staging.is_behind_break(entry))
        return body_line(body, state, line, gutter, row.style, here, money, details=self.details(index, grid.body))

    def show_more(self, index: int) -> None:
        state, entry = self.open_state(index), self.entry(index)
        if state is None:
            return
        extended, new = replace(state, lines=state.lines * EXTENSION_FACTOR), self.insert_at(index)
        if new is not None:
            self._open_inserts[new.edit.id] = extended
        else:
            self.opened[entry] = extended
