"""Threads of a session as a tree of parents and children, with context, peak and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from ctxtui.analysis.money.spending import call_row, sum_rows
from ctxtui.core.call import COMPACTIONS, Call, count_calls
from ctxtui.core.session import MAIN, Session, Thread
from ctxtui.pricing.price import Cost


class ThreadNode(Struct, frozen=True, kw_only=True):
    """One thread, as a row of the tree.

    - `depth`: below the main thread; `last`: the last of its parent's children.
    - `tokens`: context of its last call; `peak`: its largest context (None: not known yet).
    - `sent`, `answered`: all reported input and all output (None: no report). Of `partial` calls only the known part
      counts.
    - `usd`: cost of its calls; None if unknown, or if prices are not computed yet (`priced` is then False). `least` is
      the known part.
    - `since`: the parent's call (from 1) after which it began; 0 if unknown.
    - `folds`: number of its compactions.
    """

    id: str
    label: str
    parent: str
    depth: int
    last: bool
    calls: int
    model: str
    tokens: int | None
    peak: int | None
    sent: int | None
    answered: int | None
    usd: float | None
    least: float | None
    priced: bool
    partial: int
    since: int
    folds: int


def order_threads(session: Session) -> Iterator[tuple[Thread, int, bool]]:
    """Yield (thread, depth, is the last child), the main thread first.

    Each thread's children follow it. A thread with unknown parent belongs to the main one. Threads that are each
    other's parents come last.
    """
    threads = dict(session.threads)
    threads.setdefault(MAIN, Thread(MAIN))
    children: dict[str, list[str]] = {}
    for thread in threads.values():
        if thread.id != MAIN:
            children.setdefault(parent_thread(session, thread), []).append(thread.id)
    seen_ids: set[str] = set()
    waiting = [(id_, 1, True) for id_ in reversed(threads)] + [(MAIN, 0, True)]
    while waiting:
        id_, depth, last = waiting.pop()
        if id_ in seen_ids:
            continue
        seen_ids.add(id_)
        yield threads[id_], depth, last
        child_ids = children.get(id_, [])
        waiting += [(child, depth + 1, child == child_ids[-1]) for child in reversed(child_ids)]


def parent_thread(session: Session, thread: Thread) -> str:
    return thread.parent if thread.parent in session.threads and thread.parent != thread.id else MAIN


Size = Callable[[Call], int | None]
"""Gives a call's context in tokens (`analysis.figures.context_size`), None while unknown."""


def thread_nodes(session: Session, costs: Mapping[str, Cost | None], size: Size) -> list[ThreadNode]:
    """Every thread with its figures; `costs` has an entry for each call whose price is computed."""
    return [_thread_node(session, thread, depth, last, costs, size) for thread, depth, last in order_threads(session)]


def _thread_node(
    session: Session, thread: Thread, depth: int, last: bool, costs: Mapping[str, Cost | None], size: Size
) -> ThreadNode:
    calls = session.thread_calls(thread.id)
    sizes = [size(call) for call in calls]
    used = [call.usage for call in calls if call.usage is not None]
    parent = parent_thread(session, thread) if thread.id != MAIN else ""
    least, is_complete, priced = _known_cost(calls, costs)
    return ThreadNode(
        id=thread.id,
        label=thread.label,
        parent=parent,
        depth=depth,
        last=last,
        calls=count_calls(calls),
        model=calls[-1].model if calls else "",
        tokens=sizes[-1] if sizes else None,
        peak=max((tokens for tokens in sizes if tokens is not None), default=None),
        sent=sum(usage.input for usage in used) if used else None,
        answered=sum(call.output for call in calls) if used else None,
        usd=least if is_complete else None,
        least=least,
        priced=priced,
        partial=sum(call.is_partial for call in calls),
        since=_parent_call(session.thread_calls(parent), calls) if parent else 0,
        folds=sum(b.epoch.start in COMPACTIONS for a, b in pairwise(calls) if a.epoch.number != b.epoch.number),
    )


def _known_cost(calls: Sequence[Call], costs: Mapping[str, Cost | None]) -> tuple[float | None, bool, bool]:
    """Known cost of `calls`, whether it is complete, and whether every price was computed."""
    if any(call.usage is not None and call.id not in costs for call in calls):
        return None, False, False
    total = sum_rows(call_row(call, costs.get(call.id), "") for call in calls)
    return total.usd, not total.at_least, True


def _parent_call(before: Sequence[Call], calls: Sequence[Call]) -> int:
    """Number of the parent's last call that had begun when the first of `calls` did."""
    began = next((call.started for call in calls if call.started is not None), None)
    if began is None:
        return 0
    return max((n for n, call in enumerate(before, 1) if call.started is not None and call.started <= began), default=0)
