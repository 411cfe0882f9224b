"""A study: an open session with everything that is worked out about it in the background, slice by slice.

The screen asks for scenes and gets what is known; a worker thread calls `work` until nothing is left to do. Lists only
grow and dictionaries only gain keys, so that both may happen at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.call_forecasts import CallForecasts
from ctxtui.analysis.cache.missed import Missed
from ctxtui.analysis.cache.misses import MissFinder
from ctxtui.analysis.content.heavy_groups import HeavyGroups
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.analysis.money.totals import SessionTotals, session_totals
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.core.session import Event, Session, threads_of
from ctxtui.core.tree import Node
from ctxtui.pricing.price import Cost
from ctxtui.services.counting.books import cached_by
from ctxtui.services.counting.counting import Counter, count_on
from ctxtui.services.counting.pricing import Pricer
from ctxtui.services.study.thread_study import ThreadStudy
from ctxtui.tokens.features import Features
from ctxtui.tokens.weights import weigh
from ctxtui.views.model.scene import Scene, scene_at

_AT_ONCE: Final = 512
"""Calls taken in between two looks at what there is, where they are waited for."""


class SessionMisses:
    """The misses of a session that may still grow. `found` is another list whenever there are others.

    Where a call was replaced, or the sizes of contexts are known better, all calls are looked at anew; what was found
    before stays until that has come as far.
    """

    def __init__(self, book: Book, running: Callable[[str], RunningTotals]) -> None:
        self._book = book
        self._running = running
        self._finder: MissFinder | None = None
        self._taken: list[Call] = []
        self._calls: tuple[int, list[Call]] | None = None
        """How many calls the session had, and those of them that can be looked at."""
        self._versions: dict[str, int] = {}
        self.found: Sequence[Missed] = ()

    def advance(self, limit: int) -> bool:
        """Take in up to `limit` calls, as far as they are counted; whether there was anything to do."""
        calls, anew = self._now()
        finder = self._finder
        if finder is None or anew or self._outdated():
            finder = self._begun()
        before = len(self._taken)
        for call in calls[before : before + limit]:
            if not self._running(call.model).counted(max(call.sent_head, call.response_head)):
                # It came in since everything there was had been counted.
                break
            self._versions[call.model] = self._running(call.model).version
            finder.take(call)
            self._taken.append(call)
        if len(self._taken) == len(calls) and list(self.found) != finder.found:
            self.found = tuple(finder.found)
            return True
        return len(self._taken) > before

    def forecasts(self) -> CallForecasts | None:
        """What the calls taken so far have taught about the next one."""
        return self._finder.forecasts if self._finder is not None else None

    def catch_up(self) -> None:
        """Take in all that can be, unless that were to be done anew."""
        if self._finder is not None and (self._now()[1] or self._outdated()):
            self._begun()
            return
        before = -1
        while before < len(self._taken):
            before = len(self._taken)
            self.advance(_AT_ONCE)

    def grew(self) -> None:
        """The session has other calls than before."""
        self._calls = None

    def _now(self) -> tuple[list[Call], bool]:
        """The calls that can be looked at, and whether one of those that were is another one now."""
        every = self._book.session.calls
        known, anew = self._calls, False
        if known is None or known[0] != len(every):
            calls = list(every.values())
            known = self._calls = len(calls), calls
            if calls and not calls[-1].usage:
                # It is under way: it would be looked at again.
                calls.pop()
            anew = calls[: len(self._taken)] != self._taken
        return known[1], anew

    def _outdated(self) -> bool:
        return any(self._running(model).version != version for model, version in list(self._versions.items()))

    def _begun(self) -> MissFinder:
        self._taken, self._versions = [], {}
        self._finder = MissFinder(self._book, cached_by(self._book), self._running, misses_alone=True)
        return self._finder


MOST: Final = 64
"""Nodes that are counted in the screen's turn: some 20 microseconds each."""
_BYTES: Final = 1 << 16
"""Bytes of blocks for whose count their rows may wait: some milliseconds."""


def fetch(book: Book, counter: Counter) -> None:
    """Have them counted and searched for labels, where that takes no time to speak of; for a worker thread."""
    for model in book.models:
        card, nodes = book.card(model), _uncounted(book, model)
        if nodes and not counter.knows(card, nodes) and sum(len(node.block.body) for node in nodes) <= _BYTES:
            counter.prefetch(card, [node.block for node in nodes])
            if counter.labels is not None:
                counter.labels.prefetch(card, nodes)


def count(book: Book, counter: Counter | None) -> bool:
    """Count them, where all that takes is known already; whether everything is counted then."""
    for model in book.models:
        nodes = _uncounted(book, model)
        if nodes is None or (counter is not None and not counter.knows(book.card(model), nodes)):
            return False
    book.count(MOST)
    return all(book.cumulated(model).done == len(book.session.tree) for model in book.models)


def _uncounted(book: Book, model: str) -> list[Node] | None:
    """The nodes that are not counted yet; None where those are many."""
    tree, first = book.session.tree, book.cumulated(model).done
    return list(tree.nodes(first, len(tree))) if len(tree) - first <= MOST else None


STEP: Final = 256
"""Nodes counted, or calls priced, in one slice: a few milliseconds."""
LOOKED_AT: Final = 16
"""Calls looked at for misses in one slice."""
FEW: Final = 32
"""Calls entered into the ledger in one slice: the screen may have to wait for it."""


class Study:
    """The figures of `session`: `book` counts with `counter` (None: with its own measure), `pricer` prices
    calls."""

    def __init__(
        self,
        session: Session,
        book: Book,
        counter: Counter | None,
        pricer: Pricer,
        usable_share: float = 0.75,
    ) -> None:
        self.session = session
        # Next requests get their nodes in a worker, beside those that the record brings.
        session.tree.guard = threading.Lock()
        self.book = book
        self.costs: dict[str, Cost | None] = {}
        self.uncached: dict[str, float] = {}
        self.totals: SessionTotals | None = None
        """What the whole session comes to; None while a price is still to come."""
        self._unsummed = True
        self._unpriced: list[Call] = []
        self.subscription = False
        """Whether the user marked the session as paid by a subscription."""
        self._counter = counter
        self.pricer = pricer
        self._usable_share = usable_share
        self._running: dict[str, RunningTotals] = {}
        self._newer: dict[str, RunningTotals] = {}
        self._version = book.version
        self._threads: dict[str, ThreadStudy] = {}
        self.misses = SessionMisses(book, self.running)
        self._groups: HeavyGroups | None = None
        self._wanted: dict[tuple[str, str], Block] = {}
        self._own: dict[tuple[str, str], Features] = {}
        self._counting = threading.Lock()
        self._unlearnt = self._unsettled = self._whole = False
        """Whether calls came that the book has not learnt from; whether all is read, and not weighed as all taught."""

    def features_of(self, model: str, block: Block) -> Features | None:
        """The features of a block that stands in no context yet, as `model` counts it; None while it is counted."""
        found = self._own.get((model, block.digest))
        if found is None and block.digest in self.session.tree.blocks and self.progress[0] == self.progress[1]:
            # Counted with its context: nothing has to be asked for.
            found = self._own[model, block.digest] = self.book.measure(model)(block)
        if found is None:
            self._wanted[model, block.digest] = block
        return found

    @property
    def waits(self) -> bool:
        """Whether a block that was asked for is still to be counted."""
        return bool(self._wanted)

    def tokens_of(self, model: str, block: Block) -> int | None:
        """As `count_features`, in tokens."""
        found = self.features_of(model, block)
        return None if found is None else round(weigh(found, self.book.weights(model)))

    def measured(self, model: str, block: Block) -> Features:
        """As `count_features`, counted now: for a worker thread."""
        key = model, block.digest
        found = self._own.get(key)
        if found is None:
            found = self._own[key] = self.book.measure(model)(block)
        return found

    def running(self, model: str) -> RunningTotals:
        """The running totals as `model` counts."""
        found = self._running.get(model)
        if found is None:
            # The screen and the worker may ask at once: both get the same.
            found = self._running.setdefault(model, RunningTotals(self.book, model))
        return found

    def thread(self, id_: str) -> ThreadStudy:
        """What is known of a thread."""
        found = self._threads.get(id_)
        if found is None:
            found = self._threads.setdefault(id_, ThreadStudy(self.session, id_))
        return found

    def scene(self, thread: str, index: int) -> Scene:
        """The scene of call `index` (from 0; held at the ends) of a thread."""
        known = self.thread(thread)
        model = known.calls[min(max(index, 0), len(known.calls) - 1)].model
        return scene_at(
            self.book,
            self.running(model),
            known.calls,
            index,
            self._usable_share,
            events=known.events,
            costs=self.costs,
            uncached=self.uncached,
            missed=known.missed,
            turns=known.turns,
        )

    def known(self, thread: str, index: int) -> tuple[object, ...]:
        """What is known of a call, to be compared with what was known when it was last shown."""
        here = self.thread(thread)
        call = here.calls[min(index, len(here.calls) - 1)]
        running = self.running(call.model)
        entered = here.ledger is not None and here.ledger.done > index
        return (
            running,
            running.counted(call.sent_head),
            here.events,
            len(here.spent) > index + 1,
            entered,
            here.ledger,
            here.records,
            self.book.contexts.has_seen(call),
        )

    def count_all(self) -> None:
        """Count what is not counted yet, all of it: for the worker that else does slices."""
        while not self._is_counted:
            self.count()

    def learnt(self) -> CallForecasts | None:
        """What the session's calls have taught about the next one, as looking for misses has come to it; for the worker
        that else does slices."""
        while self.progress[0] == self.progress[1] and self.count():
            pass
        self.misses.catch_up()
        return self.misses.forecasts()

    def grew(self, events: Iterable[Event] | None = None) -> None:
        """The session has more than before, by these `events` (None: that is not known): read the threads anew that
        have other calls, or to which something happened."""
        seen = threads_of(events) if events is not None else None
        for known in list(self._threads.values()):
            if seen is None or known.thread in seen or known.is_short:
                known.refresh()
        if seen is None or seen:
            self.misses.grew()
            self._unsummed = self._unlearnt = True

    def fetch_new(self) -> None:
        """What was just read is to be shown: let `keep_up` find it counted; for the thread that reads."""
        if self._counter is not None:
            fetch(self.book, self._counter)

    def keep_up(self) -> bool:
        """Count what came, in the screen's turn, if it is little; whether everything is counted and learnt from then.
        Nobody is waited for who counts in this moment."""
        if self._unlearnt or not self._counting.acquire(blocking=False):
            return False
        try:
            if self._version != self.book.version or not count(self.book, self._counter):
                return False
            for running in list(self._running.values()):
                running.advance(MOST)
            return not any(running.behind for running in list(self._running.values()))
        finally:
            self._counting.release()

    @property
    def _is_counted(self) -> bool:
        """Whether everything is counted and learnt from."""
        done, whole = self.progress
        return done >= whole and not self._unlearnt

    def count_on(self) -> bool:
        """Count and learn, and nothing else; whether there was anything to do."""
        known = self._is_counted or not self.count()
        while not known and self.count():
            pass
        return not known

    @property
    def progress(self) -> tuple[int, int]:
        """Nodes counted for every model, and nodes in all."""
        whole = len(self.session.tree)
        return min((self.book.cumulated(model).done for model in self.book.models), default=0), whole

    def work(self) -> bool:
        """Do one slice of what is left: events, counts, prices, costs, records; whether anything was done."""
        threads = list(self._threads.values())
        return (
            self._measure()
            or any(thread.tell(self.misses.found) for thread in threads)
            or self.count()
            or self.misses.advance(LOOKED_AT)
            or any(self._price(thread) for thread in threads)
            or self._sum_up(threads)
            or any(self._enter(thread) for thread in threads)
            or any(thread.record(self.book) for thread in threads)
        )

    def rest(self) -> bool:
        """Do one slice of what nothing on the screen waits for, a millisecond or two: how long blocks stayed, what
        repeats; whether anything was done."""
        threads = list(self._threads.values())
        return any(thread.stay(FEW) for thread in threads) or any(
            thread.look(self.book.names, FEW) for thread in threads
        )

    def _measure(self) -> bool:
        """Count the blocks that `tokens_of` was asked for."""
        wanted = dict(self._wanted)
        for (model, digest), block in wanted.items():
            self._own[model, digest] = self.book.measure(model)(block)
            self._wanted.pop((model, digest), None)
        return bool(wanted)

    def read_so_far(self, *, whole: bool) -> None:
        """Whether all that the recording holds by now is read."""
        self._unsettled = self._unsettled or (whole and not self._whole)
        self._whole = whole

    def groups(self) -> HeavyGroups:
        """What the large parts of every context are made of; for one worker at a time."""
        if self._groups is None:
            self._groups = HeavyGroups(self.session.tree, self.session.about.cwd)
        self._groups.learn_new()
        return self._groups

    def count(self) -> bool:
        """Count a slice, and learn from its reports; whether there was anything to do."""
        with self._counting:
            return self._count()

    def _count(self) -> bool:
        done, total = self.progress
        unlearnt, self._unlearnt = self._unlearnt, False
        if done < total or unlearnt:
            if self._counter is None:
                self.book.advance(STEP)
            else:
                count_on(self.book, self._counter, STEP)
        elif self._unsettled:
            self._unsettled = False
            self.book.settle()
        if self._version != self.book.version:
            # Weights were learnt: what is shown stays until the new sums have come as far.
            self._version = self.book.version
            self._newer = {model: RunningTotals(self.book, model) for model in list(self._running)}
        moved = any(self._run(model) for model in self.book.models | set(self._running))
        return moved or done < total or unlearnt

    def _run(self, model: str) -> bool:
        newer, whole = self._newer.get(model), self.book.cumulated(model).done
        running = newer or self.running(model)
        moved = running.done < whole
        if moved:
            running.advance(STEP * 8)
        if newer is not None and newer.done >= whole:
            self._running[model] = self._newer.pop(model)

            for thread in list(self._threads.values()):
                with thread.lock:
                    thread.next_ledger = CostLedger(self.book, self.running(thread.calls[-1].model), thread.stays)
        return moved or newer is not None

    def _price(self, thread: ThreadStudy) -> bool:
        calls = thread.calls
        todo = calls[thread.priced : thread.priced + STEP]
        for call, (cost, whole) in zip(todo, self.pricer(todo) if todo else (), strict=True):
            self.costs[call.id] = cost
            if whole is not None:
                self.uncached[call.id] = whole.usd
        thread.price(calls, len(todo), self.costs)
        return bool(todo)

    def _sum_up(self, threads: Sequence[ThreadStudy]) -> bool:
        """Price the calls of threads that nobody looks at, then add up all of them."""
        if self._unsummed:
            self._unsummed = False
            shown = {thread.thread for thread in threads}
            # A list first: another thread may be folding calls in.
            every = list(self.session.calls.values())
            self._unpriced = [call for call in every if call.thread not in shown or call.id not in self.costs]
        elif not self._unpriced:
            return False
        todo, self._unpriced = self._unpriced[:STEP], self._unpriced[STEP:]
        for call, (cost, _) in zip(todo, self.pricer(todo) if todo else (), strict=True):
            self.costs[call.id] = cost
        if not self._unpriced:
            self.totals = session_totals(self.session, self.costs, list(self.session.calls.values()))
        return True

    def _enter(self, thread: ThreadStudy) -> bool:
        with thread.lock:
            if thread.ledger is None:
                thread.ledger = CostLedger(self.book, self.running(thread.calls[-1].model), thread.stays)
            ledger = thread.next_ledger or thread.ledger
            before = ledger.done
            moved = ledger.advance(thread.calls, self.costs, FEW) > before
            if thread.next_ledger is not None and (not moved or ledger.done >= thread.ledger.done):
                thread.ledger, thread.next_ledger = ledger, None
        return moved
