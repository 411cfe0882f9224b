"""Absences: recorded blocks that were not in the context, according to a report.

A client, provider or server may clear old results, leave out thinking or drop old messages without a record. The
report is then less than the recorded blocks, and `explain_missing` infers which are absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.cache.prefix_key import is_from_person
from ctxtui.core.block import HEADER
from ctxtui.core.category import INDEX
from ctxtui.core.tree import Tree

NOT_SENT: Final = "not sent as recorded"
THINKING_LEFT_OUT: Final = "thinking left out"
RESULTS_CLEARED: Final = "old results cleared"
MEDIA_LEFT_OUT: Final = "old images left out"
MESSAGES_LEFT_OUT: Final = "old messages left out"
CUT: Final = "cut by the server"
COMPACTED: Final = "compacted by the provider"
EDITED: Final = "results cleared by the provider"

_REASONS: Final = {
    NOT_SENT: "the client did not send it back as it is recorded",
    THINKING_LEFT_OUT: "the client or the provider left the thinking out",
    RESULTS_CLEARED: "the client cleared its oldest results",
    MEDIA_LEFT_OUT: "the client left out its oldest images or documents",
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
"""Roles of messages that do not count as old messages."""
_NEAR: Final = 0.25
"""Relative tolerance within which blocks explain the missing tokens."""
_HALF: Final = 0.5
"""Share of the missing tokens that blocks must have, and that their error may be at most."""


class Absence(Struct, frozen=True):
    """An absent block: its tree `node`, and the reason `why`.

    `left`: tokens of its replacement. `since`: number of the call (from 1 in its thread) whose report showed it.
    """

    node: int
    left: int
    since: int
    why: str

    @property
    def reason_text(self) -> str:
        return _REASONS[self.why]


class AbsentBlocks(NamedTuple):
    """Blocks that are absent for one reason (`why`)."""

    nodes: tuple[int, ...]
    why: str


class MissingTokens(Struct, frozen=True, kw_only=True):
    """Tokens that a report lacks, and what may explain them.

    - `tokens`: how many, within `doubt`.
    - `came`: nodes after the prefix shared with the previous call; `answered`: those of them that are its answer.
    - `old`: gives earlier nodes that are read, but not from the cache, in prompt order.
    - `thought`: tokens of thinking that are read.
    - `size`: gives a node's tokens; `left`: tokens of a cleared result's replacement.
    - `spare`: tokens that the oldest blocks may fall short before one more is added.
    - `prefix_stays`, `prefix_broke`: the cache shows that the previous context was read again, or was not.
    - `whole`: the request itself is recorded, so that only the provider can have removed blocks.
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

    def explains(self, tokens: int) -> bool:
        return abs(tokens - self.tokens) <= min(_HALF * self.tokens, max(self.doubt, _NEAR * self.tokens))


def explain_missing(tree: Tree, missing: MissingTokens) -> AbsentBlocks | None:
    """The blocks that are most likely absent; None if none explain the missing tokens."""
    if missing.whole:
        return _check_thinking(tree, missing)
    blocks = None if missing.prefix_broke else _check_new_blocks(tree, missing)
    if blocks is None and not missing.prefix_stays:
        blocks = _check_thinking(tree, missing) or _check_oldest(tree, missing)
    return blocks


def _check_new_blocks(tree: Tree, missing: MissingTokens) -> AbsentBlocks | None:
    new_nodes = [n for n in missing.came if tree[n].block.kind != HEADER]
    sets = [
        tuple(missing.answered),
        *(
            tuple(n for n in new_nodes if tree[n].category in kinds)
            for kinds in ({_CALL}, {_THINKING}, {_RESULT}, _MEDIA)
        ),
        *((n,) for n in new_nodes if missing.size(n) >= _HALF * missing.tokens),
    ]
    error, nodes = _nearest_set(sets, missing)
    if nodes and missing.explains(missing.tokens + error):
        return AbsentBlocks(nodes, NOT_SENT)
    # A block that was read in part: at least half of it is missing, and no other new block has such a size.
    large = [n for n in new_nodes if missing.tokens <= missing.size(n) <= 2 * missing.tokens]
    return AbsentBlocks((large[0],), NOT_SENT) if len(large) == 1 else None


def _nearest_set(sets: Iterable[tuple[int, ...]], missing: MissingTokens) -> tuple[int, tuple[int, ...]]:
    candidates = [(sum(map(missing.size, nodes)) - missing.tokens, nodes) for nodes in sets if nodes]
    return min(candidates, key=lambda candidate: abs(candidate[0]), default=(0, ()))


def _check_thinking(tree: Tree, missing: MissingTokens) -> AbsentBlocks | None:
    if missing.thought < _HALF * missing.tokens:
        return None
    thoughts = [n for n in (*missing.old(), *missing.came) if tree[n].category == _THINKING and not _is_header(tree, n)]
    last_said = max((n for n in missing.came if is_from_person(tree[n])), default=0)
    error, nodes = _nearest_set([tuple(thoughts), tuple(n for n in thoughts if n < last_said)], missing)
    return AbsentBlocks(nodes, THINKING_LEFT_OUT) if nodes and missing.explains(missing.tokens + error) else None


def _is_header(tree: Tree, node: int) -> bool:
    return tree[node].block.kind == HEADER


def _check_oldest(tree: Tree, missing: MissingTokens) -> AbsentBlocks | None:
    old = missing.old()
    results = [n for n in old if tree[n].category == _RESULT]
    media = [n for n in old if tree[n].category in _MEDIA]
    for nodes, left, why in (
        (results, missing.left, RESULTS_CLEARED),
        (media, 0, MEDIA_LEFT_OUT),
        (_without_front(tree, old), 0, MESSAGES_LEFT_OUT),
    ):
        oldest, total = _take_oldest(nodes, left, missing)
        if oldest and missing.explains(total):
            return AbsentBlocks(oldest, why)
    return None


def oldest_messages(tree: Tree, missing: MissingTokens) -> AbsentBlocks | None:
    """The oldest messages before a person's last message, up to the missing tokens.

    Only messages since the previous call count. None if there is no such message, or if they do not explain the missing
    tokens.
    """
    last_said = max((n for n in missing.came if is_from_person(tree[n])), default=0)
    nodes = [n for n in (*missing.old(), *missing.came) if n < last_said and not _is_header(tree, n)]
    oldest, total = _take_oldest(_without_front(tree, nodes), 0, missing)
    return AbsentBlocks(oldest, MESSAGES_LEFT_OUT) if oldest and missing.explains(total) else None


def _without_front(tree: Tree, nodes: Sequence[int]) -> list[int]:
    return [n for n in nodes if tree[n].place.section not in _FRONT and tree[n].place.role not in _FIRM]


def _take_oldest(nodes: Sequence[int], left: int, missing: MissingTokens) -> tuple[tuple[int, ...], int]:
    best, total, nodes_taken = 0, 0, list[int]()
    best_count = 0
    for node in nodes:
        size = missing.size(node) - left
        if size <= 0:
            continue
        nodes_taken.append(node)
        total += size
        if abs(total - missing.tokens) <= abs(best - missing.tokens):
            best, best_count = total, len(nodes_taken)
        if total >= missing.tokens:
            if missing.tokens - best > missing.spare and missing.explains(total):
                best, best_count = total, len(nodes_taken)
            break
    return tuple(nodes_taken[:best_count]), best


class Absences:
    """Absent blocks of a context, in prompt order."""

    def __init__(self, by_node: Mapping[int, Absence]) -> None:
        self.by_node = dict(sorted(by_node.items()))
        self.nodes = list(self.by_node)
        self.sums: dict[tuple[int, str], list[int]] = {}
        """Cached running sums of absent tokens, in the order of `nodes`."""
        self.by_category: dict[tuple[int, str, int], tuple[int, ...]] = {}
        """Cached absent tokens by category index."""

    def __bool__(self) -> bool:
        return bool(self.by_node)

    def get(self, node: int) -> Absence | None:
        return self.by_node.get(node)

    def with_blocks(self, absent: AbsentBlocks, left: int, since: int) -> Absences:
        """Add the blocks of `absent`; cleared results have replacements of `left` tokens each."""
        replacement_tokens = left if absent.why in (RESULTS_CLEARED, EDITED) else 0
        return Absences(self.by_node | {n: Absence(n, replacement_tokens, since, absent.why) for n in absent.nodes})

    def only(self, why: str) -> Absences:
        remaining = {n: absence for n, absence in self.by_node.items() if absence.why == why}
        return self if len(remaining) == len(self.by_node) else Absences(remaining) if remaining else NO_ABSENCES

    def where(self, predicate: Callable[[int], bool]) -> Absences:
        return Absences({node: absence for node, absence in self.by_node.items() if predicate(node)})

    def without_since(self, since: int) -> Absences:
        return Absences({n: absence for n, absence in self.by_node.items() if absence.since != since})


NO_ABSENCES: Final = Absences({})
