"""Absences: recorded blocks that a report shows to be gone from the context, though no record says so.

A client may clear old results, leave out thinking or the answer of a call that failed, and drop old messages without a
word; the next report then falls short of what the recorded blocks come to. Which blocks are gone is inferred from that
report alone, and shown as inferred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.core.block import HEADER
from ctxtui.core.category import INDEX
from ctxtui.core.tree import Node, Tree

NOT_SENT: Final = "not sent as recorded"
THINKING_LEFT_OUT: Final = "thinking left out"
RESULTS_CLEARED: Final = "old results cleared"
MEDIA_LEFT_OUT: Final = "old images left out"
MESSAGES_LEFT_OUT: Final = "old messages left out"
CUT: Final = "cut by the server"
COMPACTED: Final = "compacted by the provider"
EDITED: Final = "results cleared by the provider"

_SAYS: Final = {
    NOT_SENT: "the client did not send it back as it is recorded",
    THINKING_LEFT_OUT: "thinking of earlier turns is no longer sent or read",
    RESULTS_CLEARED: "the client cleared its oldest results",
    MEDIA_LEFT_OUT: "the client left out its oldest images",
    MESSAGES_LEFT_OUT: "the client left out its oldest messages",
    CUT: "the server cut the oldest messages to fit its window",
    COMPACTED: "the provider put a summary in its place before the model answered",
    EDITED: "the provider cleared the oldest results, as the request asked",
}

_THINKING: Final = INDEX["thinking"]
_RESULT: Final = INDEX["tool_result"]
_CALL: Final = INDEX["tool_call"]
_MEDIA: Final = frozenset({INDEX["image"], INDEX["document"]})
_FRONT: Final = frozenset({"system", "tools"})
_FIRM: Final = frozenset({"system", "developer"})
_NEAR: Final = 0.25
"""Share of what is missing by which blocks that explain it may be larger or smaller."""
_HALF: Final = 0.5


class Absence(Struct, frozen=True):
    """A block that is gone: its tree `node`, the tokens of what stands in its place, the number of the call (from 1 in
    its thread) whose report showed it, and `why` (one of this module's words)."""

    node: int
    left: int
    since: int
    why: str

    @property
    def says(self) -> str:
        """The reason as a sentence's part."""
        return _SAYS[self.why]


class GoneBlocks(NamedTuple):
    """Blocks that explain what is missing, in prompt order, and why they are gone."""

    nodes: tuple[int, ...]
    why: str


class Missing(Struct, frozen=True, kw_only=True):
    """What a report lacks: `tokens` less than its blocks come to, give or take `doubt`.

    `came` are the nodes that follow the context of the call before, `answered` those of them that are its answer; `old`
    gives those before them that are read, in prompt order, but for what was read from the cache: that stands there
    unchanged. `thought` are the tokens of thinking that are read. `size` gives a node's tokens, `left` the tokens of
    what stands in the place of a cleared result. `spare` are the tokens by which what is found may at most fall short
    where one block more explains it too. `prefix_stays` and `prefix_broke` say what the cache tells of the context
    before: it was read again, or it was not. `whole` says that the request itself is on record: only what its provider
    takes out can be missing.
    """

    tokens: int
    doubt: float
    came: Sequence[int]
    answered: Sequence[int]
    old: Callable[[], Sequence[int]]
    thought: int
    size: Callable[[int], int]
    left: int
    spare: float
    prefix_stays: bool
    prefix_broke: bool
    whole: bool

    def fits(self, tokens: int) -> bool:
        """Whether blocks of `tokens` explain it."""
        return abs(tokens - self.tokens) <= min(_HALF * self.tokens, max(self.doubt, _NEAR * self.tokens))


def explain(tree: Tree, missing: Missing) -> GoneBlocks | None:
    """The blocks that are most likely gone; None where none explain what is missing."""
    if missing.whole:
        return _thinking(tree, missing)
    found = None if missing.prefix_broke else _new(tree, missing)
    if found is None and not missing.prefix_stays:
        found = _thinking(tree, missing) or _oldest(tree, missing)
    return found


def _new(tree: Tree, missing: Missing) -> GoneBlocks | None:
    """What came since the call before: an answer that failed, its calls, one block that was recorded otherwise."""
    came = [n for n in missing.came if tree[n].block.kind != HEADER]
    sets = [
        tuple(missing.answered),
        tuple(n for n in came if tree[n].category == _CALL),
        tuple(n for n in came if tree[n].category == _THINKING),
        tuple(n for n in came if tree[n].category == _RESULT),
        tuple(n for n in came if tree[n].category in _MEDIA),
        *((n,) for n in came if missing.size(n) >= _HALF * missing.tokens),
    ]
    off, nodes = _best(sets, missing)
    if nodes and missing.fits(missing.tokens + off):
        return GoneBlocks(nodes, NOT_SENT)
    # A block that was read in part: what is missing is most of one block, and no other is as large.
    large = [n for n in came if missing.tokens <= missing.size(n) <= 2 * missing.tokens]
    return GoneBlocks((large[0],), NOT_SENT) if len(large) == 1 else None


def _best(sets: Iterable[tuple[int, ...]], missing: Missing) -> tuple[int, tuple[int, ...]]:
    """The set whose tokens come nearest to what is missing, and by how much it is off."""
    known = [(sum(map(missing.size, nodes)) - missing.tokens, nodes) for nodes in sets if nodes]
    return min(known, key=lambda one: abs(one[0]), default=(0, ()))


def _thinking(tree: Tree, missing: Missing) -> GoneBlocks | None:
    if missing.thought < _HALF * missing.tokens:
        return None
    thoughts = [n for n in (*missing.old(), *missing.came) if tree[n].category == _THINKING and not _heads(tree, n)]
    spoken = max((n for n in missing.came if _asks(tree[n])), default=0)
    off, nodes = _best([tuple(thoughts), tuple(n for n in thoughts if n < spoken)], missing)
    return GoneBlocks(nodes, THINKING_LEFT_OUT) if nodes and missing.fits(missing.tokens + off) else None


def _heads(tree: Tree, node: int) -> bool:
    return tree[node].block.kind == HEADER


def _asks(node: Node) -> bool:
    place = node.place
    return place.role == "user" and not place.mark and node.block.kind != HEADER and node.category != _RESULT


def _oldest(tree: Tree, missing: Missing) -> GoneBlocks | None:
    """The oldest results, else the oldest images, else the oldest messages, as many as are missing."""
    old = missing.old()
    results = [n for n in old if tree[n].category == _RESULT]
    media = [n for n in old if tree[n].category in _MEDIA]
    messages = [n for n in old if tree[n].place.section not in _FRONT and tree[n].place.role not in _FIRM]
    for nodes, left, why in (
        (results, missing.left, RESULTS_CLEARED),
        (media, 0, MEDIA_LEFT_OUT),
        (messages, 0, MESSAGES_LEFT_OUT),
    ):
        taken, total = _as_many(nodes, left, missing)
        if taken and missing.fits(total):
            return GoneBlocks(taken, why)
    return None


def oldest_messages(tree: Tree, missing: Missing) -> GoneBlocks | None:
    """The oldest messages of all but what a person said last, as many as are missing: what exceeds a report is gone,
    also where it came since the call before."""
    spoken = max((n for n in missing.came if _asks(tree[n])), default=0)
    nodes = [n for n in (*missing.old(), *missing.came) if n < spoken and not _heads(tree, n)]
    movable = [n for n in nodes if tree[n].place.section not in _FRONT and tree[n].place.role not in _FIRM]
    taken, total = _as_many(movable, 0, missing)
    return GoneBlocks(taken, MESSAGES_LEFT_OUT) if taken and missing.fits(total) else None


def _as_many(nodes: Sequence[int], left: int, missing: Missing) -> tuple[tuple[int, ...], int]:
    """The first of `nodes` whose tokens, less `left` each, come nearest to what is missing; and those tokens."""
    best, total, found = 0, 0, list[int]()
    many = 0
    for node in nodes:
        size = missing.size(node) - left
        if size <= 0:
            continue
        found.append(node)
        total += size
        if abs(total - missing.tokens) <= abs(best - missing.tokens):
            best, many = total, len(found)
        if total >= missing.tokens:
            if missing.tokens - best > missing.spare and missing.fits(total):
                best, many = total, len(found)
            break
    return tuple(found[:many]), best


class Absences:
    """The blocks of a context that are gone, in prompt order; the same object for all calls that it holds for."""

    def __init__(self, of: Mapping[int, Absence]) -> None:
        self.of = dict(sorted(of.items()))
        """Absences by node."""
        self.nodes = list(self.of)
        self.before: dict[tuple[int, str], list[int]] = {}
        """Running sums of the tokens that are gone, by node in order, as they were asked for before."""
        self.known: dict[tuple[int, str, int], tuple[int, ...]] = {}
        """Tokens that are gone by category index, as they were asked for before."""

    def __bool__(self) -> bool:
        return bool(self.of)

    def get(self, node: int) -> Absence | None:
        """What is known of `node`, None where it is there."""
        return self.of.get(node)

    def and_(self, found: GoneBlocks, left: int, since: int) -> Absences:
        """These and `found`, of which `left` tokens each stand in their place where results were cleared."""
        rest = left if found.why in (RESULTS_CLEARED, EDITED) else 0
        return Absences(self.of | {n: Absence(n, rest, since, found.why) for n in found.nodes})

    def only(self, why: str) -> Absences:
        """Those of them that are gone because of `why`."""
        kept = {n: one for n, one in self.of.items() if one.why == why}
        return self if len(kept) == len(self.of) else Absences(kept) if kept else NONE_GONE

    def where(self, stands: Callable[[int], bool]) -> Absences:
        """Those of these whose node `stands`."""
        return Absences({node: one for node, one in self.of.items() if stands(node)})

    def less(self, since: int) -> Absences:
        """These without those that the report of call `since` showed: they are there again."""
        return Absences({n: one for n, one in self.of.items() if one.since != since})


NONE_GONE: Final = Absences({})
