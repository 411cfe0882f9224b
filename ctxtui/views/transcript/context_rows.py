"""The transcript as the pane asks for it: row by row, line by line, for the scene that is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ctxtui.core.category import CATEGORIES, INDEX
from ctxtui.core.tree import ROOT
from ctxtui.views.blocks.body import Body
from ctxtui.views.blocks.markdown import Highlight
from ctxtui.views.model.block_cache import Readings
from ctxtui.views.model.call_charge import Charge, charge
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.signs import REPEAT, of_note
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript import block_details, block_money, rows
from ctxtui.views.transcript.block_details import standing
from ctxtui.views.transcript.open_block import MORE, Bodies, Opened, body_line
from ctxtui.views.transcript.row_index import MISSING, Boundaries, PathNodes, RowIndex, RuleRow

if TYPE_CHECKING:
    from ctxtui.analysis.content.block_lifetimes import Stays
    from ctxtui.analysis.content.duplicates import Repeat
    from ctxtui.analysis.content.search import Find
    from ctxtui.analysis.money.ledger import CostLedger
    from ctxtui.core.note import Note
    from ctxtui.views.model.staging import New, Staging
    from ctxtui.views.transcript.staged_rows import StagedRows

LINE, FULL, HIDDEN = "line", "full", "hidden"
SHOWN: Final = (LINE, FULL, HIDDEN)
"""How the blocks of a category are shown, in the order in which its key walks."""
_ALL_LINE: Final = (LINE,) * len(CATEGORIES)
_RESULT: Final = INDEX["tool_result"]


class ContextRows:
    """The rows of one session's contexts. `show` changes the scene; everything else only reads."""

    def __init__(self, readings: Readings, highlight: Highlight | None = None) -> None:
        self.readings = readings
        self.bodies = Bodies(readings, highlight)
        self.opened: dict[int, Opened] = {}
        self.folded: set[int] = set()
        self.scene: Scene | None = None
        self.ledger: CostLedger | None = None
        self.charge: Charge | None = None
        self.shown: tuple[str, ...] = _ALL_LINE
        self.preview_lines = 6
        self.noted: Mapping[int, Note] = {}
        """Notes and bookmarks by node."""
        self.stays: Stays | None = None
        """In which calls of the thread each block stood."""
        self.repeats: Mapping[int, Repeat] = {}
        """What of the thread's contexts stands elsewhere too, by node."""
        self.find: Find | None = None
        """What a search marks."""
        self.here: tuple[int, int] | None = None
        """Where a search stands: a node, and which of the hits in its open body."""
        self.staging: Staging | None = None
        """What staged edits make of the scene; `every` shows all its rows, not only what they touch."""
        self.every = False
        self._rows: RowIndex | None = None
        self._staged: StagedRows | None = None
        self._positions: tuple[object, list[int]] | None = None
        self._trail: PathNodes | None = None

    def show(self, scene: Scene, boundaries: Boundaries, ledger: CostLedger | None, shown: tuple[str, ...]) -> None:
        """Show another call, or the same one with more known about it."""
        if self._rows is None or self._trail is None:
            self._rows, self._trail = RowIndex(scene.session.tree), PathNodes(scene.session.tree)
        self.scene, self.ledger, self.shown = scene, ledger, shown
        self.charge = charge(scene, self._trail.show(scene.head))
        hidden = frozenset(category for category, how in enumerate(shown) if how == HIDDEN)
        self._staged = None
        if self.staging is not None:
            # Imported here, as what draws them: most sessions are only looked at.
            from ctxtui.views.transcript.staged_rows import StagedRows, positions

            context = self.staging.applied.context
            key = (id(context), len(context), hidden)
            if self._positions is None or self._positions[0] != key:
                self._positions = key, positions(context, hidden)
            self._staged = StagedRows(scene.session.tree, self.staging, self._positions[1], every=self.every)
        self._rows.show(
            scene.head,
            self._tails(scene),
            boundaries=boundaries.at,
            hidden=hidden,
            elsewhere=scene.running.elsewhere,
            missing=scene.missing > 0,
        )

    @property
    def path(self) -> Sequence[int]:
        """The nodes of the context shown, in prompt order."""
        return self._trail.nodes if self._trail is not None else ()

    def _tails(self, scene: Scene) -> list[tuple[RuleRow, int]]:
        tree, call = scene.session.tree, scene.call
        answer = call.response_head or scene.head
        tails = []
        if tree.holds(answer, scene.head) and answer != scene.head:
            usage = call.usage
            told = f"{numbers.tokens(usage.output)} tokens reported" if usage and usage.output_final else ""
            tails.append((RuleRow("answer", told, tree.path(answer, scene.head)[0]), answer))
        if scene.tip != answer and tree.holds(scene.tip, answer):
            tails.append((RuleRow("since", "not sent yet", tree.path(scene.tip, answer)[0]), scene.tip))
        return tails

    @property
    def _list(self) -> RowIndex | StagedRows | None:
        return self._rows if self._staged is None else self._staged

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self._list) if self._list is not None else 0

    @property
    def blocks(self) -> int:
        """How many blocks the context has that are shown."""
        return self._list.context_rows if self._list is not None else 0

    @property
    def entries(self) -> Sequence[int]:
        """What `entry` gives, of all rows."""
        rows = self._list
        return rows.entries if isinstance(rows, RowIndex) else [self.entry(index) for index in range(self.count)]

    def entry(self, index: int) -> int:
        """The node of row `index`; `MISSING` for what is not recorded, negative for a rule."""
        assert self._list is not None
        return self._list[index]

    def new(self, index: int) -> New | None:
        """The block that an edit puts in at row `index`; None where a row is none."""
        return self._staged.new(self.entry(index)) if self._staged is not None else None

    def new_before(self, at: int) -> int | None:
        """The row of the block that an edit puts in before the raw position `at`; None where none is."""
        return self._staged.new_before(at) if self._staged is not None else None

    def holds(self, node: int) -> bool:
        """Whether `node` is in what is shown: the context, its answer, what came since."""
        scene, at = self.scene, self.readings.tree[node].depth - 1
        if scene is None:
            return False
        return self.path[at] == node if 0 <= at < len(self.path) else scene.session.tree.holds(scene.tip, node)

    def index_of(self, node: int) -> int:
        """The row of `node`, or the nearest above it that is shown."""
        assert self._list is not None and self.scene is not None
        return self._list.index_of(self.scene.session.tree[node].depth)

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
        entry, scene = self._list[index], self.scene
        if entry < 0:
            return self._list.rule(entry)
        if entry == MISSING:
            return rows.missing_row(scene, self.charge)
        node = scene.session.tree[entry]
        call, cost = self._history(entry) if history else ("", rows.NOTHING)
        made = rows.block_row(scene, node, self.readings.preview(entry), self.charge, call=call, cost=cost)
        note, repeat = self.noted.get(entry), self._repeat(entry)
        if repeat is not None:
            made = replace(made, mark=REPEAT[repeat.kind].span)
        return made if note is None else replace(made, note=of_note(note))

    def _repeat(self, node: int) -> Repeat | None:
        """Where the content of a block stands, too, in the context shown."""
        found = self.repeats.get(node)
        return found and standing(self.readings.tree, self.path, found)

    def details(self, index: int, room: int) -> list[list[Span]]:
        """What is said of open row `index` under its content."""
        entry = self.entry(index)
        if self.scene is None:
            return []
        return block_details.details(self.scene, entry, self.stays, self._repeat(entry), room)

    def _history(self, node: int) -> tuple[str, Span]:
        """The round to which the block belongs and what it has cost so far."""
        scene, ledger = self.scene, self.ledger
        unknown = Span(numbers.NONE, "faint")
        if ledger is None or scene is None:
            return "", unknown
        made, entered = ledger.stays.answered(node), ledger.stays.first(node)
        if made is None and entered is None:
            return "", unknown
        # A result belongs to the call that it answers, a user's text to the call that first read it.
        number = made + 1 if made is not None else entered or 0
        if made is None and scene.session.tree[node].category != _RESULT:
            number += 1
        usd = ledger.block(node, scene.running.own(node), scene.number) if scene.running.counted(node) else None
        return str(number or 1), unknown if usd is None else Span(
            numbers.money(usd), "dim" if usd >= 0.0005 else "faint"
        )

    def asks(self, index: int) -> bool:
        """Whether row `index` is a user's."""
        entry = self.entry(index)
        return entry > 0 and self.scene is not None and rows.asks(self.scene.session.tree[entry])

    def is_open(self, index: int) -> Opened | None:
        """How row `index` is open, None where it is one line."""
        entry = self.entry(index)
        if entry < 0:
            return None
        found = self.opened.get(entry)
        if found is not None or entry in self.folded or entry == MISSING or self.scene is None:
            return found
        return Opened(self.preview_lines) if self.shown[self.scene.running.category(entry)] == FULL else None

    def toggle(self, index: int, *, raw: bool | None = None) -> None:
        """Open row `index` or fold it; with `raw` show it as JSON or not, opening it if need be."""
        how, entry = self.is_open(index), self.entry(index)
        if how is None:
            self.folded.discard(entry)
            self.opened[entry] = Opened(self.preview_lines, bool(raw))
        elif raw is not None:
            self.opened[entry] = replace(how, raw=raw)
        else:
            self.opened.pop(entry, None)
            self.folded.add(entry)

    def body(self, index: int, how: Opened, room: int) -> Body:
        """The lines of open row `index` in `room` cells."""
        assert self.scene is not None
        return self.bodies.body(self.scene, self.ledger, self.entry(index), how, room)

    def height(self, index: int, grid: Grid) -> int:
        """Lines of row `index`: one, and for an open one its body and the line that closes it."""
        how = self.is_open(index)
        if how is None:
            return 1
        return 2 + self.body(index, how, grid.body).height(how.lines) + len(self.details(index, grid.body))

    def _rule_line(self, index: int, rule: RuleRow, grid: Grid, cursor: str) -> Spans:
        if self._staged is None or self.staging is None:
            return rows.draw_rule(rule, grid, cursor)
        from ctxtui.views.transcript import staged_row

        new = self._staged.new(self.entry(index))
        if new is not None:
            return staged_row.draw_new(new, grid, cursor)
        return staged_row.draw_rule(rule, grid, self.staging.broken)

    def _row_line(self, index: int, row: rows.TranscriptRow, grid: Grid, cursor: str) -> Spans:
        if self.staging is None:
            return rows.draw(row, grid, cursor)
        from ctxtui.views.transcript import staged_row

        node = self.entry(index)
        return staged_row.draw(
            row, grid, cursor, self.staging.fate(node), self.staging.mark(node), broken=self.staging.behind(node)
        )

    def line(self, index: int, line: int, grid: Grid, cursor: str) -> Spans:
        """Line `line` of row `index` on its grid; `cursor` is the mark in its second column."""
        row = self.row(index, history=grid.call > 0)
        if isinstance(row, RuleRow):
            return self._rule_line(index, row, grid, cursor)
        how = self.is_open(index)
        if line == 0 or how is None:
            if self.find is not None:
                from ctxtui.views.transcript.hits import marked

                row = replace(row, words=tuple(marked(row.words, self.find)))
            return self._row_line(index, row, grid, cursor)
        body = self.body(index, how, grid.body)
        here = body.spot(self.here[1], how.lines) if self.here and self.here[0] == self.entry(index) else None
        money = block_money.words(self.scene, self.ledger, self.entry(index)) if self.scene is not None else ""
        return body_line(body, how, line, row.gutter, row.style, here, money, details=self.details(index, grid.body))

    def more(self, index: int) -> None:
        """Show more of an open row."""
        how, entry = self.is_open(index), self.entry(index)
        if how is not None:
            self.opened[entry] = replace(how, lines=how.lines * MORE)
