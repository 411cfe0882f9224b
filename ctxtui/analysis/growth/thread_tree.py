"""The threads of a session as a family: who started whom, each with its own context, peak and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from ctxtui.analysis.money.spending import row_of, summed
from ctxtui.core.call import Call, EpochStart, count_calls
from ctxtui.core.session import MAIN, Session, Thread
from ctxtui.pricing.price import Cost

_FOLDS = frozenset({EpochStart.COMPACTION, EpochStart.MICROCOMPACTION})


class Kin(Struct, frozen=True, kw_only=True):
    """One thread: `depth` below the main one, `last` of those that its parent started.

    `tokens` is the context of its last call, `peak` its largest (None: not known yet), `sent` all reported
    input and `answered` all output together (None: no report), of `partial` calls only what is known of it. `usd` is
    what its calls cost: None where that is not known, or not known yet (then `priced` is False); `least` is what is
    known of it. `since` is the parent's call (from
    1) after which it began, 0 where times do not tell; `folds` counts its compactions.
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


def ordered(session: Session) -> Iterator[tuple[Thread, int, bool]]:
    """The threads as a tree in order of appearance, the main one first: (thread, depth, whether its parent's last).

    One whose parent is unknown belongs to the main one; threads whose parents form a ring hang on nothing and come
    last.
    """
    threads = dict(session.threads)
    threads.setdefault(MAIN, Thread(MAIN))
    children: dict[str, list[str]] = {}
    for thread in threads.values():
        if thread.id != MAIN:
            children.setdefault(parent_of(session, thread), []).append(thread.id)
    seen: set[str] = set()
    waiting = [(id_, 1, True) for id_ in reversed(threads)] + [(MAIN, 0, True)]
    while waiting:
        id_, depth, last = waiting.pop()
        if id_ in seen:
            continue
        seen.add(id_)
        yield threads[id_], depth, last
        below = children.get(id_, [])
        waiting += [(child, depth + 1, child == below[-1]) for child in reversed(below)]


def parent_of(session: Session, thread: Thread) -> str:
    """The thread that started `thread`: the main one where that is not recorded."""
    return thread.parent if thread.parent in session.threads and thread.parent != thread.id else MAIN


Size = Callable[[Call], int | None]
"""Gives a call's context in tokens (`analysis.figures.context_size`), None while it is not known."""


def family(session: Session, costs: Mapping[str, Cost | None], size: Size) -> list[Kin]:
    """Every thread with its figures. `costs` holds a price for each call that was asked for, None without one."""
    return [_kin(session, thread, depth, last, costs, size) for thread, depth, last in ordered(session)]


def _kin(session: Session, thread: Thread, depth: int, last: bool, costs: Mapping[str, Cost | None], size: Size) -> Kin:
    calls = session.thread_calls(thread.id)
    sizes = [size(call) for call in calls]
    used = [call.usage for call in calls if call.usage is not None]
    parent = parent_of(session, thread) if thread.id != MAIN else ""
    least, whole, priced = _spent(calls, costs)
    return Kin(
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
        usd=least if whole else None,
        least=least,
        priced=priced,
        partial=sum(call.is_partial for call in calls),
        since=_since(session.thread_calls(parent), calls) if parent else 0,
        folds=sum(call.epoch.start in _FOLDS for call in _begun(calls)),
    )


def _spent(calls: Sequence[Call], costs: Mapping[str, Cost | None]) -> tuple[float | None, bool, bool]:
    """What is known of the cost of `calls`, whether that is all of it, and whether every price was asked for."""
    if any(call.usage is not None and call.id not in costs for call in calls):
        return None, False, False
    total = summed(row_of(call, costs.get(call.id), "") for call in calls)
    return total.usd, not total.at_least, True


def _since(before: Sequence[Call], calls: Sequence[Call]) -> int:
    """The number of the last of the parent's calls that had begun when the first of `calls` did."""
    began = next((call.started for call in calls if call.started is not None), None)
    if began is None:
        return 0
    return max((n for n, call in enumerate(before, 1) if call.started is not None and call.started <= began), default=0)


def _begun(calls: Sequence[Call]) -> Iterator[Call]:
    """The calls with which an epoch begins, but for the first."""
    return (call for old, call in pairwise(calls) if old.epoch.number != call.epoch.number)
