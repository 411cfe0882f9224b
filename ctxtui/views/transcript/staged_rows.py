"""Rows of a context under edits: all with inserts, or the edited ones, the others folded."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

from ctxtui.core.block_content import read
from ctxtui.core.edit import REPAIR, USER
from ctxtui.core.edit_kinds import kind_of
from ctxtui.views.model.fates import Fate
from ctxtui.views.model.staging import InsertedBlock, Staging
from ctxtui.views.text import bars, cells, numbers, safe_text
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.signs import CATEGORY, GUTTER, MARK
from ctxtui.views.text.span import Span, Spans, fit_spans, right_aligned
from ctxtui.views.transcript.row_index import MISSING, RowIndex, RuleRow
from ctxtui.views.transcript.rows import BAR_STEP, TranscriptRow

FOLDED: Final = "folded"
BREAK: Final = "break"
NEW: Final = "new"
"""Kinds of rules: unchanged rows, end of the cached prefix, inserted block."""

CONTEXT_ROWS: Final = 1
ROWS_BEFORE_FIRST: Final = 3
AFTER_ALL_BLOCKS: Final = 1 << 40


class StagedRows:
    """The entries of `rows` under the edits of `staging`.

    Entries are those of `RowIndex`; inserts, the prefix end and folded runs have further negative numbers. If `only` is
    given, only rows that are changed, pinned, have a breakpoint, or are nodes in `only`, and their neighbours are
    shown; each run of others is one rule.
    """

    def __init__(self, staging: Staging, rows: RowIndex, only: frozenset[int] | None) -> None:
        self._staging = staging
        self._base = rows
        self._first = -len(rows.rules)
        # An array like that of `rows`: one key press copies ten thousand entries without creating objects.
        self._entries = array("i")
        self._rules: list[RuleRow] = []
        self._inserts_by_entry: dict[int, InsertedBlock] = {}
        self._runs: dict[int, Sequence[int]] = {}
        self._build(only)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: int) -> int:
        return self._entries[index]

    @property
    def entries(self) -> Sequence[int]:
        return self._entries

    def is_edit_rule(self, entry: int) -> bool:
        return entry < self._first

    def rule(self, entry: int) -> RuleRow:
        return self._rules[self._first - 1 - entry] if self.is_edit_rule(entry) else self._base.rule(entry)

    def insert_at(self, entry: int) -> InsertedBlock | None:
        return self._inserts_by_entry.get(entry)

    @property
    def inserts(self) -> list[tuple[int, InsertedBlock]]:
        return [(self._entries.index(entry), new) for entry, new in self._inserts_by_entry.items()]

    def folded_nodes(self, entry: int) -> Sequence[int]:
        """The nodes of a folded run; empty for other rules."""
        return self._runs.get(entry, ())

    def insert_before(self, at: int) -> int | None:
        """The row of the first block inserted before the raw position `at`; None if there is none."""
        entry_of_insert = next((entry for entry, new in self._inserts_by_entry.items() if new.at == at), None)
        return None if entry_of_insert is None else self._entries.index(entry_of_insert)

    def index_of(self, node: int) -> int:
        return max(0, bisect_right(self._entries, 2 * self._base.depth(node), key=self._sort_position) - 1)

    def _sort_position(self, entry: int) -> int:
        if not self.is_edit_rule(entry):
            return self._base.sort_position(entry)
        before = self.rule(entry).before
        return 2 * self._base.depth(before) - 1 if before >= 0 else AFTER_ALL_BLOCKS

    def _row_at(self, position: int) -> int:
        node = self._staging.first(position)
        if node is None:
            return len(self._base)
        return bisect_left(self._base.entries, 2 * self._base.depth(node), key=self._base.sort_position)

    def _visible_rows(self, only: frozenset[int]) -> list[int]:
        """The rows that stay visible if only edited rows and those of `only` are shown.

        All rows if there are no such rows.
        """
        staging, count = self._staging, len(self._base)
        applied = staging.applied
        touched = {*applied.changes, *applied.marks, *applied.pinned, *(new.at for new in staging.unsent_inserts)}
        touched |= {staging.breaks_at} if staging.breaks_at is not None else set()
        first = self._row_at(min(touched)) if touched else 0
        touched |= {at for node in only if (at := staging.position(node)) is not None}
        if not touched:
            return list(range(count))
        keep: set[int] = set(range(max(0, first - ROWS_BEFORE_FIRST), first))
        for row in map(self._row_at, touched):
            keep.update(range(max(0, row - CONTEXT_ROWS), min(count, row + CONTEXT_ROWS + 1)))
        if count and self._base[0] == MISSING:
            keep.add(0)
        return sorted(keep)

    def _build(self, only: frozenset[int] | None) -> None:
        """Merge the rows with those of inserts and of the prefix end, which comes before an insert."""
        staging = self._staging
        breaks = staging.breaks_at
        rules: list[tuple[int, int, InsertedBlock | None]] = [(new.at, 1, new) for new in staging.unsent_inserts]
        if breaks is not None:
            rules.append((breaks, 0, None))
        rules.sort(key=lambda rule: rule[:2])
        visible = None if only is None else self._visible_rows(only)
        row = 0
        for at, _, new in rules:
            row = self._add_rows(visible, row, self._row_at(at))
            before = staging.first(at)
            self._put(NEW if new is not None else BREAK, "", -1 if before is None else before)
            if new is not None:
                self._inserts_by_entry[self._entries[-1]] = new
        self._add_rows(visible, row, len(self._base))

    def _add_rows(self, visible: Sequence[int] | None, start: int, stop: int) -> int:
        """Add the rows `start` to `stop` (exclusive); runs of rows not `visible` are folded."""
        rows = self._base.entries
        if visible is None:
            self._entries.extend(rows[start:stop])
            return max(start, stop)
        at = start
        for row in visible[bisect_left(visible, start) : bisect_left(visible, stop)]:
            self._fold(rows[at:row])
            self._entries.append(rows[row])
            at = row + 1
        self._fold(rows[at:stop])
        return max(start, stop)

    def _fold(self, entries: Sequence[int]) -> None:
        nodes, running = [entry for entry in entries if entry > 0], self._staging.scene.running
        if nodes:
            tokens = running.between(nodes[0], nodes[-1]) if running.is_counted(nodes[-1]) else 0
            self._put(FOLDED, f"{len(nodes)} {tokens}", nodes[0])
            self._runs[self._entries[-1]] = nodes

    def _put(self, kind: str, text: str, before: int) -> None:
        self._rules.append(RuleRow(kind, text, before))
        self._entries.append(self._first - len(self._rules))


def _parse_counts(rule: RuleRow) -> Iterable[int]:
    return map(int, rule.text.split())


AUTHOR_CELLS: Final = 17


def draw(
    row: TranscriptRow,
    grid: Grid,
    cursor: str,
    fate: Fate | None,
    mark: str,
    *,
    broken: bool,
    author: str = USER,
) -> list[Span]:
    """Draw a block's row.

    `fate` is the effect of edits, `mark` the name of another mark of an unchanged block (``pinned``, ``marked``,
    ``breakpoint``, ""); `broken`: it is after the end of the cached prefix; `author` inserted it.
    """
    gutter = gutter_of(row.gutter, fate, broken=broken)
    words = _strike(row.words, fate) if fate is not None and fate.out else row.words
    if mark == "breakpoint":
        gutter, mark = MARK[mark].span, ""
    sign = _mark(fate) if fate is not None else MARK[mark].span if mark else Span(" ")
    before, after, bar = _figures(row, fate, grid)
    line = [
        gutter,
        Span(cursor, "accent" if cursor != "↑" else "dim"),
        *_turn(row, fate),
        Span(row.sign.text, "faint") if fate is not None and fate.out else row.sign,
        Span(" "),
        *_with_author(words, grid.text, fate.author if fate is not None else author),
        Span(" "),
        sign,
    ]
    if grid.before:
        line.append(right_aligned(before, "dim", grid.before))
    line += [right_aligned(after.text, after.style, 7), Span(" ")]
    return [*line, *bar, Span(" ")] if grid.bar else line


def gutter_of(gutter: Span, fate: Fate | None, *, broken: bool) -> Span:
    """The gutter of a block under edits: blank if removed, written if `broken`."""
    if fate is not None and fate.out:
        return Span(" ")
    return GUTTER["write"].span if broken and gutter.text.strip() else gutter


def _mark(fate: Fate) -> Span:
    sign = MARK[fate.mark]
    return Span(sign.glyph, "dim") if fate.repair else sign.span


def _with_author(words: Spans, room: int, author: str) -> list[Span]:
    name = "" if author in (USER, REPAIR) else cells.fit(safe_text.one_line(author, 60), AUTHOR_CELLS)
    if not name or room < 2 * AUTHOR_CELLS:
        return fit_spans(words, room)
    return [*fit_spans(words, room - cells.width(name) - 1), Span(f" {name}", "faint")]


def _turn(row: TranscriptRow, fate: Fate | None) -> list[Span]:
    style = "faint" if fate is not None and fate.out else "cat-user bold"
    return [right_aligned(row.turn, style, 3)] if len(row.turn) > 2 else [right_aligned(row.turn, style, 2), Span(" ")]


def _strike(words: Spans, fate: Fate) -> list[Span]:
    style = "faint strike" if kind_of(fate.kind).replaces_blocks or fate.repair else "dim strike"
    return [Span(span.text, style) for span in words]


def _figures(row: TranscriptRow, fate: Fate | None, grid: Grid) -> tuple[str, Span, list[Span]]:
    if fate is None:
        bar = bars.line(row.weight, BAR_STEP * grid.bar, grid.bar, tiny="")
        return "", row.tokens, [Span(bar.ljust(grid.bar), row.style)]
    if row.tokens.text == numbers.NONE:
        return "", row.tokens, [Span(" " * grid.bar)]
    staged_bar = bars.staged(
        fate.after or 0, max(0, fate.tokens - (fate.after or 0)), BAR_STEP * grid.bar, grid.bar, row.style
    )
    room = grid.bar - sum(len(span.text) for span in staged_bar)
    bar_spans = [*staged_bar, Span(" " * max(0, room))]
    if fate.out:
        style = "faint" if fate.repair or not fate.tokens else "crit"
        return "", Span(numbers.signed(-fate.tokens) if fate.tokens else "0", style), bar_spans
    if fate.after is None:
        return f"{numbers.tokens(fate.tokens)}→", Span(numbers.NONE, "faint"), bar_spans
    style = f"{_mark(fate).style} bold" if fate.after != fate.tokens else "dim"
    return f"{numbers.tokens(fate.tokens)}→", Span(numbers.tokens(fate.after), style), bar_spans


def _insert_row(new: InsertedBlock) -> TranscriptRow:
    sign = CATEGORY[new.category]
    mark = MARK[new.edit.spec.mark]
    content = read(new.item.block)
    text = content.text or " ".join(filter(None, (content.name, content.arguments))) or new.item.block.kind
    text = text[:2000].strip().replace("\n", " ")
    label = f"{new.edit.spec.lead} " if new.edit.spec.lead else ""
    words = (Span(label, f"{mark.style} bold"), *safe_text.spans(text, "ink"))
    is_counted = new.tokens is not None
    tokens = Span(
        numbers.signed(new.tokens or 0) if is_counted else numbers.NONE, "ink bold" if is_counted else "faint"
    )
    return TranscriptRow(
        gutter=GUTTER["write"].span,
        turn="",
        sign=sign.span,
        words=words,
        tokens=tokens,
        weight=new.tokens or 0,
        style=mark.style,
    )


def draw_insert(new: InsertedBlock, grid: Grid, cursor: str) -> list[Span]:
    return draw(_insert_row(new), grid, cursor, None, new.edit.spec.mark, broken=True, author=new.edit.author)


def draw_rule(rule: RuleRow, grid: Grid, broken: int, cursor: str = " ") -> list[Span]:
    """Draw a folded run, or the end of the cached prefix.

    `broken` cached tokens become unreadable.
    """
    if rule.kind == BREAK:
        break_text = f"prefix ends here · breaks {numbers.tokens(broken)} cached"
        text = f" {break_text if broken else 'changed from here on, nothing cached is lost'} "
        cursor_mark = cursor.strip()
        lead = [
            Span(MARK["break"].glyph, "crit"),
            Span(cursor_mark or "╌", "accent" if cursor_mark else "write"),
            Span("╌╌╌", "write"),
            Span(text, "write bold"),
            *([Span("⏎", "accent bold"), Span(" what that costs ", "faint")] if cursor_mark else []),
        ]
        line = fit_spans(lead, grid.width - 1)
        fill = len(line[-1].text) if line[-1].text.isspace() else 0
        return [*line[:-1], Span("╌" * fill, "write"), Span(" ")] if fill else [*line, Span(" ")]
    rows, tokens = _parse_counts(rule)
    text_of_run = f"{rows:,} unchanged, {numbers.tokens(tokens)}" + ("  ⏎ unfolds" if cursor.strip() else "")
    return [
        Span(" "),
        Span(cursor, "accent"),
        Span("     "),
        Span(MARK["folded"].glyph + " ", "faint"),
        *fit_spans([Span(text_of_run, "faint")], grid.width - 10),
    ]
