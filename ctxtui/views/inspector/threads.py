"""The threads of a session: the main line of context and the agents it started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.growth.thread_tree import Size, ThreadNode, order_threads
from ctxtui.analysis.money.spending import call_row
from ctxtui.core.call import Call, count_calls
from ctxtui.core.session import Session, Thread
from ctxtui.pricing.price import Cost
from ctxtui.views.text import cells, numbers, safe_text, sums
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table


class ThreadRow(Struct, frozen=True, kw_only=True):
    """One thread: `depth` below the main one, the calls it made, the tokens of its last call and of its largest (None:
    not known yet), what it cost in USD (None: not known), which is the least where calls are `lacking` a price or the
    end of their answer, and whether it is worked out."""

    id: str
    label: str
    depth: int
    last: bool
    calls: int
    tokens: int | None = None
    peak: int | None = None
    usd: float | None = None
    lacking: int = 0
    priced: bool = False


class _Sum(Struct):
    """Sum of the first `read` calls of a thread: the largest that was `reported`, and those without a report."""

    read: int = 0
    reported: int | None = None
    silent: tuple[str, ...] = ()
    usd: float | None = None
    lacking: int = 0


class ThreadSums:
    """Peaks and costs of threads, kept while they grow: looking again reads new calls only."""

    def __init__(self) -> None:
        self._sums: dict[str, _Sum] = {}

    def rows(self, session: Session, costs: Mapping[str, Cost | None], size: Size) -> list[ThreadRow]:
        """The threads as a tree (see `thread_tree.order_threads`); `costs` holds prices by call, None if
        there is none.
        """
        return [self._with(session, row, costs, size) for row in thread_rows(session)]

    def _with(self, session: Session, row: ThreadRow, costs: Mapping[str, Cost | None], size: Size) -> ThreadRow:
        order = session.order.get(row.id, [])
        found = self._sums.setdefault(row.id, _Sum())
        if found.read > len(order):
            found = self._sums[row.id] = _Sum()
        # The newest call may still be replaced by a fuller record of it.
        for id_ in order[found.read : -1]:
            if not _add(found, session.calls[id_], costs):
                break
        whole = replace(found)
        for id_ in order[found.read :]:
            if not _add(whole, session.calls[id_], costs):
                break
        priced = whole.read == len(order)
        # What is no report may be counted otherwise by now.
        rest = [*whole.silent, *order[whole.read :]]
        sizes = [whole.reported, *(size(session.calls[id_]) for id_ in rest)]
        return replace(
            row,
            tokens=size(session.calls[order[-1]]) if order else None,
            peak=max((tokens for tokens in sizes if tokens is not None), default=None),
            usd=whole.usd if priced else None,
            lacking=whole.lacking,
            priced=priced,
        )


def _add(found: _Sum, call: Call, costs: Mapping[str, Cost | None]) -> bool:
    """Take in one more call; False where it is not priced yet."""
    if call.usage is not None:
        if call.id not in costs:
            return False
        more = call_row(call, costs.get(call.id), "")
        found.usd = found.usd if more.usd is None else (found.usd or 0.0) + more.usd
        found.lacking += more.at_least
        if not call.is_sum:
            found.reported = max(found.reported or 0, call.usage.input)
    else:
        found.silent = (*found.silent, call.id)
    found.read += 1
    return True


def thread_rows(session: Session) -> list[ThreadRow]:
    """The threads as a tree (see `thread_tree.order_threads`), without contexts and costs."""
    return [_row(session, thread, depth, last) for thread, depth, last in order_threads(session)]


def _row(session: Session, thread: Thread, depth: int, last: bool) -> ThreadRow:
    calls = count_calls(session.thread_calls(thread.id))
    label = safe_text.one_line(thread.label, 200) or (thread.id if depth else "main")
    return ThreadRow(id=thread.id, label=label, depth=depth, last=last, calls=calls)


def _least(row: ThreadRow) -> str:
    return numbers.least(row.usd, row.lacking > 0)


PANE_HEADS: Final = "now   peak     cost"
"""What stands over the figures of the pane."""


def _dot(shown: bool) -> Span:
    return Span("●", "ok") if shown else Span("○", "dim")


def _tokens(count: int | None) -> str:
    return numbers.NONE if count is None else numbers.tokens(count)


def pane_table(current: str) -> Table[ThreadRow]:
    """The table of the pane; `current` is the thread whose calls the screen shows."""

    def ink(row: ThreadRow) -> str:
        return "ink" if row.id == current else "dim"

    def name(row: ThreadRow, room: int) -> list[Span]:
        shown = row.id == current
        branch = "  " * (row.depth - 1) + ("└ " if row.last else "├ ") if row.depth else ""
        dot = Span(branch[-2], "hair") if branch and not shown else _dot(shown)
        return [Span(branch[:-2]), dot, Span(" "), Span(row.label, ink(row))]

    return Table(
        (
            Column("", 0, name, "left", least=3),
            Column("", 6, lambda row, _: Span(_tokens(row.tokens), ink(row))),
            Column("", 7, lambda row, _: Span(_tokens(row.peak), ink(row))),
            Column("", 10, lambda row, _: Span(_least(row) if row.priced else numbers.NONE, ink(row))),
        )
    )


def table(current: str) -> Table[ThreadNode]:
    """The table of the list; `current` is the thread that the screen behind shows."""

    def name(row: ThreadNode, room: int) -> list[Span]:
        shown = row.id == current
        branch = "  " * (row.depth - 1) + ("└ " if row.last else "├ ") if row.depth else ""
        told = safe_text.one_line(row.label, 200) or (row.id if row.depth else "main")
        folds = f"  Σ {row.folds}" if row.folds else ""
        fit = cells.fit(told, max(4, room - len(branch) - 2 - len(folds)))
        lead = [Span(branch, "hair"), _dot(shown), Span(" ")]
        return [*lead, Span(fit, "ink bold" if shown else "ink"), Span(folds, "cat-summary")]

    return Table((Column("    thread", 0, name, "left"), *_FIGURES))


def _calls(row: ThreadNode) -> str:
    begins = f", begun after call {row.since:,} of the line that started it" if row.since else ""
    return f"{row.calls:,} call{'' if row.calls == 1 else 's'} of this line of context{begins}."


def _context(row: ThreadNode) -> str:
    if row.tokens is None or row.peak is None:
        return ""
    return sums.less(row.tokens, row.peak, row.peak - row.tokens, ("now", "at its peak", "since"))


def _sent(row: ThreadNode) -> str:
    if row.sent is None:
        return ""
    if row.sent and not row.calls:
        return f"{row.sent:,} tokens of input; in how many calls is not recorded."
    told = f"{row.sent:,} tokens of input in {numbers.many(row.calls, 'call')}"
    if not row.sent:
        return f"{told}."
    answered = f"; they answered {row.answered:,}" if row.answered else ""
    return f"{told}, {row.sent // row.calls:,} each on average{answered}."


def _spent(row: ThreadNode) -> str:
    return sums.rate(row.least, (row.sent or 0) + (row.answered or 0), "tokens in and out")


def sums_of_total(rows: Sequence[ThreadNode]) -> str:
    """What all threads cost together, as a sum."""
    known = [row.least for row in rows if row.least]
    return sums.added_money(sum(known), known, "threads") if known else ""


def _since(row: ThreadNode, room: int) -> Span:
    none = numbers.NOT_YET if row.depth else numbers.NOT_APPLICABLE
    return Span(f"{row.since:,}" if row.since else none, "dim")


def _cost(row: ThreadNode, room: int) -> Span:
    style = "ink bold" if (row.least or 0) >= 1 else "ink" if row.usd is not None else "dim"
    return Span(numbers.least(row.least, row.usd is None) if row.priced else numbers.NONE, style)


_WIDE: Final = 100
"""Cells of a line from which the list has every column."""
_FIGURES: Final[tuple[Column[ThreadNode], ...]] = (
    Column("calls", 6, lambda row, _: Span(f"{row.calls:,}", "dim"), sum=_calls),
    Column("from call", 11, _since, from_width=_WIDE, sum=_calls),
    Column("context", 9, lambda row, _: Span(_tokens(row.tokens), "dim"), sum=_context),
    Column("peak", 8, lambda row, _: Span(_tokens(row.peak)), sum=_context),
    Column("sent in all", 12, lambda row, _: Span(_tokens(row.sent), "dim"), from_width=_WIDE, sum=_sent),
    Column("cost", 10, _cost, sum=_spent),
)
