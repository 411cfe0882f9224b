"""The threads of a session: the main line of context and the agents it started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ctxtui.analysis.growth.thread_tree import Kin, ordered
from ctxtui.core.call import Call
from ctxtui.core.session import Session, Thread
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.pricing.price import Cost


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """One thread: `depth` below the main one, the calls it made, the tokens of its last call and of its largest (None:
    no report), what it cost in USD (None: not known), and whether that is worked out."""

    id: str
    label: str
    depth: int
    last: bool
    calls: int
    tokens: int | None
    peak: int | None = None
    usd: float | None = None
    priced: bool = False


@dataclass(slots=True)
class _Sum:
    """What is known of a thread's first `calls` calls."""

    calls: int = 0
    peak: int | None = None
    usd: float = 0.0
    known: bool = True


class ThreadSums:
    """Peaks and costs of threads, kept while they grow: looking again reads new calls only."""

    def __init__(self) -> None:
        self._sums: dict[str, _Sum] = {}

    def rows(self, session: Session, costs: Mapping[str, Cost | None]) -> list[ThreadRow]:
        """The threads as a tree (see `thread_tree.ordered`); `costs` holds prices by call, None where there is none."""
        return [
            self._with(session, row, costs)
            for row in (_row(session, thread, depth, last) for thread, depth, last in ordered(session))
        ]

    def _with(self, session: Session, row: ThreadRow, costs: Mapping[str, Cost | None]) -> ThreadRow:
        order = session.order.get(row.id, [])
        found = self._sums.setdefault(row.id, _Sum())
        if found.calls > len(order):
            found = self._sums[row.id] = _Sum()
        # The newest call may still be replaced by a fuller record of it.
        for id_ in order[found.calls : -1]:
            if not _add(found, session.calls[id_], costs):
                break
        whole = replace(found)
        for id_ in order[found.calls :]:
            if not _add(whole, session.calls[id_], costs):
                break
        peak = whole.peak if whole.calls == len(order) else _peak(session, order[whole.calls :], whole.peak)
        priced = whole.calls == len(order)
        usd = whole.usd if priced and whole.known and peak is not None else None
        return replace(row, peak=peak, usd=usd, priced=priced)


def _add(found: _Sum, call: Call, costs: Mapping[str, Cost | None]) -> bool:
    """Take in one more call; False where it is not priced yet."""
    if call.usage is not None:
        if call.usage.cost is None and call.id not in costs:
            return False
        cost = costs.get(call.id)
        usd = call.usage.cost if call.usage.cost is not None else cost.usd if cost is not None else None
        found.known = found.known and usd is not None
        found.usd += usd or 0.0
        found.peak = max(found.peak or 0, call.usage.input)
    found.calls += 1
    return True


def _peak(session: Session, rest: Sequence[str], peak: int | None) -> int | None:
    """The largest context among `rest`, too, whose prices are still to come."""
    sizes = [usage.input for id_ in rest if (usage := session.calls[id_].usage) is not None]
    return max([*sizes, *([peak] if peak is not None else [])], default=None)


def thread_rows(session: Session) -> list[ThreadRow]:
    """The threads as a tree (see `thread_tree.ordered`), without peaks and costs."""
    return [_row(session, thread, depth, last) for thread, depth, last in ordered(session)]


def _row(session: Session, thread: Thread, depth: int, last: bool) -> ThreadRow:
    order = session.order.get(thread.id, [])
    usage = next((u for i in reversed(order) if (u := session.calls[i].usage)), None)
    label = safe_text.one_line(thread.label, 200) or (thread.id if depth else "main")
    return ThreadRow(thread.id, label, depth, last, len(order), usage.input if usage else None)


PANE_HEADS: Final = "now   peak   cost"
"""What stands over the figures of the pane."""


def draw(row: ThreadRow, room: int, *, shown: bool, here: bool) -> list[Span]:
    """A row of the pane; `shown` marks the thread whose calls the screen shows."""
    lead = Span("●" if shown else "○", "ok" if shown else "dim")
    if row.depth:
        branch = "  " * (row.depth - 1) + ("└ " if row.last else "├ ")
        lead = Span("●" if shown else branch[-2], "ok" if shown else "hair")
        indent = Span(branch[:-2])
    else:
        indent = Span("")
    cost = numbers.money(row.usd) if row.priced else numbers.NONE
    figures = f"{_tokens(row.tokens):>6}{_tokens(row.peak):>7}{cost:>8} "
    name = cells.left(row.label, max(1, room - 3 - len(indent.text) - len(figures)))
    return [
        Span("▸" if here else " ", "accent"),
        indent,
        lead,
        Span(" "),
        Span(name, "ink" if shown else "dim"),
        Span(figures, "ink" if shown else "dim"),
    ]


_COLUMNS = (("calls", 6), ("from call", 11), ("context", 9), ("peak", 8), ("sent in all", 12), ("cost", 10))
"""Heads and widths of the figures in the list of threads, all of which a wide screen shows."""
_NARROW = frozenset({"calls", "context", "peak", "cost"})
_WIDE = 100


def heads(room: int) -> list[Span]:
    """The heads of the list's columns."""
    shown = _shown(room)
    taken = sum(wide for _, wide in shown) + 1
    return [Span(cells.left("     thread", max(4, room - taken)), "dim"), *(Span(f"{n:>{w}}", "dim") for n, w in shown)]


def _shown(room: int) -> list[tuple[str, int]]:
    return [column for column in _COLUMNS if room >= _WIDE or column[0] in _NARROW]


def draw_kin(row: Kin, room: int, *, shown: bool, here: bool) -> list[Span]:
    """A row of the list of threads; `shown` marks the thread that the screen behind shows."""
    branch = "  " * (row.depth - 1) + ("└ " if row.last else "├ ") if row.depth else ""
    lead = [Span("▸" if here else " ", "accent"), Span(branch, "hair"), _dot(shown), Span(" ")]
    figures = {
        "calls": f"{row.calls:,}",
        "from call": f"{row.since:,}" if row.since else numbers.NOT_APPLICABLE if not row.depth else numbers.NOT_YET,
        "context": _tokens(row.tokens),
        "peak": _tokens(row.peak),
        "sent in all": _tokens(row.sent),
        "cost": numbers.money(row.usd) if row.priced else numbers.NONE,
    }
    columns = [Span(f"{figures[name]:>{wide}}", _style(name, row)) for name, wide in _shown(room)]
    told = safe_text.one_line(row.label, 200) or (row.id if row.depth else "main")
    folds = f"  Σ {row.folds}" if row.folds else ""
    taken = sum(cells.width(span.text) for span in (*lead, *columns)) + 1 + len(folds)
    name = cells.fit(told, max(4, room - taken))
    gap = " " * max(0, room - taken - cells.width(name))
    return [*lead, Span(name, "ink bold" if shown else "ink"), Span(folds, "cat-summary"), Span(gap), *columns]


def _dot(shown: bool) -> Span:
    return Span("●", "ok") if shown else Span("○", "dim")


def _tokens(count: int | None) -> str:
    return numbers.NONE if count is None else numbers.tokens(count)


def _style(name: str, row: Kin) -> str:
    if name == "cost":
        return "ink bold" if (row.usd or 0) >= 1 else "ink" if row.usd is not None else "dim"
    return "ink" if name == "peak" else "dim"
