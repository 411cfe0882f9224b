"""What was worked out of a situation, for the one that goes on from it: with a few blocks more, or a few edits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import compress
from operator import is_not
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.core.edit import Edit, Target
from ctxtui.curation.apply.applied import Applied, BlockChange
from ctxtui.curation.context import Context


class AwaitedTargets:
    """Blocks that edits wait for, and whether one of them came to a context that grew."""

    def __init__(self, targets: Iterable[Target]) -> None:
        wanted = list(targets)
        self._digests = frozenset(target.digest for target in wanted)
        self._ids = frozenset(target.id for target in wanted if target.id)

    def more(self, targets: Iterable[Target]) -> AwaitedTargets:
        """These and further ones."""
        found = AwaitedTargets(targets)
        found._digests |= self._digests
        found._ids |= self._ids
        return found

    def came(self, context: Context, length: int) -> bool:
        """Whether one of them, or another block with its id, stands behind the first `length` blocks of `context`."""
        if not self._digests:
            return False
        return any(
            context.items[position].block.digest in self._digests
            or (bool(self._ids) and context.target(position).id in self._ids)
            for position in range(length, len(context))
        )


NONE_AWAITED: Final = AwaitedTargets(())


class Stretch(NamedTuple):
    """Positions `start` to `stop` (exclusive): a round, a turn."""

    start: int
    stop: int


class EditedPositions(Struct):
    """What edits of a log are about: their `ids`, whether one of them takes another back, the positions by author and
    kind of edit, and the targets that are `awaited`."""

    ids: frozenset[str] = frozenset()
    reverts: bool = False
    positions: dict[tuple[str, str], frozenset[int]] = field(default_factory=dict)
    awaited: AwaitedTargets = NONE_AWAITED

    def more(self, context: Context, edits: tuple[Edit, ...]) -> EditedPositions:
        """The same with further edits."""
        found: dict[tuple[str, str], set[int]] = {}
        open_ = []
        for edit in edits:
            here = found.setdefault((edit.author, edit.kind), set())
            for target in edit.targets:
                position, stays = context.found(target)
                if position is not None:
                    here.add(position)
                if not stays:
                    open_.append(target)
        positions = dict(self.positions)
        for key, here in found.items():
            positions[key] = positions.get(key, frozenset()) | here
        return EditedPositions(
            self.ids.union(edit.id for edit in edits),
            self.reverts or any(edit.reverts for edit in edits),
            positions,
            self.awaited.more(open_) if open_ else self.awaited,
        )


class Earlier(Struct, frozen=True, kw_only=True):
    """What was worked out when the context had `length` blocks under the edits `log`, which came to `applied`: what
    they are about (`asked`), the tokens `freed` by them, the indexes of the messages `left`, and the rounds that are
    `gone`. None: not worked out."""

    length: int
    log: tuple[Edit, ...]
    applied: Applied
    asked: EditedPositions | None
    freed: int | None
    left: list[int] | None
    gone: frozenset[Stretch] | None


def differing(before: Mapping[int, BlockChange], now: Mapping[int, BlockChange]) -> list[int]:
    """The positions at which two sets of changes may not be the same."""
    if before is now:
        return []
    # Of many hardly any differ: looked through without a step of Python's for each.
    found = [*compress(now, map(is_not, map(before.get, now), now.values()))]
    if len(now) - len(found) < len(before):
        found += [position for position in before if position not in now]
    return found
