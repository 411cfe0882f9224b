"""Finds the misses of a session, with cost, cause, the block that differs, and the fix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.audit import AuditedRead, CacheAuditor
from ctxtui.analysis.cache.cached_input import CachedInput, CachedInputs
from ctxtui.analysis.cache.call_forecasts import CallForecaster
from ctxtui.analysis.cache.miss import (
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
    CacheMiss,
    DifferingBlock,
)
from ctxtui.analysis.cache.miss_cause import MissCause
from ctxtui.analysis.content.first_difference import find_first_difference
from ctxtui.analysis.money.input_split import split_input
from ctxtui.analysis.money.spending import call_row, sum_rows
from ctxtui.analysis.running_totals import RunningTotals, running_totals
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
"""The displayed cause for each name of `miss_cause`."""
_MAX_CHARACTERS: Final = 4_000
"""Characters of a block kept for the comparison word by word."""


class Misses(Struct, frozen=True):
    """All misses of a session, most expensive first.

    - `calls`: the number of calls whose forecast was compared with their report; `false_alarms`: those that were
      predicted to miss and did not.
    - `usd`: the known cost of the session; None: unknown. `unpriced`: the number of calls with a report and no complete
      price; `partial`: of those that are not fully reported.
    """

    misses: tuple[CacheMiss, ...]
    calls: int = 0
    false_alarms: int = 0
    usd: float | None = None
    unpriced: int = 0
    partial: int = 0

    @property
    def at_least(self) -> bool:
        """Whether `usd` is only a lower bound, as the cost of some calls is not fully known."""
        return self.unpriced > 0 or self.partial > 0

    @property
    def count(self) -> int:
        return len(self.misses)

    @property
    def tested(self) -> int:
        return sum(miss.tested for miss in self.misses)

    @property
    def foreseen(self) -> int:
        return sum(miss.foreseen for miss in self.misses)

    @property
    def tokens(self) -> int:
        """Tokens written again or paid in full."""
        return sum(miss.tokens for miss in self.misses)

    @property
    def lost(self) -> float | None:
        """USD paid for the misses above the price of reads, where prices are known.

        None if none is known.
        """
        amounts = [miss.usd for miss in self.misses if miss.usd is not None]
        return sum(amounts) if amounts or not self.misses else None

    @property
    def partly_lost(self) -> bool:
        """Whether `lost` lacks a price."""
        return any(miss.usd is None for miss in self.misses)

    def of_thread(self, thread: str) -> list[CacheMiss]:
        """Misses of one thread, in order of calls."""
        return sorted((miss for miss in self.misses if miss.thread == thread), key=lambda miss: miss.number)


def sort_dearest(misses: Iterable[CacheMiss]) -> list[CacheMiss]:
    return sorted(misses, key=lambda miss: (-(miss.usd or 0.0), -miss.tokens, miss.thread, miss.number))


class MissFinder:
    """Finds the misses of a session, call by call.

    `running` gives the running totals of a model, which must include the calls that are added. `costs` has the costs of
    calls by id, `rates` gives the prices per token at a call; without them the costs of misses are unknown.
    """

    def __init__(
        self,
        book: Book,
        rules: Callable[[Call], CacheRules],
        running: Callable[[str], RunningTotals],
        costs: Mapping[str, Cost | None] | None = None,
        rates: Callable[[Call], Rates | None] | None = None,
    ) -> None:
        self._book = book
        self._running = running
        self._costs = costs or {}
        self._rates = rates
        self._cached_inputs = CachedInputs(book, rules, running)
        self._auditor = CacheAuditor(book, rules)
        self._numbers: dict[str, int] = {}
        self.misses: list[CacheMiss] = []
        self.rows: list[AuditedRead] = []
        """Calls whose forecasts were compared with their reports."""

    @property
    def forecasts(self) -> CallForecaster:
        """Forecasts learnt from the calls so far, for the next one."""
        return self._auditor.forecasts

    def add_call(self, call: Call) -> CacheMiss | None:
        """Add the next call of the session; returns its miss, None if it is none."""
        cached = self._cached_inputs.add_call(call)
        row = self._auditor.audit_call(call, cached)
        if row is not None:
            self.rows.append(row)
        tokens = cached.lost_tokens(cached.read_tokens(call.usage)) if call.usage is not None else 0
        if not tokens or cached.before is None or call.keeps_warm:
            return None
        miss = self._make_miss(call, cached, row, tokens)
        self.misses.append(miss)
        return miss

    def _number(self, call: Call) -> int:
        order = self._book.session.order[call.thread]
        last_number = self._numbers.get(call.id, 0)
        if not 0 < last_number <= len(order) or order[last_number - 1] != call.id:
            self._numbers.update((id_, number) for number, id_ in enumerate(order, 1))
        return self._numbers[call.id]

    def _make_miss(self, call: Call, cached: CachedInput, row: AuditedRead | None, tokens: int) -> CacheMiss:
        book, base, usage = self._book, cached.before, call.usage
        assert usage is not None and base is not None and base.usage is not None
        tree = book.session.tree
        first, second, token = find_first_difference(book, self._running(call.model), base, call)
        recorded = MissCause(row.cause, what=row.what) if row is not None else cached.cause
        cause = _displayed_cause(recorded.name, tree, second if second != ROOT else first)
        if cause == STRIPPED and first != ROOT:
            # The difference is the removed thinking, not the block after it.
            second = ROOT
        differs = (second != ROOT and first != ROOT) or cause in (CONTENT, SYSTEM, TOOLS, STRIPPED, EDITS)
        paid, more = self._cost_of_loss(call, cached, tokens)
        late = max(0.0, (cached.pause or 0.0) - cached.life) if cause == TTL else 0.0
        return CacheMiss(
            thread=call.thread,
            number=self._number(call),
            base=self._number(base),
            at=call.started,
            between=base.started,
            tokens=tokens,
            usd=more,
            read=cached.read_tokens(usage),
            shared=min(token, usage.input),
            sizes=(base.usage.input, usage.input),
            cause=cause,
            what=_cause_details(call, base, cause) or recorded.what,
            by=late,
            life=cached.life,
            foreseen=row is not None and row.missed and row.alarm,
            evidence=row.evidence if row is not None else "",
            tested=row is not None and row.missed,
            paid=paid,
            pause=cached.pause,
            block=tree[second or first].depth if second or first else 0,
            blocks=tree[call.sent_head].depth,
            old=_differing_block(book, base.model, first) if differs else None,
            new=_differing_block(book, call.model, second) if differs else None,
            writer=_find_writer(book, base, call, second) if cause in (CONTENT, SYSTEM) else "",
        )

    def _cost_of_loss(self, call: Call, cached: CachedInput, tokens: int) -> tuple[float | None, float | None]:
        """Cost of the lost tokens at `call`, and the extra cost over reading them."""
        cost, usage = self._costs.get(call.id), call.usage
        by_rate = self._rates(call) if self._rates is not None and cost is not None else None
        if cost is None or usage is None:
            return None, None
        paid = split_input(usage, cost, cached.resent, tokens).rewrite.usd
        return paid, None if by_rate is None else max(0.0, paid - tokens * by_rate.read)


def find_misses(
    book: Book,
    rules: Callable[[Call], CacheRules],
    costs: Mapping[str, Cost | None] | None = None,
    rates: Callable[[Call], Rates | None] | None = None,
) -> MissFinder:
    """A `MissFinder` with every call of the session; everything in `book` must be counted."""
    finder = MissFinder(book, rules, running_totals(book), costs, rates)
    for call in list(book.session.calls.values()):
        finder.add_call(call)
    return finder


def session_misses(
    book: Book,
    rules: Callable[[Call], CacheRules],
    costs: Mapping[str, Cost | None] | None = None,
    rates: Callable[[Call], Rates | None] | None = None,
) -> Misses:
    """All misses of a session; everything in `book` must be counted."""
    return collect_misses(find_misses(book, rules, costs, rates), book, costs)


def collect_misses(finder: MissFinder, book: Book, costs: Mapping[str, Cost | None] | None = None) -> Misses:
    """The misses of a session after every call was added to `finder`."""
    calls = list(book.session.calls.values())
    total = sum_rows(call_row(call, (costs or {}).get(call.id), "") for call in calls)
    return Misses(
        tuple(sort_dearest(finder.misses)),
        len(finder.rows),
        sum(row.alarm and not row.missed for row in finder.rows),
        total.usd,
        total.unpriced,
        total.partial,
    )


def _displayed_cause(name: str, tree: Tree, node: int) -> str:
    cause = _CAUSE.get(name, UNKNOWN)
    if cause == CONTENT and node != ROOT:
        place = tree[node].place
        if place.section == "tools":
            return TOOLS
        return SYSTEM if place.section == "system" or place.role in ("system", "developer") else CONTENT
    return cause


def _cause_details(call: Call, base: Call, cause: str) -> str:
    if cause == MODEL:
        return f"{base.model} → {call.model}"
    if cause == COMPACTION:
        return call.epoch.detail
    return ""


def _differing_block(book: Book, model: str, node: int) -> DifferingBlock | None:
    tree = book.session.tree
    if node == ROOT:
        return None
    block_node, category = tree[node], CATEGORIES[book.category(model, node)]
    if block_node.block.kind == HEADER:
        return DifferingBlock(category, f"a message of the {block_node.place.role}", "")
    return DifferingBlock(category, book.names.label(block_node), _block_text(block_node.block))


def _block_text(block: Block) -> str:
    content = read(block)
    return (content.text or content.arguments)[:_MAX_CHARACTERS]


def _find_writer(book: Book, base: Call, call: Call, node: int) -> str:
    """Name of the tool that the answer of `base` called on a file that the changed block names.

    "" if it called none.
    """
    tree = book.session.tree
    if node == ROOT:
        return ""
    text = _block_text(tree[node].block)
    for node_ in answer_path(tree, base):
        path_node = tree[node_]
        if CATEGORIES[path_node.category] != "tool_call":
            continue
        content = read(path_node.block)
        if any(touch.path and touch.path in text for touch in find_touches(content, book.session.about.cwd)):
            return content.name
    return ""


def find_cure(miss: CacheMiss, all_misses: Sequence[CacheMiss]) -> tuple[str, float]:
    """Describe the fix of a miss, with the USD saved over all misses of its cause.

    The description is "" if no fix is known.
    """
    saved = sum(m.usd or 0.0 for m in all_misses if m.cause == miss.cause)
    match miss.cause:
        case "TTL" if miss.life < 3600:
            return "send a call within the lifetime, or choose a longer one if the provider has it", saved
        case "TTL":
            return "apply edits after such a pause: the prefix is written again anyway", 0.0
        case "content changed" if miss.new is not None and miss.new.category == "memory":
            return "move memory files to the end, or freeze them for the session", saved
        case "content changed":
            return "do not change earlier blocks: add new content at the end", saved
        case "edits applied":
            return "apply edits together and early, when few tokens follow them, or when the cache has expired", saved
        case "system changed":
            return "move changing content (dates, git status) from the system prompt to the last message", saved
        case "tools changed":
            return "keep the tools and their order for the session; defer rarely used ones", saved
        case "model changed":
            return "each model has its own cache: change models when the cache has expired", saved
        case "thinking stripped":
            return "use a model that keeps earlier thinking: a new turn then keeps the prefix", saved
        case "compaction":
            return "compact when the cache has expired: the summary then causes no extra rewrite", saved
    return "", 0.0
