"""What one process has worked out of a session, handed over to another one that has read the same recording.

Figures stand in columns and dictionaries whose members are the session's own: its tree, its calls, the book. Those are
not sent along: in their place stands which of them it is, and where it comes to it is the one that stands there.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import zstandard

from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.core.tree import Node
from ctxtui.services.study.call_costs import price_columns

if TYPE_CHECKING:
    from ctxtui.analysis.book import Book
    from ctxtui.analysis.cache.next_call import AfterCall, Foretold
    from ctxtui.analysis.money.totals import SessionTotals
    from ctxtui.analysis.running_totals import RunningTotals
    from ctxtui.core.session import Session
    from ctxtui.pricing.price import Cost
    from ctxtui.services.study.call_costs import ByCall, PriceColumns
    from ctxtui.services.study.session_groups import SessionGroups
    from ctxtui.services.study.session_misses import SessionMisses
    from ctxtui.services.study.thread_study import ThreadStudy

COSTS: Final = "costs"
MISSES: Final = "misses"
FINDER: Final = "finder"
THREAD: Final = "thread"
REPEATS: Final = "repeats"

Part = tuple[str, bytes]
"""A part of what was worked out: what it is, and how it is sent."""

_AT_ONCE: Final = 1 << 16
"""Bytes that are unpacked at a time."""
_LEVEL: Final = 1
"""What is sent is packed: some of it waits in memory until it is asked for."""


class SessionFigures(Protocol):
    """What is handed over from and to: a study (`services.study.study`)."""

    session: Session
    book: Book
    costs: ByCall[Cost | None]
    uncached: ByCall[float]
    totals: SessionTotals | None
    misses: SessionMisses
    groups: SessionGroups

    def running(self, model: str) -> RunningTotals:
        """The running totals as `model` counts."""

    def every_running(self) -> dict[str, RunningTotals]:
        """The running totals of each model that was asked for."""

    def thread(self, id_: str) -> ThreadStudy:
        """What is known of a thread."""

    def counted_elsewhere(self) -> None:
        """The book has taken over what was counted and learnt."""

    def take_prices(self, calls: Sequence[Call], prices: PriceColumns, totals: SessionTotals) -> None:
        """Take over the prices of all `calls`, and what they come to."""

    def take_foretold(self, asked: AfterCall, found: Foretold) -> None:
        """Take over how a request is foretold."""


def _own(study: SessionFigures) -> dict[str, object]:
    """The session's own, by what they are called."""
    session, book = study.session, study.book
    return {
        "study": study,
        "session": session,
        "tree": session.tree,
        "book": book,
        "names": book.names,
        "costs": study.costs,
    }


class _Sender(pickle.Pickler):
    """Writes values; of what is the session's own it names calls by their number, names of blocks by a node."""

    def __init__(self, file: io.BytesIO, known: dict[int, object], digests: dict[str, int]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._known = known
        self._digests = digests

    def persistent_id(self, one: Any) -> object:
        """What stands for `one`; None where it is written."""
        if type(one) is str:
            return self._digests.get(one)
        found = self._known.get(id(one))
        if found is None and type(one) in (Call, Node, Block):
            raise pickle.PicklingError("it is not the session's own any more")
        return found


class _Receiver(pickle.Unpickler):
    """Reads what a `_Sender` wrote. `calls` are those that the other process knew."""

    def __init__(self, file: io.BufferedReader[Any], study: SessionFigures, calls: Sequence[Call]) -> None:
        super().__init__(file)
        self._study = study
        self._tree = study.session.tree
        self._calls = calls
        self._own = _own(study)
        self._digests: dict[int, str] = {}

    def _digest(self, node: int) -> str:
        found = self._digests.get(node)
        if found is None:
            found = self._digests[node] = self._tree.digest(node)
        return found

    def persistent_load(self, name: Any) -> object:
        """What `name` stands for."""
        if type(name) is int:
            return self._calls[name] if name >= 0 else self._digest(-name)
        return self._own[name] if type(name) is str else self._study.running(name[1])


def totals(study: SessionFigures) -> bytes:
    """The running totals of a session that is counted, in columns."""
    return pickle.dumps({model: one.kept() for model, one in study.every_running().items()}, pickle.HIGHEST_PROTOCOL)


def take_totals(study: SessionFigures, sent: bytes) -> None:
    """Take over what `totals` gave; the counts have been."""
    for model, columns in pickle.loads(sent).items():
        study.running(model).take_over(columns)


def parts(study: SessionFigures) -> Iterator[Part]:
    """What else `study` has worked out, part by part. One that holds what belongs to one process alone is left out:
    whoever gets the others works it out."""
    calls = list(study.session.calls.values())
    known: dict[int, object] = {id(one): name for name, one in _own(study).items()}
    known |= {id(call): number for number, call in enumerate(calls)}
    known |= {id(one): ("running", model) for model, one in study.every_running().items()}
    digests: dict[str, int] = {}
    for node in study.session.tree.nodes(1):
        digests.setdefault(node.block.digest, -node.id)
    for name, what in _worked_out(study, calls):
        file = io.BytesIO()
        try:
            _Sender(file, known, digests).dump(what)
        except (pickle.PicklingError, AttributeError, TypeError):
            # A function inside another one: requests on record, whose lengths are asked of it.
            continue
        yield name, zstandard.compress(file.getvalue(), _LEVEL)


def _worked_out(study: SessionFigures, calls: Sequence[Call]) -> Iterator[tuple[str, object]]:
    if study.totals is not None:
        yield COSTS, (price_columns(calls, study.costs, study.uncached), study.totals)
    # The largest first: what is kept as it was sent comes when they are unpacked.
    for id_ in list(study.session.threads):
        known = study.thread(id_)
        yield THREAD, (id_, known.kept())
        if known.finder is not None:
            yield REPEATS, known.finder
    finder, taken = study.misses.kept()
    if finder is not None:
        yield MISSES, (tuple(finder.found), taken)
        yield FINDER, finder


def take_over(study: SessionFigures, calls: Sequence[Call], sent: Iterator[Part]) -> None:
    """Let `study` go on from the parts that another process sent, whose counts it has taken over. `calls` are the first
    ones of the session: those that the other process knew."""
    # Most recordings do not grow: who looks on for misses and repeats is made of what was sent when that is to go on.
    found: Any = None
    for name, data in sent:
        later = partial(_made, data, study, calls)
        if name == FINDER:
            study.misses.take_over(found[0], found[1], later)
        elif name == REPEATS:
            study.thread(found[0]).take_repeats(found[1], later)
        elif name == COSTS:
            study.take_prices(calls, *later())
        else:
            found = later()
            if name == THREAD:
                study.thread(found[0]).take_over(found[1])


def _made(data: bytes, study: SessionFigures, calls: Sequence[Call]) -> Any:
    # Unpacked as it is read: all of a part at once would be a third of what is made of it.
    with zstandard.ZstdDecompressor().stream_reader(data) as unpacked, io.BufferedReader(unpacked, _AT_ONCE) as file:
        return _Receiver(file, study, calls).load()
