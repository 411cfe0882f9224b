"""The figures of one thread of an open session.

The ledger has the costs of its blocks, added up call by call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from ctxtui.analysis.audit import build_record
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.miss import CacheMiss
from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.analysis.content.duplicates import Duplicate, DuplicateFinder
from ctxtui.analysis.content.repeated_calls import loops_by_call
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.analysis.money.spending import call_row
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.analysis.session_events import CallEvent, list_events
from ctxtui.analysis.short_names import Names
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.core.turns import Turns
from ctxtui.pricing.price import Cost
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import table_for
from ctxtui.tokens.features import NOTHING, Features
from ctxtui.tokens.models import ModelCard
from ctxtui.views.model.scene import calls_of, scene_at
from ctxtui.views.transcript.row_index import Boundaries


class ThreadStudy:
    """The calls, events, epoch boundaries and costs of one thread.

    The screen's thread refreshes it and a worker adds to it. Both hold `lock` while they change related fields.
    """

    def __init__(self, session: Session, thread: str) -> None:
        self.thread = thread
        self.lock = threading.Lock()
        self.calls: Sequence[Call] = ()
        self.events: Sequence[CallEvent] = ()
        self.missed: Mapping[int, CacheMiss] = {}
        """Known misses by number of call (from 1)."""
        self.boundaries = Boundaries(session.tree)
        self.turns = Turns(session.tree)
        self.ledger: CostLedger | None = None
        self.next_ledger: CostLedger | None = None
        """The ledger under newer weights, until it has caught up with the shown one."""
        self.spent: list[float | None] = [None]
        """USD of the first n calls, by n; None before the first known price."""
        self.lacking = [0]
        """Calls among the first n with a report but no price, or a partly reported answer, by n."""
        self.priced = 0
        self.records: Sequence[tuple[int, int]] = ()
        """Correct forecasts, and all forecasts, of the first n calls, by n; empty until known."""
        self._recorded: tuple[object, int] = (None, 0)
        self.lifetimes = BlockLifetimes(session.tree)
        self.repeated: Mapping[int, Duplicate] = {}
        """Repeated content in the thread's contexts, by node; grows while they are searched."""
        self._repeats: DuplicateFinder | None = None
        self._searched = 0
        self._session = session
        self._seen_calls: Sequence[Call] = ()
        self._misses: Sequence[CacheMiss] = ()
        self._searched_calls: Sequence[Call] = ()
        self._loops: Mapping[int, str] = {}
        self.refresh()

    @property
    def needs_refresh(self) -> bool:
        """Whether the thread's number of calls changed, or it has none and is shown by its tip."""
        order = self._session.order.get(self.thread)
        return not order or len(order) != len(self.calls)

    def refresh(self) -> None:
        calls = calls_of(self._session, self.thread)
        with self.lock:
            self._set_calls(calls)

    def _set_calls(self, calls: Sequence[Call]) -> None:
        before, self.calls = self.calls, calls
        # A sum at the end of a recording replaces the calls that it covers, which may be far before.
        changed = (n for n, (old, new) in enumerate(zip(before, calls, strict=False)) if old is not new)
        same = next(changed, min(len(before), len(calls)))
        if same < len(before):
            self.priced = min(self.priced, same)
            del self.spent[same + 1 :], self.lacking[same + 1 :]
            for ledger in (self.ledger, self.next_ledger):
                if ledger is not None:
                    ledger.truncate(same)
            self.lifetimes.truncate(same)
            self._searched = min(self._searched, same)
            self.turns.forget_after(same)
        self.turns.extend(self.calls)
        self.boundaries.extend(self.calls)

    def find_events(self, misses: Sequence[CacheMiss] = ()) -> bool:
        """Find the events of the current calls, with the session's `misses`.

        True if there was anything to do.
        """
        calls = self.calls
        if calls is self._seen_calls and misses is self._misses:
            return False
        self.missed = {miss.number: miss for miss in misses if miss.thread == self.thread}
        self.events = list_events(self._session, self.thread, misses, self._loops)
        self._seen_calls, self._misses = calls, misses
        return True

    def find_loops(self) -> bool:
        """Find the loops of the current calls and add them to the events.

        True if there was anything to do.
        """
        calls = self.calls
        if calls is self._searched_calls or not calls:
            return False
        self._searched_calls = calls
        loops: Mapping[int, str] = loops_by_call(self._session, self.thread)
        if loops != self._loops:
            self._loops = loops
            self.events = list_events(self._session, self.thread, self._misses, loops)
        return True

    def compare_forecasts(self, book: Book) -> bool:
        """Compare forecasts of the calls with their reports; True if there was anything to do."""
        calls, forecasts = self.calls, len(book.forecasts)
        if self._recorded[0] is calls and self._recorded[1] == forecasts:
            return False
        self.records, self._recorded = build_record(book, calls), (calls, forecasts)
        return True

    def track_lifetimes(self, limit: int) -> bool:
        """Track how long blocks stay, for up to `limit` further calls.

        True if there was anything to do.
        """
        with self.lock:
            before = self.lifetimes.done
            return self.lifetimes.advance(self.calls, limit) > before

    def find_repeats(self, names: Names, limit: int) -> bool:
        """Look for repeats in up to `limit` further calls, and up to `limit` blocks of each.

        A call with more blocks ends the search for now. True if there was anything to do.
        """
        if self._repeats is None:
            self._repeats = DuplicateFinder(self._session.tree, names, self._session.about.cwd)
            self.repeated = self._repeats.duplicates
        with self.lock:
            calls, begun = self.calls, self._searched
            for index in range(begun, min(len(calls), begun + limit)):
                if not self._repeats.search_path(calls[index].sent_head, limit):
                    return True
                self._searched = index + 1
        return self._searched > begun

    @property
    def is_searched(self) -> bool:
        """Whether all contexts were searched for repeats."""
        return self._searched >= len(self.calls)

    @property
    def has_reports(self) -> bool:
        """Whether one of the last 20 calls has a report."""
        return any(call.usage is not None for call in self.calls[-20:])

    @property
    def has_costs(self) -> bool:
        """Whether costs per block are known: the ledger has begun and money was spent."""
        return self.ledger is not None and any(self.spent[-1:])

    def note_priced(self, calls: Sequence[Call], many: int, costs: Mapping[str, Cost | None]) -> None:
        """Note that the next `many` of `calls` are priced, unless the calls were replaced meanwhile."""
        with self.lock:
            if self.calls is calls:
                self.priced += many
                self._add_spending(costs)

    def _add_spending(self, costs: Mapping[str, Cost | None]) -> None:
        """Add up the prices of the priced calls.

        Calls without a report or without a price add nothing.
        """
        for call in self.calls[len(self.spent) - 1 : self.priced]:
            row = call_row(call, costs[call.id], "")
            before = self.spent[-1]
            # First: the screen, in another thread, reads both for the calls that `spent` has.
            self.lacking.append(self.lacking[-1] + row.at_least)
            self.spent.append(before if row.usd is None else (before or 0.0) + row.usd)


class RecordingEnd:
    """The end of a recording, read into `session` as if it began there.

    Shown before the rest is read. Its blocks are never counted: that takes a study of the whole recording.
    """

    def __init__(self, session: Session, settings: Settings) -> None:
        self.session = session
        self.thread = session.first_thread
        calls = calls_of(session, self.thread)
        self.boundaries = Boundaries(session.tree)
        self.boundaries.extend(calls)
        book = Book(session, table_for(settings), _count_nothing)
        totals = RunningTotals(book, calls[-1].model)
        self.names = book.names
        self.scene = replace(scene_at(book, totals, calls, len(calls) - 1, settings.usable_share), partial=True)
        """Its last call. Numbers counted from the beginning are wrong."""


def _count_nothing(card: ModelCard) -> Callable[[Block], Features]:
    def nothing(block: Block) -> Features:
        return NOTHING

    return nothing
