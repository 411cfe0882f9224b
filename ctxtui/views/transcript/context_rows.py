"""The transcript as the pane asks for it: row by row, line by line, for the scene that is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.core.block import UNREADABLE
from ctxtui.core.call import answer_path
from ctxtui.core.category import CATEGORIES, INDEX
from ctxtui.core.note import Note
from ctxtui.core.tree import ROOT, Node, Tree
from ctxtui.views.blocks.markdown import Highlight
from ctxtui.views.model.block_cache import Readings
from ctxtui.views.model.call_charge import Charge, KnownCharge
from ctxtui.views.model.preview import Preview
from ctxtui.views.model.scene import Scene, shown_category
from ctxtui.views.text import numbers
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.signs import CATEGORY, MARK, REPEAT, of_note
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript import block_details, rows
from ctxtui.views.transcript.block_details import standing
from ctxtui.views.transcript.open_block import MORE, Bodies, OpenBlock, body_line
from ctxtui.views.transcript.row_index import MISSING, Boundaries, PathNodes, RowIndex, RuleRow
from ctxtui.views.transcript.rows import TranscriptRow

if TYPE_CHECKING:
    from ctxtui.analysis.content.duplicates import Duplicate
    from ctxtui.analysis.content.search import Find
    from ctxtui.analysis.money.ledger import CostLedger
    from ctxtui.views.blocks.body import Body
    from ctxtui.views.model.staging import New, Staging
    from ctxtui.views.transcript.reading import Reading
    from ctxtui.views.transcript.staged_rows import StagedRows


_MOST: Final = 2000
"""Rows, and lines, that are kept."""


class MadeRows:
    """Makes the row of a block, or gives the one that it made before of the same: all that decides what a row says is
    compared, of the scene once for all rows."""

    def __init__(self) -> None:
        self._of: object = None
        self._rows: dict[int, tuple[tuple[Preview, str, Span], TranscriptRow]] = {}

    def show(self, scene: Scene, charge: Charge | None) -> None:
        """The rows of `scene` are asked for from now on, with the `charge` of its call."""
        running, head = scene.running, scene.head
        if not scene.counted:
            # Nothing is kept of it; the end of a long recording has no book yet.
            self._of = None
            self._rows.clear()
            return
        of = (
            head,
            running,
            running.version,
            len(running.moved_categories),
            scene.book.contexts.absences_at(head),
            charge,
            scene.partial,
        )
        if self._of != of:
            self._of = of
            self._rows.clear()

    def row(
        self, scene: Scene, node: Node, says: Preview, charge: Charge | None, call: str, cost: Span
    ) -> TranscriptRow:
        """As `rows.block_row`."""
        given, known = (says, call, cost), self._rows.get(node.id)
        if known is not None and known[0] == given:
            return known[1]
        made = rows.block_row(scene, node, says, charge, call=call, cost=cost)
        # The number of a turn may be another one when its call comes; what is not counted soon is.
        if self._of is not None and scene.running.is_counted(node.id) and not node.opens_turn:
            if len(self._rows) >= _MOST:
                self._rows.clear()
            self._rows[node.id] = given, made
        return made


class DrawnRows:
    """Draws the row of a block, or gives the line that it gave before of the same: all that decides how a line looks is
    compared, so that a line is never older than what it says."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[object, Spans]] = {}

    def draw(self, node: int, row: TranscriptRow, grid: Grid, cursor: str, staging: Staging | None) -> Spans:
        """The line of the block of `node`, whose row is `row`; `staging` is what edits make of the context."""
        fate, mark, broken = None, "", False
        if staging is not None:
            fate, mark, broken = staging.fate(node), staging.mark(node), staging.behind(node)
        given = row, grid, cursor, fate, mark, broken, staging is not None
        known = self._lines.get(node)
        if known is not None and known[0] == given:
            return known[1]
        if staging is None:
            line: Spans = rows.draw(row, grid, cursor)
        else:
            # Imported here: most sessions are only looked at.
            from ctxtui.views.transcript import staged_rows

            line = staged_rows.draw(row, grid, cursor, fate, mark, broken=broken)
        if len(self._lines) >= _MOST:
            self._lines.clear()
        self._lines[node] = given, line
        return line


class Tails:
    """The tails of the scenes of one session. What came since may be much, and have more many times a second: where it
    begins is looked for once."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._since = ROOT, ROOT, ROOT
        """An answer, what came since it, and the first node of that."""

    def of(self, scene: Scene) -> tuple[int, list[tuple[RuleRow, int]]]:
        """The context that the rows begin with, and what stands behind it: each a rule and the node that it ends
        with."""
        tree, call, tip = self._tree, scene.call, scene.tip
        answer = call.response_head or scene.head
        if tip != answer and not tree.holds(tip, answer):
            # A held request spells the answer in its own way, or begins anew: it is shown as it would leave.
            head = tree.common(tip, scene.head)
            rest = tree.path(tip, head)
            return head, [(RuleRow("since", "not sent yet", rest[0]), tip)] if rest else []
        tails = []
        said = answer_path(tree, call)
        if said:
            told = f"{numbers.tokens(call.output)} tokens reported"
            if not call.is_reported:
                told = "not reported" if call.is_partial else ""
            elif call.is_partial:
                told = f"{numbers.least_tokens(call.output, True)} tokens"
            tails.append((RuleRow("answer", told, said[0]), answer))
        if tip != answer:
            tails.append((RuleRow("since", "not sent yet", self._first(tip, answer)), tip))
        return scene.head, tails

    def _first(self, tip: int, answer: int) -> int:
        """The first node of what leads from `answer` to `tip`."""
        of, before, first = self._since
        if of != answer or before == ROOT or not self._tree.holds(tip, before):
            first = self._tree.path(tip, answer)[0]
        self._since = answer, tip, first
        return first


LINE, FULL, HIDDEN = "line", "full", "hidden"
SHOWN: Final = (LINE, FULL, HIDDEN)
"""How the blocks of a category are shown, in the order in which its key walks."""
_ALL_LINE: Final = (LINE,) * len(CATEGORIES)
_WHOLE: Final = 400
"""Lines of what an edit puts in that are shown at once: it is read before it is applied."""
_TEXTS: Final = frozenset(INDEX[name] for name in ("user", "assistant", "thinking", "summary"))


class ContextRows:
    """The rows of one session's contexts. `show` changes the scene; everything else only reads."""

    _tails: Tails | None = None
    _listed: Sequence[int] = ()
    """The nodes and rules of the rows, which a frame asks for some hundred times."""

    def __init__(self, readings: Readings, highlight: Highlight | None = None) -> None:
        self.readings = readings
        self.bodies = Bodies(readings, highlight)
        self.opened: dict[int, OpenBlock] = {}
        self.folded: set[int] = set()
        self.scene: Scene | None = None
        self.ledger: CostLedger | None = None
        self.charge: Charge | None = None
        self.shown: tuple[str, ...] = _ALL_LINE
        self.preview_lines = 6
        self.noted: Mapping[int, Note] = {}
        """Notes and bookmarks by node."""
        self.stays: BlockLifetimes | None = None
        """In which calls of the thread each block stood."""
        self.repeats: Mapping[int, Duplicate] = {}
        """What of the thread's contexts stands elsewhere too, by node."""
        self.find: Find | None = None
        """What a search marks."""
        self.here: tuple[int, int] | None = None
        """Where a search stands: a node, and which of the hits in its open body."""
        self.staging: Staging | None = None
        """What edits make of the scene; with `only_edits` the rows that they do not touch are folded away."""
        self.only_edits = False
        self.marked: frozenset[int] = frozenset()
        """The nodes that the user marked."""
        self.reading: Reading | None = None
        """How the rows are drawn where they are to be read."""
        self.read: set[str] = set()
        """The edits of which the user has opened what they put in."""
        self._put_in: dict[str, OpenBlock] = {}
        self._drawn, self._made = DrawnRows(), MadeRows()
        self._unfolded: set[int] = set()
        self._rows: RowIndex | None = None
        self._staged: StagedRows | None = None
        self._trail: PathNodes | None = None
        self._charges = KnownCharge()

    def show(self, scene: Scene, boundaries: Boundaries, ledger: CostLedger | None, shown: tuple[str, ...]) -> None:
        """Show another call, or the same one with more known about it."""
        if self._rows is None or self._trail is None or self._tails is None:
            tree = scene.session.tree
            self._rows, self._trail, self._tails = RowIndex(tree), PathNodes(tree), Tails(tree)
        self.scene, self.ledger, self.shown = scene, ledger, shown
        self.charge = self._charges.of(scene, self._trail.show(scene.head))
        self._made.show(scene, self.charge)
        self._rows.show(
            *self._tails.of(scene),
            boundaries=boundaries.at,
            hidden=frozenset(category for category, how in enumerate(shown) if how == HIDDEN),
            elsewhere=scene.running.moved_categories,
            missing=scene.missing > 0,
            partial=scene.partial,
        )
        self._stage()

    def _stage(self) -> None:
        """Put between the rows what edits put there, and fold what they do not touch where only edits are shown."""
        self._staged = None
        if self.staging is not None and self._rows is not None:
            # Imported here, as what draws them: most sessions are only looked at.
            from ctxtui.views.transcript.staged_rows import StagedRows

            only = (self.marked | self._unfolded) if self.only_edits else None
            self._staged = StagedRows(self.staging, self._rows, only)
        rows = self._list
        self._listed = rows.entries if rows is not None else ()

    @property
    def folds(self) -> bool:
        """Whether rows that no edit touches are folded away."""
        return self.only_edits and self._staged is not None

    def fold(self) -> None:
        """Fold again what was unfolded."""
        self._unfolded.clear()

    def unfold(self, node: int) -> bool:
        """Let the row of `node` stand, and its neighbours, where it is folded away; whether it was."""
        if not self.folds or self.entry(self.index_of(node)) == node:
            return False
        self._unfolded.add(node)
        self._stage()
        return True

    @property
    def path(self) -> Sequence[int]:
        """The nodes of the context shown, in prompt order."""
        return self._trail.nodes if self._trail is not None else ()

    @property
    def _list(self) -> RowIndex | StagedRows | None:
        return self._rows if self._staged is None else self._staged

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self._listed)

    @property
    def blocks(self) -> int:
        """How many blocks the context has that are shown."""
        return self._list.context_rows if self._list is not None else 0

    @property
    def entries(self) -> Sequence[int]:
        """The nodes and rules of all rows, also of those that are folded away."""
        return self._rows.entries if self._rows is not None else ()

    def entry(self, index: int) -> int:
        """The node of row `index`; `MISSING` for what is not recorded, negative for a rule."""
        return self._listed[index]

    def new(self, index: int) -> New | None:
        """The block that an edit puts in at row `index`; None where a row is none."""
        return self._staged.new(self.entry(index)) if self._staged is not None else None

    def sent_new(self, index: int) -> New | None:
        """The block of row `index`, where an edit put it in before it was sent."""
        entry = self.entry(index)
        return self.staging.put_in(entry) if self.staging is not None and entry > 0 else None

    def open_put_in(self, edit: str) -> int | None:
        """Open what the edit of this id puts in; its row, None where it has none."""
        found = next((row for row, new in self.put_in if new.edit.id == edit), None)
        if found is not None and self.is_open(found) is None:
            self.toggle(found)
        return found

    @property
    def put_in(self) -> list[tuple[int, New]]:
        """The rows of what edits put in."""
        return self._staged.news if self._staged is not None else []

    def rule_at(self, index: int) -> RuleRow | None:
        """The rule that is row `index`; None where it is a block, what an edit puts in, or rows folded away."""
        entry = self.entry(index)
        if entry >= 0 or self._list is None or self.new(index) is not None or self.is_folded(index):
            return None
        return self._list.rule(entry)

    def new_before(self, at: int) -> int | None:
        """The row of the block that an edit puts in before the raw position `at`; None where none is."""
        return self._staged.new_before(at) if self._staged is not None else None

    def holds(self, node: int) -> bool:
        """Whether `node` is in what is shown: the context (what is not recorded of it is the root), its answer, what
        came since."""
        scene, at = self.scene, self.readings.tree[node].depth - 1
        if scene is None or self._rows is None:
            return False
        return at < 0 or (at < len(self.path) and self.path[at] == node) or self._rows.is_behind(node)

    def index_of(self, node: int) -> int:
        """The row of `node`, or the nearest above it that is shown."""
        assert self._list is not None and self.scene is not None
        return self._list.index_of(node)

    def turn_row(self, index: int) -> int | None:
        """The row with which the turn of row `index` begins, if it is shown above it."""
        entry = self.entry(index)
        if entry <= 0 or self.scene is None:
            return None
        start = self.scene.session.tree[entry].turn_start
        if start in (ROOT, entry):
            return None
        row = self.index_of(start)
        return row if row < index and self.entry(row) == start else None

    def row(self, index: int, *, history: bool = True) -> rows.TranscriptRow | RuleRow:
        """Row `index` as a view-model, with its call and what it has cost so far only for `history`."""
        assert self._list is not None and self.scene is not None
        entry, scene = self._listed[index], self.scene
        if entry < 0:
            return self._list.rule(entry)
        if entry == MISSING:
            return rows.missing_row(scene, self.charge)
        node = scene.session.tree[entry]
        call, cost = block_details.history(scene, self.ledger, entry) if history else ("", rows.NOTHING)
        made = self._made.row(scene, node, self.readings.preview(entry), self.charge, call, cost)
        if self._rows is not None and list(self._rows.withheld[:1]) == [entry]:
            made = rows.withheld_row(made, scene, self._rows.withheld)
        note, repeat = self.noted.get(entry), self._repeat(entry)
        if repeat is not None:
            made = replace(made, mark=REPEAT[repeat.kind].span)
        if entry in self.marked:
            made = replace(made, mark=MARK["marked"].span)
        return made if note is None else replace(made, note=of_note(note))

    def _repeat(self, node: int) -> Duplicate | None:
        """Where the content of a block stands, too, in the context shown."""
        found = self.repeats.get(node)
        return found and standing(self.readings.tree, self.path, found)

    def details(self, index: int, room: int) -> list[list[Span]]:
        """What is said of open row `index` under its content."""
        entry = self.entry(index)
        if self.scene is None:
            return []
        return block_details.details(self.scene, entry, self.stays, self._repeat(entry), room)

    def asks(self, index: int) -> bool:
        """Whether row `index` is a user's."""
        entry = self.entry(index)
        return entry > 0 and self.scene is not None and rows.asks(self.scene.session.tree[entry])

    def is_open(self, index: int) -> OpenBlock | None:
        """How row `index` is open, None where it is one line."""
        entry = self.entry(index)
        if entry < 0:
            new = self.new(index) if self._put_in else None
            return self._put_in.get(new.edit.id) if new is not None else None
        found = self.opened.get(entry)
        if found is not None or entry in self.folded or entry == MISSING or self.scene is None:
            return found
        return OpenBlock(self.preview_lines) if self.shown[self.scene.running.category(entry)] == FULL else None

    @property
    def coming_in(self) -> range:
        """The rows that are still being written, and open; none of a record."""
        return range(0)

    def opened_rows(self, near: range) -> frozenset[int]:
        """The rows that are open: those that were opened one by one, and of full categories those that are `near`."""
        single = {self.index_of(node) for node in self.opened if node and self.holds(node)}
        first = {0} if MISSING in self.opened and self.count and self.entry(0) == MISSING else set()
        wanted = {*single, *first, *(row for row, _ in self.put_in), *(near if FULL in self.shown else ())}
        return frozenset(row for row in wanted if self.is_open(row))

    def toggle(self, index: int, *, raw: bool | None = None) -> None:
        """Open row `index` or fold it; with `raw` show it as JSON or not, opening it if need be. A folded run is
        unfolded."""
        if self.reading is not None and raw is None and self._is_read(index) and self.reading.fold(index):
            return
        how, entry = self.is_open(index), self.entry(index)
        if entry < 0:
            self._toggle_put_in(index, how, raw)
            return
        if how is None:
            self.folded.discard(entry)
            self.opened[entry] = OpenBlock(self.preview_lines, bool(raw))
        elif raw is not None:
            self.opened[entry] = replace(how, raw=raw)
        else:
            self.opened.pop(entry, None)
            self.folded.add(entry)

    def _toggle_put_in(self, index: int, how: OpenBlock | None, raw: bool | None) -> None:
        new = self.new(index)
        if new is None:
            if self._staged is not None and self.is_folded(index):
                self._unfolded.update(self._staged.folded(self.entry(index)))
                self._stage()
            return
        self.read.add(new.edit.id)
        if how is not None and raw is None:
            del self._put_in[new.edit.id]
        else:
            self._put_in[new.edit.id] = OpenBlock(how.lines if how else _WHOLE, bool(raw))

    def is_folded(self, index: int) -> bool:
        """Whether row `index` stands for a run of rows that are folded away."""
        entry = self.entry(index)
        return self._staged is not None and self._staged.own_rule(entry) and bool(self._staged.folded(entry))

    def _is_text(self, entry: int) -> bool:
        """Whether a block is words, which stand below the row of an open block and need not stand in it, too."""
        node = self.readings.tree[entry] if entry > 0 else None
        return node is not None and node.category in _TEXTS and node.block.kind != UNREADABLE

    def body(self, index: int, how: OpenBlock, room: int) -> Body:
        """The lines of open row `index` in `room` cells."""
        assert self.scene is not None
        new = self.new(index)
        if new is not None:
            return self.bodies.put_in(new, how, room)
        return self.bodies.body(self.scene, self.ledger, self.entry(index), how, room)

    def _is_read(self, index: int) -> bool:
        """Whether row `index` is drawn as something to read: not what edits touch, nor what was opened as JSON."""
        if self.reading is None:
            return False
        entry = self.entry(index)
        how = self.opened.get(entry) if entry > 0 else None
        touched = self.staging is not None and (
            self.new(index) is not None or (entry > 0 and self.staging.fate(entry) is not None)
        )
        return not touched and (how is None or (not how.raw and self.reading.grows(index)))

    def height(self, index: int, grid: Grid) -> int:
        """Lines of row `index`: one, and for an open one its body and the line that closes it."""
        if self.reading is not None and self._is_read(index):
            return self.reading.height(index, grid)
        how = self.is_open(index)
        if how is None:
            return 1
        return 2 + self.body(index, how, grid.body).height(how.lines) + len(self.details(index, grid.body))

    def _rule_line(self, index: int, rule: RuleRow, grid: Grid, cursor: str) -> Spans:
        if self._staged is None or self.staging is None or not self._staged.own_rule(self.entry(index)):
            return rows.draw_rule(rule, grid, cursor)
        from ctxtui.views.transcript import staged_rows

        new = self._staged.new(self.entry(index))
        if new is not None:
            return staged_rows.draw_new(new, grid, cursor)
        return staged_rows.draw_rule(rule, grid, self.staging.broken, cursor)

    def _row_line(self, index: int, row: rows.TranscriptRow, grid: Grid, cursor: str) -> Spans:
        return self._drawn.draw(self.entry(index), row, grid, cursor, self.staging)

    def line(self, index: int, line: int, grid: Grid, cursor: str) -> Spans:
        """Line `line` of row `index` on its grid; `cursor` is the mark in its second column."""
        if self.reading is not None and self._is_read(index):
            return self.reading.line(index, line, grid, cursor)
        row, how = self.row(index, history=grid.call > 0), self.is_open(index)
        if isinstance(row, RuleRow):
            if line == 0 or how is None:
                return self._rule_line(index, row, grid, cursor)
            return body_line(self.body(index, how, grid.body), how, line, Span(" "), "accent")
        if line == 0 and how is not None and not how.raw and self._is_text(self.entry(index)):
            of = shown_category(self.scene, self.readings.tree, self.entry(index))
            row = replace(row, words=(Span(CATEGORY[of].name, "dim"),))
        if line == 0 or how is None:
            if self.find is not None:
                from ctxtui.views.transcript.hits import marked

                row = replace(row, words=tuple(marked(row.words, self.find)))
            return self._row_line(index, row, grid, cursor)
        body = self.body(index, how, grid.body)
        here = body.spot(self.here[1], how.lines) if self.here and self.here[0] == self.entry(index) else None
        money = block_details.words(self.scene, self.ledger, self.entry(index)) if self.scene is not None else ""
        gutter = row.gutter
        if self.staging is not None:
            from ctxtui.views.transcript.staged_rows import gutter_of

            node = self.entry(index)
            gutter = gutter_of(gutter, self.staging.fate(node), broken=self.staging.behind(node))
        return body_line(body, how, line, gutter, row.style, here, money, details=self.details(index, grid.body))

    def more(self, index: int) -> None:
        """Show more of an open row."""
        how, entry = self.is_open(index), self.entry(index)
        if how is None:
            return
        longer, new = replace(how, lines=how.lines * MORE), self.new(index)
        if new is not None:
            self._put_in[new.edit.id] = longer
        else:
            self.opened[entry] = longer
