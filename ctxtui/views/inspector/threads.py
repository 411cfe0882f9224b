"""The threads of a session as a tree: the main one, subagents and other requests."""

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
    """One thread in the list.

    - `depth`: levels below the main one; `last`: it is the last of its parent's.
    - `tokens`, `peak`: context of its last and of its largest call.
    - `usd`: its cost; a lower bound if calls are `lacking` a price or the end of their answer.
    - `priced`: whether the prices of all its calls were looked up; before, no cost is shown.
    """

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
    """Sums over the first `read` calls of a thread; `silent` are those without a report."""

    read: int = 0
    reported: int | None = None
    silent: tuple[str, ...] = ()
    usd: float | None = None
    lacking: int = 0


class ThreadSums:
    """Peaks and costs of threads; sums over all calls but the newest are kept."""

    def __init__(self) -> None:
        self._sums: dict[str, _Sum] = {}

    def rows(self, session: Session, costs: Mapping[str, Cost | None], size: Size) -> list[ThreadRow]:
        """The threads as a tree (see `thread_tree.order_threads`).

        `costs` maps the calls that were looked up to prices; `size` gives a call's context in tokens.
        """
        return [self._with(session, row, costs, size) for row in thread_rows(session)]

    def _with(self, session: Session, row: ThreadRow, costs: Mapping[str, Cost | None], size: Size) -> ThreadRow:
        order = session.order.get(row.id, [])
        sums_so_far = self._sums.setdefault(row.id, _Sum())
        if sums_so_far.read > len(order):
            sums_so_far = self._sums[row.id] = _Sum()
        # The newest call may still be replaced by a fuller record of it.
        for id_ in order[sums_so_far.read : -1]:
            if not _add_call(sums_so_far, session.calls[id_], costs):
                break
        all_sums = replace(sums_so_far)
        for id_ in order[sums_so_far.read :]:
            if not _add_call(all_sums, session.calls[id_], costs):
                break
        priced = all_sums.read == len(order)
        # The counted size of calls without a report may have changed.
        rest = [*all_sums.silent, *order[all_sums.read :]]
        sizes = [all_sums.reported, *(size(session.calls[id_]) for id_ in rest)]
        return replace(
            row,
            tokens=size(session.calls[order[-1]]) if order else None,
            peak=max((tokens for tokens in sizes if tokens is not None), default=None),
            usd=all_sums.usd if priced else None,
            lacking=all_sums.lacking,
            priced=priced,
        )


def _add_call(sums_so_far: _Sum, call: Call, costs: Mapping[str, Cost | None]) -> bool:
    """Add one call to the sums; return False if it is not priced yet."""
    if call.usage is not None and call.id not in costs:
        return False
    spending = call_row(call, costs.get(call.id), "")
    sums_so_far.usd = sums_so_far.usd if spending.usd is None else (sums_so_far.usd or 0.0) + spending.usd
    sums_so_far.lacking += spending.at_least
    if call.usage is None:
        sums_so_far.silent = (*sums_so_far.silent, call.id)
    elif not call.is_sum:
        sums_so_far.reported = max(sums_so_far.reported or 0, call.usage.input)
    sums_so_far.read += 1
    return True


def thread_rows(session: Session) -> list[ThreadRow]:
    return [_row(session, thread, depth, last) for thread, depth, last in order_threads(session)]


def _row(session: Session, thread: Thread, depth: int, last: bool) -> ThreadRow:
    calls = count_calls(session.thread_calls(thread.id))
    label = safe_text.one_line(thread.label, 200) or (thread.id if depth else "main")
    return ThreadRow(id=thread.id, label=label, depth=depth, last=last, calls=calls)


def _least(row: ThreadRow) -> str:
    return numbers.least(row.usd, row.lacking > 0)


PANE_HEADS: Final = "now   peak     cost"


def _dot(shown: bool) -> Span:
    return Span("●", "ok") if shown else Span("○", "dim")


def _tokens(count: int | None) -> str:
    return numbers.NONE if count is None else numbers.tokens(count)


def pane_table(current: str) -> Table[ThreadRow]:
    """The table of the inspector's pane; `current` is the id of the thread shown."""

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
    """The table of the list and of ``show --threads``; `current` is the thread shown."""

    def name(row: ThreadNode, room: int) -> list[Span]:
        shown = row.id == current
        branch = "  " * (row.depth - 1) + ("└ " if row.last else "├ ") if row.depth else ""
        label = safe_text.one_line(row.label, 200) or (row.id if row.depth else "main")
        folds = f"  Σ {row.folds}" if row.folds else ""
        fit = cells.fit(label, max(4, room - len(branch) - 2 - len(folds)))
        lead = [Span(branch, "hair"), _dot(shown), Span(" ")]
        return [*lead, Span(fit, "ink bold" if shown else "ink"), Span(folds, "cat-summary")]

    return Table((Column("    thread", 0, name, "left"), *_FIGURES))


def _calls(row: ThreadNode) -> str:
    begins = f", started after call {row.since:,} of its parent thread" if row.since else ""
    return f"{numbers.many(row.calls, 'call')} of this thread{begins}."


def _context(row: ThreadNode) -> str:
    if row.tokens is None or row.peak is None:
        return ""
    return sums.difference(row.tokens, row.peak, row.peak - row.tokens, ("now", "at its peak", "since"))


def _sent(row: ThreadNode) -> str:
    if row.sent is None:
        return ""
    if row.sent and not row.calls:
        return f"{row.sent:,} tokens of input; the number of calls is not recorded."
    text = f"{row.sent:,} tokens of input in {numbers.many(row.calls, 'call')}"
    if not row.sent:
        return f"{text}."
    answered = f"; output {row.answered:,}" if row.answered else ""
    return f"{text}, {row.sent // row.calls:,} each on average{answered}."


def _spent(row: ThreadNode) -> str:
    return sums.rate(row.least, (row.sent or 0) + (row.answered or 0), "tokens in and out")


def explain_total(rows: Sequence[ThreadNode]) -> str:
    amounts = [row.least for row in rows if row.least]
    return sums.money_addition(sum(amounts), amounts, "threads") if amounts else ""


def _since(row: ThreadNode, room: int) -> Span:
    none = numbers.NOT_YET if row.depth else numbers.NOT_APPLICABLE
    return Span(f"{row.since:,}" if row.since else none, "dim")


def _cost(row: ThreadNode, room: int) -> Span:
    style = "ink bold" if (row.least or 0) >= 1 else "ink" if row.usd is not None else "dim"
    return Span(numbers.least(row.least, row.usd is None) if row.priced else numbers.NONE, style)


_WIDE: Final = 100
_FIGURES: Final[tuple[Column[ThreadNode], ...]] = (
    Column("calls", 6, lambda row, _: Span(f"{row.calls:,}", "dim"), sum=_calls),
    Column("from call", 11, _since, from_width=_WIDE, sum=_calls),
    Column("context", 9, lambda row, _: Span(_tokens(row.tokens), "dim"), sum=_context),
    Column("peak", 8, lambda row, _: Span(_tokens(row.peak)), sum=_context),
    Column("sent in all", 12, lambda row, _: Span(_tokens(row.sent), "dim"), from_width=_WIDE, sum=_sent),
    Column("cost", 10, _cost, sum=_spent),
)
