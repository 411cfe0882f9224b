"""Computes an open session's figures in the background, slice by slice.

The screen asks for scenes (one call with everything that the panes show) and gets the figures known so far; a worker
thread calls `Study.work` until it returns False.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.call_forecasts import CallForecaster
from ctxtui.analysis.cache.miss import CacheMiss
from ctxtui.analysis.cache.miss_finder import MissFinder
from ctxtui.analysis.content.heavy_groups import HeavyGroups
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.analysis.money.totals import SessionTotals, session_totals
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.core.session import Event, Session, threads_of
from ctxtui.core.tree import Node
from ctxtui.pricing.price import Cost
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.services.counting.counting import Counter, count_step
from ctxtui.services.counting.pricing import Pricer
from ctxtui.services.study.thread_study import ThreadStudy
from ctxtui.tokens.features import Features
from ctxtui.tokens.weights import weigh
from ctxtui.views.model.scene import Scene, scene_at

_CATCH_UP_CALLS: Final = 512


class SessionMisses:
    """The cache misses of a session that may still grow.

    If a call was replaced, or context sizes are known better, all calls are examined again; `found` stays until then.
    """

    def __init__(self, book: Book, running: Callable[[str], RunningTotals]) -> None:
        self._book = book
        self._running = running
        self._finder: MissFinder | None = None
        self._examined: list[Call] = []
        self._calls: tuple[int, list[Call]] | None = None
        self._versions: dict[str, int] = {}
        self.found: Sequence[CacheMiss] = ()

    def advance(self, limit: int) -> bool:
        """Examine up to `limit` counted calls; True if there was anything to do."""
        calls, anew = self._find_unexamined()
        finder = self._finder
        if finder is None or anew or self._is_outdated():
            finder = self._restart()
        before = len(self._examined)
        for call in calls[before : before + limit]:
            if not self._running(call.model).is_counted(max(call.sent_head, call.response_head)):
                # The call was added after the last count.
                break
            self._versions[call.model] = self._running(call.model).version
            finder.add_call(call)
            self._examined.append(call)
        if len(self._examined) == len(calls) and list(self.found) != finder.misses:
            self.found = tuple(finder.misses)
            return True
        return len(self._examined) > before

    def forecasts(self) -> CallForecaster | None:
        """The forecaster as learned from the examined calls; None before the first `advance`."""
        return self._finder.forecasts if self._finder is not None else None

    def catch_up(self) -> None:
        """Examine all counted calls; if that must begin again, leave it to `advance`."""
        if self._finder is not None and (self._find_unexamined()[1] or self._is_outdated()):
            self._restart()
            return
        before = -1
        while before < len(self._examined):
            before = len(self._examined)
            self.advance(_CATCH_UP_CALLS)

    def session_grew(self) -> None:
        self._calls = None

    def _find_unexamined(self) -> tuple[list[Call], bool]:
        session_calls = self._book.session.calls
        cached, anew = self._calls, False
        if cached is None or cached[0] != len(session_calls):
            calls = list(session_calls.values())
            cached = self._calls = len(calls), calls
            if calls and not calls[-1].usage:
                # It is still running, and would be examined again.
                calls.pop()
            anew = calls[: len(self._examined)] != self._examined
        return cached[1], anew

    def _is_outdated(self) -> bool:
        return any(self._running(model).version != version for model, version in list(self._versions.items()))

    def _restart(self) -> MissFinder:
        self._examined, self._versions = [], {}
        self._finder = MissFinder(self._book, cache_rules_by_call(self._book), self._running)
        return self._finder


MAX_NEW_NODES: Final = 64
"""Nodes to count in the screen's thread, at some 20 microseconds each."""
_MAX_NEW_BYTES: Final = 1 << 16
"""Bytes of new blocks to count before their rows are shown: some milliseconds."""


def prefetch_new(book: Book, counter: Counter) -> None:
    """Count new blocks and search them for labels if that is quick; for a worker thread."""
    for model in book.models:
        card, nodes = book.card(model), _uncounted(book, model)
        if (
            nodes
            and not counter.has_counted(card, nodes)
            and sum(len(node.block.body) for node in nodes) <= _MAX_NEW_BYTES
        ):
            counter.prefetch(card, [node.block for node in nodes])
            if counter.labels is not None:
                counter.labels.prefetch(card, nodes)


def count_new(book: Book, counter: Counter | None) -> bool:
    """Count new blocks if all that is needed is cached; True if everything is counted then."""
    for model in book.models:
        nodes = _uncounted(book, model)
        if nodes is None or (counter is not None and not counter.has_counted(book.card(model), nodes)):
            return False
    book.count(MAX_NEW_NODES)
    return all(book.cumulated(model).done == len(book.session.tree) for model in book.models)


def _uncounted(book: Book, model: str) -> list[Node] | None:
    """The nodes that are not counted yet; None if there are many."""
    tree, first = book.session.tree, book.cumulated(model).done
    return list(tree.nodes(first, len(tree))) if len(tree) - first <= MAX_NEW_NODES else None


SLICE_NODES: Final = 256
"""Nodes counted, or calls priced, in one slice: a few milliseconds."""
SLICE_MISSES: Final = 16
SLICE_LEDGER: Final = 32
"""Calls entered into the ledger in one slice; few, because the screen may have to wait."""


class Study:
    """The figures of `session`, computed slice by slice. `counter` caches counts (None: no cache)."""

    def __init__(
        self,
        session: Session,
        book: Book,
        counter: Counter | None,
        pricer: Pricer,
        usable_share: float = 0.75,
    ) -> None:
        self.session = session
        # A worker adds nodes for next requests while the reader adds recorded ones.
        session.tree.guard = threading.Lock()
        self.book = book
        self.costs: dict[str, Cost | None] = {}
        """The cost of each priced call, by its id; None: no known price."""
        self.uncached: dict[str, float] = {}
        """USD that a call would cost without a cache, by its id, where that differs."""
        self.totals: SessionTotals | None = None
        """None until all calls are priced; older while new ones are."""
        self._unsummed = True
        self._unpriced: list[Call] = []
        self.subscription = False
        """Whether the calls are paid by a subscription, so that costs are list prices only."""
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
        self._has_unlearned = self._unsettled = self._is_whole = False
        """Calls to learn from; weights to settle after the last report; whether the whole recording is read."""

    def features(self, model: str, block: Block) -> Features | None:
        """The features of a block outside of any context, as `model` counts it. None while it is being counted."""
        features = self._own.get((model, block.digest))
        if features is None and block.digest in self.session.tree.blocks and self.progress[0] == self.progress[1]:
            # Already counted with its context.
            features = self._own[model, block.digest] = self.book.measure(model)(block)
        if features is None:
            self._wanted[model, block.digest] = block
        return features

    @property
    def has_pending(self) -> bool:
        return bool(self._wanted)

    def tokens(self, model: str, block: Block) -> int | None:
        """The tokens of a block outside of any context; None while it is being counted."""
        features = self.features(model, block)
        return None if features is None else round(weigh(features, self.book.weights(model)))

    def count_now(self, model: str, block: Block) -> Features:
        """Count the features of a block now; for a worker thread."""
        key = model, block.digest
        features = self._own.get(key)
        if features is None:
            features = self._own[key] = self.book.measure(model)(block)
        return features

    def running(self, model: str) -> RunningTotals:
        totals = self._running.get(model)
        if totals is None:
            # The screen and the worker may ask at once, and must get the same object.
            totals = self._running.setdefault(model, RunningTotals(self.book, model))
        return totals

    def thread(self, id_: str) -> ThreadStudy:
        study = self._threads.get(id_)
        if study is None:
            study = self._threads.setdefault(id_, ThreadStudy(self.session, id_))
        return study

    def scene(self, thread: str, index: int) -> Scene:
        """The scene of call `index` (from 0, clamped) of a thread."""
        study = self.thread(thread)
        model = study.calls[min(max(index, 0), len(study.calls) - 1)].model
        return scene_at(
            self.book,
            self.running(model),
            study.calls,
            index,
            self._usable_share,
            events=study.events,
            costs=self.costs,
            uncached=self.uncached,
            missed=study.missed,
            turns=study.turns,
        )

    def known_state(self, thread: str, index: int) -> tuple[object, ...]:
        """A key that changes when more is known about a call."""
        study = self.thread(thread)
        call = study.calls[min(index, len(study.calls) - 1)]
        running = self.running(call.model)
        entered = study.ledger is not None and study.ledger.done > index
        return (
            running,
            running.is_counted(call.sent_head),
            study.events,
            len(study.spent) > index + 1,
            entered,
            study.ledger,
            study.records,
            self.book.contexts.has_seen(call),
        )

    def count_all(self) -> None:
        while not self._is_counted:
            self.count()

    def train_forecasts(self) -> CallForecaster | None:
        """Finish learning from reports and looking for misses; return the forecasts.

        For the worker thread, after `count_all`. They have learned from no call if all must be examined again.
        """
        while self.progress[0] == self.progress[1] and self.count():
            pass
        self.misses.catch_up()
        return self.misses.forecasts()

    def session_grew(self, events: Iterable[Event] | None = None) -> None:
        """Update the threads that changed by `events` (None: unknown, so all of them)."""
        changed = threads_of(events) if events is not None else None
        for study in list(self._threads.values()):
            if changed is None or study.thread in changed or study.needs_refresh:
                study.refresh()
        if changed is None or changed:
            self.misses.session_grew()
            self._unsummed = self._has_unlearned = True

    def prefetch_new(self) -> None:
        """Count new blocks for `count_new` to use; for the reading thread."""
        if self._counter is not None:
            prefetch_new(self.book, self._counter)

    def count_new(self) -> bool:
        """Count new blocks in the screen's thread if there are few. True if everything is counted then."""
        if self._has_unlearned or not self._counting.acquire(blocking=False):
            return False
        try:
            if self._version != self.book.version or not count_new(self.book, self._counter):
                return False
            for running in list(self._running.values()):
                running.advance(MAX_NEW_NODES)
            return not any(running.is_behind for running in list(self._running.values()))
        finally:
            self._counting.release()

    @property
    def _is_counted(self) -> bool:
        counted, all_nodes = self.progress
        return counted >= all_nodes and not self._has_unlearned

    def count_pending(self) -> bool:
        """Count everything that is not counted yet; True if there was anything."""
        is_counted = self._is_counted or not self.count()
        while not is_counted and self.count():
            pass
        return not is_counted

    @property
    def progress(self) -> tuple[int, int]:
        """Nodes counted for every model, and all nodes."""
        all_nodes = len(self.session.tree)
        return min((self.book.cumulated(model).done for model in self.book.models), default=0), all_nodes

    def work(self) -> bool:
        """Do one slice of the figures of calls; True if anything was done."""
        threads = list(self._threads.values())
        return (
            self._count_requested()
            or any(thread.find_events(self.misses.found) for thread in threads)
            or self.count()
            or self.misses.advance(SLICE_MISSES)
            or any(self._price_calls(thread) for thread in threads)
            or self._sum_all_calls(threads)
            or any(self._enter_ledger(thread) for thread in threads)
            or any(thread.compare_forecasts(self.book) for thread in threads)
        )

    def work_idle(self) -> bool:
        """Do one slice of low-priority work (lifetimes, repeats, loops); True if anything was done."""
        threads = list(self._threads.values())
        return (
            any(thread.track_lifetimes(SLICE_LEDGER) for thread in threads)
            or any(thread.find_repeats(self.book.names, SLICE_LEDGER) for thread in threads)
            or any(thread.find_loops() for thread in threads)
        )

    def _count_requested(self) -> bool:
        blocks = dict(self._wanted)
        for (model, digest), block in blocks.items():
            self._own[model, digest] = self.book.measure(model)(block)
            self._wanted.pop((model, digest), None)
        return bool(blocks)

    def note_read(self, *, whole: bool) -> None:
        """Note that the recording was read further; `whole`: to its present end."""
        self._unsettled = self._unsettled or (whole and not self._is_whole)
        self._is_whole = whole

    def heavy_groups(self) -> HeavyGroups:
        """The session's tool calls and results in groups, up to date."""
        if self._groups is None:
            self._groups = HeavyGroups(self.session.tree, self.session.about.cwd)
        self._groups.learn_new()
        return self._groups

    def count(self) -> bool:
        """Count a slice and learn from its reports; True if there was anything to do."""
        with self._counting:
            return self._count_slice()

    def _count_slice(self) -> bool:
        done, total = self.progress
        unlearnt, self._has_unlearned = self._has_unlearned, False
        if done < total or unlearnt:
            if self._counter is None:
                self.book.advance(SLICE_NODES)
            else:
                count_step(self.book, self._counter, SLICE_NODES)
        elif self._unsettled:
            self._unsettled = False
            self.book.settle()
        if self._version != self.book.version:
            # New weights: the old sums are shown until the new ones have caught up.
            self._version = self.book.version
            self._newer = {model: RunningTotals(self.book, model) for model in list(self._running)}
        moved = any(self._advance_totals(model) for model in self.book.models | set(self._running))
        return moved or done < total or unlearnt

    def _advance_totals(self, model: str) -> bool:
        newer, whole = self._newer.get(model), self.book.cumulated(model).done
        running = newer or self.running(model)
        moved = running.done < whole
        if moved:
            running.advance(SLICE_NODES * 8)
        if newer is not None and newer.done >= whole:
            self._running[model] = self._newer.pop(model)
            for thread in list(self._threads.values()):
                with thread.lock:
                    thread.next_ledger = CostLedger(self.book, self.running(thread.calls[-1].model), thread.lifetimes)
        return moved or newer is not None

    def _price_calls(self, thread: ThreadStudy) -> bool:
        calls = thread.calls
        todo = calls[thread.priced : thread.priced + SLICE_NODES]
        for call, (cost, whole) in zip(todo, self.pricer(todo) if todo else (), strict=True):
            self.costs[call.id] = cost
            if whole is not None:
                self.uncached[call.id] = whole.usd
        thread.note_priced(calls, len(todo), self.costs)
        return bool(todo)

    def _sum_all_calls(self, threads: Sequence[ThreadStudy]) -> bool:
        """Price the calls of threads that are not shown, then add up all calls."""
        if self._unsummed:
            self._unsummed = False
            shown = {thread.thread for thread in threads}
            # Copied first: another thread may be adding calls.
            all_calls = list(self.session.calls.values())
            self._unpriced = [call for call in all_calls if call.thread not in shown or call.id not in self.costs]
        elif not self._unpriced:
            return False
        todo, self._unpriced = self._unpriced[:SLICE_NODES], self._unpriced[SLICE_NODES:]
        for call, (cost, _) in zip(todo, self.pricer(todo) if todo else (), strict=True):
            self.costs[call.id] = cost
        if not self._unpriced:
            self.totals = session_totals(self.session, self.costs, list(self.session.calls.values()))
        return True

    def _enter_ledger(self, thread: ThreadStudy) -> bool:
        with thread.lock:
            if thread.ledger is None:
                thread.ledger = CostLedger(self.book, self.running(thread.calls[-1].model), thread.lifetimes)
            ledger = thread.next_ledger or thread.ledger
            before = ledger.done
            moved = ledger.advance(thread.calls, self.costs, SLICE_LEDGER) > before
            if thread.next_ledger is not None and (not moved or ledger.done >= thread.ledger.done):
                thread.ledger, thread.next_ledger = ledger, None
        return moved
