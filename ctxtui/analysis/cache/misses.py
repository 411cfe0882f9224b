"""The misses of a session, dearest first: what was lost, why, which block parted the requests, what would cure it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.audit import NOT_IN_RECORD, CacheAudited, cache_audited
from ctxtui.analysis.content.file_accesses import touches
from ctxtui.analysis.money.bill import Rewrite, bill
from ctxtui.analysis.session_events import lifetime
from ctxtui.cache.explain import LOOKBACK, MARKER_MISSING, MARKER_MOVED, MINIMUM, NOT_YET, parting
from ctxtui.cache.rules import CacheRules
from ctxtui.core.block import HEADER, Block
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, EpochStart
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tree import ROOT, Tree
from ctxtui.pricing.price import Cost
from ctxtui.pricing.rates import Rates

TTL, CONTENT, SYSTEM, TOOLS, MODEL = "TTL", "content changed", "system changed", "tools changed", "model changed"
COMPACTION, RESTART, STRIPPED, UNKNOWN = "compaction", "client restarted", "thinking stripped", NOT_IN_RECORD
PARAMETER = "parameter changed"
"""Causes, as they are shown; those about markers are `cache.explain`'s."""

_CAUSE: Final = {
    "expired": TTL,
    "pause": TTL,
    "model": MODEL,
    "compaction": COMPACTION,
    "resume": RESTART,
    "thinking stripped": STRIPPED,
    "content": CONTENT,
    "changed": CONTENT,
    "tools": TOOLS,
    "parameter": PARAMETER,
    **{name: name for name in (MARKER_MISSING, MARKER_MOVED, LOOKBACK, MINIMUM, NOT_YET)},
}
_SHOWN: Final = 4_000
"""Characters of a block that are taken along to be compared word by word."""


@dataclass(frozen=True, slots=True)
class PartingBlock:
    """One of the two blocks that part a call from the one before: its category, label and words (shortened)."""

    category: str
    label: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """One miss. `number` (from 1) of `thread` at `at` (Unix seconds), which `base` was the call before.

    `tokens` were written again or paid in full; `usd` is what that cost more than reading them (None: no price is
    known). `read` tokens were read; `shared` are the tokens that both requests begin with, as reported for them;
    `sizes` are the inputs of both calls. `cause` is one of this module's, `by` how many seconds too late it came,
    `life` the lifetime that counted, `what` more about the cause. `foreseen`: the miss was foretold from what came
    before. `block` is the place (from 1) of the first block that differs among `blocks`, `old` and `new` that block in
    both requests, `writer` the tool call of this session that changed it, "" for none.
    """

    thread: str
    number: int
    base: int
    at: float | None
    between: float | None
    tokens: int
    usd: float | None
    read: int
    shared: int
    sizes: tuple[int, int]
    cause: str
    what: str
    by: float
    life: float
    foreseen: bool
    evidence: str
    block: int = 0
    blocks: int = 0
    old: PartingBlock | None = None
    new: PartingBlock | None = None
    writer: str = ""


@dataclass(frozen=True, slots=True)
class Misses:
    """All misses of a session, dearest first. `calls` are those that could have missed, `foreseen` and `false_alarms`
    say how the forecasts did, `usd` is what the session cost in all and `lost` what the misses did (None: unknown)."""

    found: tuple[Missed, ...]
    calls: int
    misses: int
    foreseen: int
    false_alarms: int
    usd: float | None

    @property
    def tokens(self) -> int:
        """Tokens written again."""
        return sum(one.tokens for one in self.found)

    @property
    def lost(self) -> float | None:
        """USD that the misses cost more than reads; None where no price is known."""
        known = [one.usd for one in self.found if one.usd is not None]
        return sum(known) if known or not self.found else None


def misses_of(
    book: Book,
    rules: Callable[[Call], CacheRules],
    costs: Mapping[str, Cost | None],
    rates: Callable[[Call], Rates | None],
) -> Misses:
    """The misses of a session, whose book must be counted whole; `costs` holds every call's price by id."""
    audits = {(row.thread, row.call): row for row in cache_audited(book, rules)}
    spent = bill(book, costs)
    found = [_missed(book, one, audits.get((one.thread, one.number)), rules, rates) for one in spent.rewrites]
    reported = [row for row in audits.values() if row.missed]
    return Misses(
        tuple(sorted(found, key=lambda one: (-(one.usd or 0.0), -one.tokens))),
        len(audits),
        len(reported),
        sum(row.alarm for row in reported),
        sum(row.alarm and not row.missed for row in audits.values()),
        spent.usd,
    )


def lived(rules: CacheRules, calls: Sequence[Call]) -> float:
    """Seconds that what `calls` left in the cache lives: as long as the longest entry that they wrote, or as the
    provider keeps prefixes of its own accord."""
    if rules.mechanism.keeps_every_prefix and rules.retention:
        return rules.retention
    return max((lifetime(call) for call in calls), default=0.0)


def _missed(
    book: Book,
    one: Rewrite,
    row: CacheAudited | None,
    rules: Callable[[Call], CacheRules],
    rates: Callable[[Call], Rates | None],
) -> Missed:
    calls = book.session.thread_calls(one.thread)
    call, base = calls[one.number - 1], calls[one.number - 2]
    tree, usage = book.session.tree, call.usage
    assert usage is not None and base.usage is not None
    first, second = parting(tree, base.sent_head, call.sent_head)
    cause = _cause(one, row, call, tree, second if second != ROOT else first)
    by_rate = rates(call)
    usd = None if one.usd is None or by_rate is None else one.usd - one.tokens * by_rate.read
    head = tree.common(base.sent_head, call.sent_head)
    life = lived(rules(call), calls[: one.number - 1])
    late = max(0.0, (one.pause or 0.0) - life) if cause == TTL else 0.0
    differs = second != ROOT and first != ROOT
    return Missed(
        thread=one.thread,
        number=one.number,
        base=one.number - 1,
        at=call.started,
        between=base.started,
        tokens=one.tokens,
        usd=usd,
        read=usage.cache_read,
        shared=_shared(book, call, head),
        sizes=(base.usage.input, usage.input),
        cause=cause,
        what=_what(call, base, cause) or (row.what if row is not None else ""),
        by=late,
        life=life,
        foreseen=row.alarm if row is not None else False,
        evidence=row.evidence if row is not None else "",
        block=tree[second or first].depth if second or first else 0,
        blocks=tree[call.sent_head].depth,
        old=_side(book, first) if differs or cause in (CONTENT, SYSTEM, TOOLS) else None,
        new=_side(book, second) if differs or cause in (CONTENT, SYSTEM, TOOLS) else None,
        writer=_writer(book, base, call, second) if cause in (CONTENT, SYSTEM) else "",
    )


def _cause(one: Rewrite, row: CacheAudited | None, call: Call, tree: Tree, node: int) -> str:
    told = row.cause if row is not None and row.cause and row.cause != NOT_IN_RECORD else one.cause
    cause = _CAUSE.get(told, UNKNOWN)
    if cause == UNKNOWN and call.epoch.start in (EpochStart.MICROCOMPACTION, EpochStart.COMPACTION) and not one.cause:
        return UNKNOWN
    if cause == CONTENT and node != ROOT:
        section = tree[node].place.section
        return SYSTEM if section == "system" else TOOLS if section == "tools" else CONTENT
    return cause


def _what(call: Call, base: Call, cause: str) -> str:
    if cause == MODEL:
        return f"{base.model} → {call.model}"
    if cause == COMPACTION:
        return call.epoch.detail
    return ""


def _shared(book: Book, call: Call, head: int) -> int:
    """Reported tokens of what both requests begin with: our count, stretched to the report."""
    assert call.usage is not None
    ours = sum(book.sums(call.model, call.sent_head)) or 1
    hidden = max(0, call.usage.input - ours)
    return min(call.usage.input, hidden + sum(book.sums(call.model, head)))


def _side(book: Book, node: int) -> PartingBlock | None:
    tree = book.session.tree
    if node == ROOT:
        return None
    here = tree[node]
    if here.block.kind == HEADER:
        return PartingBlock(CATEGORIES[here.category], f"a message of the {here.place.role}", "")
    return PartingBlock(CATEGORIES[here.category], book.names.label(here), _words(here.block))


def _words(block: Block) -> str:
    got = read(block)
    return (got.text or got.arguments)[:_SHOWN]


def _writer(book: Book, base: Call, call: Call, node: int) -> str:
    """The tool call of this session that touched the file which the changed block is about, if one did between."""
    tree = book.session.tree
    if node == ROOT:
        return ""
    words = _words(tree[node].block)
    for made in tree.path(base.response_head, base.sent_head):
        here = tree[made]
        if CATEGORIES[here.category] != "tool_call":
            continue
        got = read(here.block)
        if any(touch.path and touch.path in words for touch in touches(got, book.session.about.cwd)):
            return got.name
    return ""


def cure(one: Missed, every: Sequence[Missed]) -> tuple[str, float]:
    """What would have cured a miss, in words, and what that saves over all misses of its kind, in USD."""
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
