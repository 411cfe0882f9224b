"""The misses of a session, dearest first: what was lost, why, which block parted the requests, what would cure it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.audit import CacheAudited, CacheAuditor
from ctxtui.analysis.cache.call_forecasts import CallForecasts
from ctxtui.analysis.cache.losses import CacheDemand, CacheDemands
from ctxtui.analysis.cache.miss_cause import Cause
from ctxtui.analysis.cache.missed import (
    BEHIND,
    COMPACTION,
    CONTENT,
    EDITS,
    MODEL,
    PARAMETER,
    RESTART,
    STRIPPED,
    SYSTEM,
    TOOLS,
    TTL,
    UNKNOWN,
    Missed,
    PartingBlock,
)
from ctxtui.analysis.content.parting import parting
from ctxtui.analysis.money.input_split import split_of
from ctxtui.analysis.money.spending import row_of, summed
from ctxtui.analysis.running_totals import RunningTotals, running_of
from ctxtui.cache.explain import LOOKBACK, MARKER_MISSING, MARKER_MOVED, MINIMUM, NOT_YET
from ctxtui.cache.rules import CacheRules
from ctxtui.core.block import HEADER, Block
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, answer_path
from ctxtui.core.category import CATEGORIES
from ctxtui.core.file_accesses import find_touches
from ctxtui.core.tree import ROOT, Tree
from ctxtui.pricing.price import Cost
from ctxtui.pricing.rates import Rates

_CAUSE: Final = {
    "expired": TTL,
    "model": MODEL,
    "compaction": COMPACTION,
    "resume": RESTART,
    "thinking stripped": STRIPPED,
    "content": CONTENT,
    "tools": TOOLS,
    "parameter": PARAMETER,
    "edits": EDITS,
    "cache behind": BEHIND,
    **{name: name for name in (MARKER_MISSING, MARKER_MOVED, LOOKBACK, MINIMUM, NOT_YET)},
}
_SHOWN: Final = 4_000
"""Characters of a block that are taken along to be compared word by word."""


class Misses(Struct, frozen=True):
    """All misses of a session, most expensive first, for every screen and command.

    `calls` counts the calls whose forecast was compared with their report; `false_alarms` of them were forecast to miss
    and did not. `usd` is the cost of the session (None: unknown) without its `unpriced` calls, which have a report and
    no price. `partial` counts the calls that used more than their report says.
    """

    found: tuple[Missed, ...]
    calls: int = 0
    false_alarms: int = 0
    usd: float | None = None
    unpriced: int = 0
    partial: int = 0

    @property
    def at_least(self) -> bool:
        """Whether `usd` is only the least that the session can have cost."""
        return self.unpriced > 0 or self.partial > 0

    @property
    def count(self) -> int:
        """Number of misses."""
        return len(self.found)

    @property
    def tested(self) -> int:
        """Number of misses tested against the simulator."""
        return sum(one.tested for one in self.found)

    @property
    def foreseen(self) -> int:
        """Number of misses that the simulator foretold."""
        return sum(one.foreseen for one in self.found)

    @property
    def tokens(self) -> int:
        """Tokens written again."""
        return sum(one.tokens for one in self.found)

    @property
    def lost(self) -> float | None:
        """USD paid for the misses above what reads would have cost, where prices are known; None where none is."""
        known = [one.usd for one in self.found if one.usd is not None]
        return sum(known) if known or not self.found else None

    @property
    def partly_lost(self) -> bool:
        """Whether a price is missing in `lost`."""
        return any(one.usd is None for one in self.found)

    def of(self, thread: str) -> list[Missed]:
        """The misses of one thread, in order of calls."""
        return sorted((one for one in self.found if one.thread == thread), key=lambda one: one.number)


def dearest(found: Iterable[Missed]) -> list[Missed]:
    """Misses, dearest first."""
    return sorted(found, key=lambda one: (-(one.usd or 0.0), -one.tokens, one.thread, one.number))


class MissFinder:
    """Finds the misses of a session, call by call. THE one place that says which calls missed the cache, what each
    lost and why, whether it was tested against the simulator and foreseen.

    `rules` gives how a call is cached, `running` the running totals of a model; both must know the calls that are
    taken. `costs` holds calls' prices by id and `rates` gives what a token costs; without them USD are not known. What
    was foretold of each call is kept in `rows`, unless only misses are wanted.
    """

    def __init__(
        self,
        book: Book,
        rules: Callable[[Call], CacheRules],
        running: Callable[[str], RunningTotals],
        costs: Mapping[str, Cost | None] | None = None,
        rates: Callable[[Call], Rates | None] | None = None,
        *,
        misses_alone: bool = False,
    ) -> None:
        self._book = book
        self._running = running
        self._costs = costs or {}
        self._rates = rates
        self._demands = CacheDemands(book, rules, running)
        self._auditor = CacheAuditor(book, rules)
        self._numbers: dict[str, int] = {}
        self.found: list[Missed] = []
        self._misses_alone = misses_alone
        self.rows: list[CacheAudited] = []
        """The calls that were foretold and held against their reports."""

    @property
    def forecasts(self) -> CallForecasts:
        """What the calls taken so far have taught about the next one."""
        return self._auditor.forecasts

    def take(self, call: Call) -> Missed | None:
        """The next call of the session."""
        demand = self._demands.take(call)
        row = self._auditor.take(call, demand)
        if row is not None and not self._misses_alone:
            self.rows.append(row)
        tokens = demand.lost(demand.read(call.usage)) if call.usage is not None else 0
        if not tokens or demand.before is None:
            return None
        found = self._missed(call, demand, row, tokens)
        self.found.append(found)
        return found

    def _number(self, call: Call) -> int:
        """The number of `call` in its thread, from 1."""
        order = self._book.session.order[call.thread]
        known = self._numbers.get(call.id, 0)
        if not 0 < known <= len(order) or order[known - 1] != call.id:
            self._numbers.update((id_, number) for number, id_ in enumerate(order, 1))
        return self._numbers[call.id]

    def _missed(self, call: Call, demand: CacheDemand, row: CacheAudited | None, tokens: int) -> Missed:
        book, base, usage = self._book, demand.before, call.usage
        assert usage is not None and base is not None and base.usage is not None
        tree = book.session.tree
        first, second, token = parting(book, self._running(call.model), base, call)
        told = Cause(row.cause, what=row.what) if row is not None else demand.cause
        cause = _cause(told.name, tree, second if second != ROOT else first)
        if cause == STRIPPED and first != ROOT:
            # It is about what is gone, not about what follows it.
            second = ROOT
        differs = (second != ROOT and first != ROOT) or cause in (CONTENT, SYSTEM, TOOLS, STRIPPED, EDITS)
        paid, more = self._usd(call, demand, tokens)
        late = max(0.0, (demand.pause or 0.0) - demand.life) if cause == TTL else 0.0
        return Missed(
            thread=call.thread,
            number=self._number(call),
            base=self._number(base),
            at=call.started,
            between=base.started,
            tokens=tokens,
            usd=more,
            read=demand.read(usage),
            shared=min(token, usage.input),
            sizes=(base.usage.input, usage.input),
            cause=cause,
            what=_what(call, base, cause) or told.what,
            by=late,
            life=demand.life,
            foreseen=row is not None and row.missed and row.alarm,
            evidence=row.evidence if row is not None else "",
            tested=row is not None and row.missed,
            paid=paid,
            pause=demand.pause,
            block=tree[second or first].depth if second or first else 0,
            blocks=tree[call.sent_head].depth,
            old=_side(book, base.model, first) if differs else None,
            new=_side(book, call.model, second) if differs else None,
            writer=_writer(book, base, call, second) if cause in (CONTENT, SYSTEM) else "",
        )

    def _usd(self, call: Call, demand: CacheDemand, tokens: int) -> tuple[float | None, float | None]:
        """What the lost tokens cost at `call`, and what that is more than reading them."""
        cost, usage = self._costs.get(call.id), call.usage
        by_rate = self._rates(call) if self._rates is not None and cost is not None else None
        if cost is None or usage is None:
            return None, None
        paid = split_of(usage, cost, demand.resent, tokens).rewrite.usd
        return paid, None if by_rate is None else max(0.0, paid - tokens * by_rate.read)


def finder_of(
    book: Book,
    rules: Callable[[Call], CacheRules],
    costs: Mapping[str, Cost | None] | None = None,
    rates: Callable[[Call], Rates | None] | None = None,
) -> MissFinder:
    """A `MissFinder` that has taken every call of a session, whose book must be counted whole."""
    finder = MissFinder(book, rules, running_of(book), costs, rates)
    for call in list(book.session.calls.values()):
        finder.take(call)
    return finder


def misses_of(
    book: Book,
    rules: Callable[[Call], CacheRules],
    costs: Mapping[str, Cost | None] | None = None,
    rates: Callable[[Call], Rates | None] | None = None,
) -> Misses:
    """The misses of a session, whose book must be counted whole; `costs` holds every call's price by id."""
    return misses_by(finder_of(book, rules, costs, rates), book, costs)


def misses_by(finder: MissFinder, book: Book, costs: Mapping[str, Cost | None] | None = None) -> Misses:
    """Collect the misses of a session after `finder` has taken every call."""
    calls = list(book.session.calls.values())
    whole = summed(row_of(call, (costs or {}).get(call.id), "") for call in calls)
    return Misses(
        tuple(dearest(finder.found)),
        len(finder.rows),
        sum(row.alarm and not row.missed for row in finder.rows),
        whole.usd,
        whole.unpriced,
        whole.partial,
    )


def _cause(told: str, tree: Tree, node: int) -> str:
    cause = _CAUSE.get(told, UNKNOWN)
    if cause == CONTENT and node != ROOT:
        place = tree[node].place
        if place.section == "tools":
            return TOOLS
        return SYSTEM if place.section == "system" or place.role in ("system", "developer") else CONTENT
    return cause


def _what(call: Call, base: Call, cause: str) -> str:
    if cause == MODEL:
        return f"{base.model} → {call.model}"
    if cause == COMPACTION:
        return call.epoch.detail
    return ""


def _side(book: Book, model: str, node: int) -> PartingBlock | None:
    tree = book.session.tree
    if node == ROOT:
        return None
    here, category = tree[node], CATEGORIES[book.category(model, node)]
    if here.block.kind == HEADER:
        return PartingBlock(category, f"a message of the {here.place.role}", "")
    return PartingBlock(category, book.names.label(here), _words(here.block))


def _words(block: Block) -> str:
    got = read(block)
    return (got.text or got.arguments)[:_SHOWN]


def _writer(book: Book, base: Call, call: Call, node: int) -> str:
    """The tool call of this session that touched the file which the changed block is about, if one did between."""
    tree = book.session.tree
    if node == ROOT:
        return ""
    words = _words(tree[node].block)
    for made in answer_path(tree, base):
        here = tree[made]
        if CATEGORIES[here.category] != "tool_call":
            continue
        got = read(here.block)
        if any(touch.path and touch.path in words for touch in find_touches(got, book.session.about.cwd)):
            return got.name
    return ""


def cure(one: Missed, every: Sequence[Missed]) -> tuple[str, float]:
    """Name the cure of a miss, and the USD that it saves over all misses with the same cause."""
    alike = [other for other in every if other.cause == one.cause]
    saved = sum(other.usd or 0.0 for other in alike)
    match one.cause:
        case "TTL" if one.life < 3600:
            return "write the stable part with a lifetime of an hour, or send a call within it", saved
        case "TTL":
            return "apply edits at such a moment: the prefix is written again anyway", 0.0
        case "content changed" if one.new is not None and one.new.category == "memory":
            return "move memory files to the end, or freeze them for the session", saved
        case "content changed":
            return "change nothing in front: put what is new at the end", saved
        case "edits applied":
            return "apply edits early, where little stands behind them, in one go, or when the cache has expired", saved
        case "system changed":
            return "keep what changes (dates, git status) out of the system prompt: say it in the last message", saved
        case "tools changed":
            return "keep the tools and their order for the session; defer those that are seldom used", saved
        case "model changed":
            return "each model has its own cache: change it at a moment when the cache has expired", saved
        case "thinking stripped":
            return "a model that keeps thinking keeps the prefix at a new turn", saved
        case "compaction":
            return "compact when the cache has expired: then the summary costs no rewrite", saved
    return "", 0.0
