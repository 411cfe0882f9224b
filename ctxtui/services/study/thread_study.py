"""What is known of one thread of an open session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from ctxtui.analysis.audit import records
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.missed import Missed
from ctxtui.analysis.content.block_lifetimes import Stays
from ctxtui.analysis.content.duplicates import DuplicateFinder, Repeat
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.analysis.money.spending import row_of
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.analysis.session_events import CallEvent, events
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
    """What is known of one thread: its calls, its events, its epochs' boundaries, its costs.

    The screen's thread refreshes it, a worker adds to it: both hold `lock` while they change what belongs together.
    """

    def __init__(self, session: Session, thread: str) -> None:
        self.thread = thread
        self.lock = threading.Lock()
        self.calls: Sequence[Call] = ()
        self.events: Sequence[CallEvent] = ()
        self.missed: Mapping[int, Missed] = {}
        """The misses by number of call (from 1), as far as they are known."""
        self.boundaries = Boundaries(session.tree)
        self.turns = Turns(session.tree)
        self.ledger: CostLedger | None = None
        self.next_ledger: CostLedger | None = None
        """The ledger under newer weights, until it has come as far as the one that is shown."""
        self.spent: list[float | None] = [None]
        """USD of the first n calls, by n, as far as their prices are known; None before the first that is."""
        self.lacking = [0]
        """How many of the first n calls have a report and no price, or an answer that is reported in part, by n."""
        self.priced = 0
        """How many calls are priced."""
        self.records: Sequence[tuple[int, int]] = ()
        """How many of the first n calls were foretold rightly, and how many at all, by n; empty until that is known."""
        self._recorded: tuple[object, int] = (None, 0)
        self.stays = Stays(session.tree)
        """In which calls each block stood, as far as they are taken in."""
        self.repeated: Mapping[int, Repeat] = {}
        """What stands in the thread's contexts more than once, by node, as far as they are looked through."""
        self._repeats: DuplicateFinder | None = None
        self._looked = 0
        self._session = session
        self._told: Sequence[Call] = ()
        self._misses: Sequence[Missed] = ()
        self.refresh()

    @property
    def is_short(self) -> bool:
        """Whether the thread has another number of calls than is known, or none: then it is shown by where it ends."""
        order = self._session.order.get(self.thread)
        return not order or len(order) != len(self.calls)

    def refresh(self) -> None:
        """Read the calls anew, because there are more, or fuller ones."""
        calls = calls_of(self._session, self.thread)
        with self.lock:
            self._take(calls)

    def _take(self, calls: Sequence[Call]) -> None:
        before, self.calls = self.calls, calls
        same = min(len(before), len(self.calls))
        # Only calls near the end are ever replaced: what was worked out before them stays.
        while same and before[same - 1] is not self.calls[same - 1]:
            same -= 1
        if same < len(before):
            self.priced = min(self.priced, same)
            del self.spent[same + 1 :], self.lacking[same + 1 :]
            for ledger in (self.ledger, self.next_ledger):
                if ledger is not None:
                    ledger.back(same)
            self.stays.back(same)
            self._looked = min(self._looked, same)
            self.turns.forget_after(same)
        self.turns.extend(self.calls)
        self.boundaries.extend(self.calls)

    def tell(self, misses: Sequence[Missed] = ()) -> bool:
        """Find the events of the calls there are now, with the session's `misses`; whether there was anything to
        do."""
        calls = self.calls
        if calls is self._told and misses is self._misses:
            return False
        self.missed = {one.number: one for one in misses if one.thread == self.thread}
        self.events = events(self._session, self.thread, misses)
        self._told, self._misses = calls, misses
        return True

    def record(self, book: Book) -> bool:
        """Hold what was foretold of the calls against their reports; whether there was anything to do."""
        calls, known = self.calls, book.foretold
        if self._recorded[0] is calls and self._recorded[1] == known:
            return False
        self.records, self._recorded = records(book, calls), (calls, known)
        return True

    def stay(self, limit: int) -> bool:
        """Take in how long blocks stayed in up to `limit` further calls; whether there was anything to do."""
        with self.lock:
            before = self.stays.done
            return self.stays.advance(self.calls, limit) > before

    def look(self, names: Names, limit: int) -> bool:
        """Look for repeats in up to `limit` further blocks; whether there was anything to do."""
        if self._repeats is None:
            self._repeats = DuplicateFinder(self._session.tree, names, self._session.about.cwd)
            self.repeated = self._repeats.found
        with self.lock:
            calls, begun = self.calls, self._looked
            for index in range(begun, min(len(calls), begun + limit)):
                if not self._repeats.show(calls[index].sent_head, limit):
                    return True
                self._looked = index + 1
        return self._looked > begun

    @property
    def looked(self) -> bool:
        """Whether all contexts are looked through for repeats."""
        return self._looked >= len(self.calls)

    @property
    def reported(self) -> bool:
        """Whether the last calls have a report: where no client ever reports, sizes are counted."""
        return any(call.usage is not None for call in self.calls[-20:])

    @property
    def has_costs(self) -> bool:
        """Whether blocks can be told what they cost: the ledger has begun and some money was spent."""
        return self.ledger is not None and any(self.spent[-1:])

    def price(self, calls: Sequence[Call], many: int, costs: Mapping[str, Cost | None]) -> None:
        """Take in that the next `many` of `calls` are priced, unless the calls are others by now."""
        with self.lock:
            if self.calls is calls:
                self.priced += many
                self._spend(costs)

    def _spend(self, costs: Mapping[str, Cost | None]) -> None:
        """Add up what the priced calls cost by list price; a recording's own figure stands for one that is not known. A
        call without a report adds nothing, and so does one without a price, which is counted, as those whose answer is
        reported in part; before the first price
        nothing is known."""
        for call in self.calls[len(self.spent) - 1 : self.priced]:
            row = row_of(call, costs[call.id], "")
            before = self.spent[-1]
            self.spent.append(before if row.usd is None else (before or 0.0) + row.usd)
            self.lacking.append(self.lacking[-1] + row.at_least)


class RecordingEnd:
    """What is shown of the end of a recording, read into `session` as if it began there. Nothing of it is ever counted:
    that takes a study, which is made of the whole."""

    def __init__(self, session: Session, settings: Settings) -> None:
        self.session = session
        self.thread = session.first_thread
        calls = calls_of(session, self.thread)
        self.boundaries = Boundaries(session.tree)
        self.boundaries.extend(calls)
        book = Book(session, table_for(settings), _counts_nothing)
        totals = RunningTotals(book, calls[-1].model)
        self.names = book.names
        self.scene = replace(scene_at(book, totals, calls, len(calls) - 1, settings.usable_share), partial=True)
        """Its last call. Numbers that count from the beginning are not to be believed."""


def _counts_nothing(card: ModelCard) -> Callable[[Block], Features]:
    def nothing(block: Block) -> Features:
        return NOTHING

    return nothing
