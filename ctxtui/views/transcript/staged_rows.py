"""The rows of a context under edits: all of them, with what edits put in, or only what edits touch, the rest folded."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

from ctxtui.core.block_content import read
from ctxtui.core.edit import REPAIR, USER
from ctxtui.core.edit_kinds import kind_of
from ctxtui.views.model.fates import Fate
from ctxtui.views.model.staging import New, Staging
from ctxtui.views.text import bars, cells, numbers, safe_text
from ctxtui.views.text.grid import Grid, figure, fitted
from ctxtui.views.text.signs import CATEGORY, GUTTER, MARK
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.row_index import MISSING, RowIndex, RuleRow
from ctxtui.views.transcript.rows import BAR_STEP, TranscriptRow

FOLDED: Final = "folded"
BREAK: Final = "break"
NEW: Final = "new"
"""Kinds of rules: unchanged rows, the place where the prefix ends, a block that an edit puts in."""

AROUND: Final = 1
"""Unchanged rows that stay in view on each side of what changed."""
AHEAD: Final = 3
"""Unchanged rows that stay in view before the first change."""
_END: Final = 1 << 40
"""Behind every block."""


class StagedRows:
    """The entries of the context of `staging`: those of `rows`, and between them negative numbers for what edits put in
    and for the place where the prefix ends. With `only` these are those that changed, are pinned, carry a breakpoint or
    are the nodes in `only`, and their neighbours; runs of others are a rule each. None shows all of them."""

    def __init__(self, staging: Staging, rows: RowIndex, only: frozenset[int] | None) -> None:
        self._staging = staging
        self._base = rows
        self._first = -len(rows.rules)
        # As those of `rows`: a key copies ten thousand of them, and makes none.
        self._entries = array("i")
        self._rules: list[RuleRow] = []
        self._news: dict[int, New] = {}
        self._runs: dict[int, Sequence[int]] = {}
        self._build(only)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: int) -> int:
        return self._entries[index]

    @property
    def entries(self) -> Sequence[int]:
        """All entries; not to be changed."""
        return self._entries

    @property
    def context_rows(self) -> int:
        """How many rows there are: all of them belong to the context that would be sent."""
        return len(self._entries)

    def own_rule(self, entry: int) -> bool:
        """Whether a negative `entry` is there because of edits."""
        return entry < self._first

    def rule(self, entry: int) -> RuleRow:
        """The rule that a negative `entry` stands for."""
        return self._rules[self._first - 1 - entry] if self.own_rule(entry) else self._base.rule(entry)

    def new(self, entry: int) -> New | None:
        """The block that an edit puts in at `entry`."""
        return self._news.get(entry)

    @property
    def news(self) -> list[tuple[int, New]]:
        """The rows of what edits put in."""
        return [(self._entries.index(entry), new) for entry, new in self._news.items()]

    def folded(self, entry: int) -> Sequence[int]:
        """The nodes that the rule of a folded run stands for; none for another rule."""
        return self._runs.get(entry, ())

    def new_before(self, at: int) -> int | None:
        """The row of the first block that an edit puts in before the raw position `at`; None where none is."""
        found = next((entry for entry, new in self._news.items() if new.at == at), None)
        return None if found is None else self._entries.index(found)

    def index_of(self, node: int) -> int:
        """The row of `node`, or the nearest one above it that is shown."""
        return max(0, bisect_right(self._entries, 2 * self._base.depth(node), key=self._place) - 1)

    def _place(self, entry: int) -> int:
        if not self.own_rule(entry):
            return self._base.place(entry)
        before = self.rule(entry).before
        return 2 * self._base.depth(before) - 1 if before >= 0 else _END

    def _row_at(self, position: int) -> int:
        """The first row (of all) at a raw position or behind it."""
        node = self._staging.first(position)
        if node is None:
            return len(self._base)
        return bisect_left(self._base.entries, 2 * self._base.depth(node), key=self._base.place)

    def _kept(self, only: frozenset[int]) -> list[int]:
        """The rows (of all) that stay in view where only what edits touch does."""
        staging, count = self._staging, len(self._base)
        applied = staging.applied
        touched = {*applied.changes, *applied.marks, *applied.pinned, *(new.at for new in staging.coming)}
        touched |= {staging.breaks_at} if staging.breaks_at is not None else set()
        first = self._row_at(min(touched)) if touched else 0
        touched |= {at for node in only if (at := staging.position(node)) is not None}
        if not touched:
            return list(range(count))
        keep: set[int] = set(range(max(0, first - AHEAD), first))
        for row in map(self._row_at, touched):
            keep.update(range(max(0, row - AROUND), min(count, row + AROUND + 1)))
        if count and self._base[0] == MISSING:
            keep.add(0)
        return sorted(keep)

    def _build(self, only: frozenset[int] | None) -> None:
        staging = self._staging
        breaks = staging.breaks_at
        stops = [(new.at, 1, new) for new in staging.coming]
        rules: list[tuple[int, int, New | None]] = [*stops, *([(breaks, 0, None)] if breaks is not None else [])]
        rules.sort(key=lambda one: one[:2])
        kept = None if only is None else self._kept(only)
        row = 0
        for at, _, new in rules:
            row = self._rows(kept, row, self._row_at(at))
            before = staging.first(at)
            self._put(NEW if new is not None else BREAK, "", -1 if before is None else before)
            if new is not None:
                self._news[self._entries[-1]] = new
        self._rows(kept, row, len(self._base))

    def _rows(self, kept: Sequence[int] | None, start: int, stop: int) -> int:
        """Enter the rows from `start` to `stop` (exclusive); runs of rows that are not kept are folded."""
        rows = self._base.entries
        if kept is None:
            self._entries.extend(rows[start:stop])
            return max(start, stop)
        at = start
        for row in kept[bisect_left(kept, start) : bisect_left(kept, stop)]:
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


def counts(rule: RuleRow) -> Iterable[int]:
    """How many rows a folded run has, and their tokens."""
    return map(int, rule.text.split())


_AUTHOR: Final = 17
"""Cells that the name of a policy may take."""


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
    """A block's row. `fate` is what becomes of it, `mark` the name of another mark where nothing does (``pinned``,
    ``marked``, ``breakpoint``, ""); `broken`: it lies behind the place where the cached prefix ends. `author` is who
    put it in."""
    gutter = gutter_of(row.gutter, fate, broken=broken)
    words = _struck(row.words, fate) if fate is not None and fate.out else row.words
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
        *_signed(words, grid.text, fate.author if fate is not None else author),
        Span(" "),
        sign,
    ]
    if grid.before:
        line.append(figure(before, "dim", grid.before))
    line += [figure(after.text, after.style, 7), Span(" ")]
    return [*line, *bar, Span(" ")] if grid.bar else line


def gutter_of(gutter: Span, fate: Fate | None, *, broken: bool) -> Span:
    """How a block will be charged that was charged as `gutter` says: what is out is not, what lies behind the cached
    prefix is written."""
    if fate is not None and fate.out:
        return Span(" ")
    return GUTTER["write"].span if broken and gutter.text.strip() else gutter


def _mark(fate: Fate) -> Span:
    """The mark of a block that changes; dim where only a repair took it."""
    sign = MARK[fate.mark]
    return Span(sign.glyph, "dim") if fate.repair else sign.span


def _signed(words: Spans, room: int, author: str) -> list[Span]:
    """The words, and at their end the policy that changed the block, where there is room for both."""
    name = "" if author in (USER, REPAIR) else cells.fit(safe_text.one_line(author, 60), _AUTHOR)
    if not name or room < 2 * _AUTHOR:
        return fitted(words, room)
    return [*fitted(words, room - cells.width(name) - 1), Span(f" {name}", "faint")]


def _turn(row: TranscriptRow, fate: Fate | None) -> list[Span]:
    style = "faint" if fate is not None and fate.out else "cat-user bold"
    return [figure(row.turn, style, 3)] if len(row.turn) > 2 else [figure(row.turn, style, 2), Span(" ")]


def _struck(words: Spans, fate: Fate) -> list[Span]:
    style = "faint strike" if kind_of(fate.kind).replaces_blocks or fate.repair else "dim strike"
    return [Span(span.text, style) for span in words]


def _figures(row: TranscriptRow, fate: Fate | None, grid: Grid) -> tuple[str, Span, list[Span]]:
    """What the block had, what it will have, and the bar of both."""
    if fate is None:
        bar = bars.line(row.weight, BAR_STEP * grid.bar, grid.bar, tiny="")
        return "", row.tokens, [Span(bar.ljust(grid.bar), row.style)]
    if row.tokens.text == numbers.NONE:
        return "", row.tokens, [Span(" " * grid.bar)]
    drawn = bars.staged(
        fate.after or 0, max(0, fate.tokens - (fate.after or 0)), BAR_STEP * grid.bar, grid.bar, row.style
    )
    room = grid.bar - sum(len(span.text) for span in drawn)
    bar_spans = [*drawn, Span(" " * max(0, room))]
    if fate.out:
        style = "faint" if fate.repair or not fate.tokens else "crit"
        return "", Span(numbers.signed(-fate.tokens) if fate.tokens else "0", style), bar_spans
    if fate.after is None:
        return f"{numbers.tokens(fate.tokens)}→", Span(numbers.NONE, "faint"), bar_spans
    style = f"{_mark(fate).style} bold" if fate.after != fate.tokens else "dim"
    return f"{numbers.tokens(fate.tokens)}→", Span(numbers.tokens(fate.after), style), bar_spans


def new_row(new: New) -> TranscriptRow:
    """The row of a block that an edit puts in."""
    sign = CATEGORY[new.category]
    mark = MARK[new.edit.spec.mark]
    text = read(new.item.block).text[:2000].strip().replace("\n", " ")
    label = f"{new.edit.spec.lead} " if new.edit.spec.lead else ""
    words = (Span(label, f"{mark.style} bold"), *safe_text.spans(text, "ink", "warn"))
    known = new.tokens is not None
    tokens = Span(numbers.signed(new.tokens or 0) if known else numbers.NONE, "ink bold" if known else "faint")
    return TranscriptRow(
        gutter=GUTTER["write"].span,
        turn="",
        sign=sign.span,
        words=words,
        tokens=tokens,
        weight=new.tokens or 0,
        style=mark.style,
    )


def draw_new(new: New, grid: Grid, cursor: str) -> list[Span]:
    """The line of a block that an edit puts in."""
    return draw(new_row(new), grid, cursor, None, new.edit.spec.mark, broken=True, author=new.edit.author)


def draw_rule(rule: RuleRow, grid: Grid, broken: int, cursor: str = " ") -> list[Span]:
    """A folded run, or the place where the prefix ends; `broken` are the cached tokens that are not read any more."""
    if rule.kind == BREAK:
        lost = f"prefix ends here · breaks {numbers.tokens(broken)} cached"
        text = f" {lost if broken else 'changed from here on, nothing cached is lost'} "
        here = cursor.strip()
        lead = [
            Span(MARK["break"].glyph, "crit"),
            Span(here or "╌", "accent" if here else "write"),
            Span("╌╌╌", "write"),
            Span(text, "write bold"),
            *([Span("⏎", "accent bold"), Span(" what that costs ", "faint")] if here else []),
        ]
        line = fitted(lead, grid.width - 1)
        fill = len(line[-1].text) if line[-1].text.isspace() else 0
        return [*line[:-1], Span("╌" * fill, "write"), Span(" ")] if fill else [*line, Span(" ")]
    rows, tokens = counts(rule)
    told = f"{rows:,} unchanged, {numbers.tokens(tokens)}" + ("  ⏎ unfolds" if cursor.strip() else "")
    return [
        Span(" "),
        Span(cursor, "accent"),
        Span("     "),
        Span(MARK["folded"].glyph + " ", "faint"),
        *fitted([Span(told, "faint")], grid.width - 10),
    ]
