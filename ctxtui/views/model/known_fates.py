"""Fates as they were worked out for the edits before: only what further edits are about is worked out anew."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ctxtui.core.edit import USER
from ctxtui.dataclasses import dataclass

if TYPE_CHECKING:
    from ctxtui.curation.apply.applied import Applied, BlockChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of one block: `tokens` it has and `after` the edits (None: being counted; 0: it is out), both with
    its message's header where it is the first part; the `mark` of its row by name, whether it is `out`, whether only a
    `repair` took it, and who did it. `stays` are the tokens of that header where it is sent without the block."""

    tokens: int
    after: int | None
    mark: str
    out: bool
    repair: bool
    kind: str
    author: str = USER
    stays: int = 0

    @property
    def freed(self) -> int:
        """Tokens that go from the request; negative where more come."""
        return self.tokens - (self.after or 0) - self.stays


class Step(NamedTuple):
    """What edits do at a raw position: tokens that are `freed` there (negative: more come), the `category` of what
    stands there then (None: nothing does), in the place of how many raw `blocks` (0: it is put in before that
    position)."""

    position: int
    freed: int
    category: int | None
    blocks: int = 1


class FoundFates(NamedTuple):
    """What becomes of the blocks that change: their fates `by_node`, in the order of the changes; the `steps` in prompt
    order. `whole`: none is still being counted."""

    by_node: dict[int, Fate]
    steps: list[Step]
    whole: bool


class KnownFates:
    """What is known of the fates of one context, in one state of its counts, from one edit to the next."""

    def __init__(self) -> None:
        self._by_position: dict[int, tuple[BlockChange, bool, Fate]] = {}
        """Each with what is done to the block there, and whether its message's header is changed, too."""
        self._last: tuple[Mapping[int, BlockChange], FoundFates] | None = None

    def __len__(self) -> int:
        return len(self._by_position)

    def of(self, applied: Applied, make: Callable[[BlockChange], Fate], category: Callable[[int], int]) -> FoundFates:
        """What becomes of the blocks that `applied` changes: `make` gives a fate, `category` that of a node."""
        changes, grown, last = applied.changes, applied.grown, self._last
        before = last[1] if last is not None and last[1].whole else None
        carried = before is not None and grown is not None and last is not None and grown.changes is last[0]
        found, again = FoundFates({}, [], True), [*changes]
        if carried and before is not None and grown is not None:
            found = FoundFates(dict(before.by_node), list(before.steps), True)
            # What stands behind has another fate where this was its message's header.
            again = [*dict.fromkeys((*grown.at, *(at + 1 for at in grown.at if at + 1 in changes)))]
        whole = True
        for position in again:
            change = changes[position]
            fate = self._fate(change, position - 1 in changes, make)
            whole = whole and fate.after is not None
            was = found.by_node.get(change.node)
            found.by_node[change.node] = fate
            if was is fate:
                continue
            step = Step(position, fate.freed, category(change.node) if fate.after else None)
            if not carried:
                found.steps.append(step)
                continue
            at = bisect_left(found.steps, (position,))
            found.steps[at : at + (was is not None)] = [step]
        if not carried:
            found.steps.sort()
        found = found._replace(whole=whole)
        self._last = changes, found
        return found

    def _fate(self, change: BlockChange, head: bool, make: Callable[[BlockChange], Fate]) -> Fate:
        known = self._by_position.get(change.position)
        if known is not None and known[1] is head and (known[0] is change or known[0] == change):
            return known[2]
        fate = make(change)
        if fate.after is not None:
            self._by_position[change.position] = change, head, fate
        return fate
