"""Results that a policy context keeps for the next one, with a few more blocks or edits.

Policies run for each request of a growing conversation. `Earlier` holds what was computed before, so that only new
blocks are examined.
"""

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
    """Targets of edits that are missing in a context, and a check whether one of them appeared."""

    def __init__(self, targets: Iterable[Target]) -> None:
        all_targets = list(targets)
        self._digests = frozenset(target.digest for target in all_targets)
        self._ids = frozenset(target.id for target in all_targets if target.id)

    def with_targets(self, targets: Iterable[Target]) -> AwaitedTargets:
        merged = AwaitedTargets(targets)
        merged._digests |= self._digests
        merged._ids |= self._ids
        return merged

    def has_appeared(self, context: Context, length: int) -> bool:
        """Whether a target, or a block with its id, follows the first `length` blocks."""
        if not self._digests:
            return False
        return any(
            context.items[position].block.digest in self._digests
            or (bool(self._ids) and context.target(position).id in self._ids)
            for position in range(length, len(context))
        )


NONE_AWAITED: Final = AwaitedTargets(())


class Stretch(NamedTuple):
    """Positions `start` to `stop` (exclusive) of a round or turn."""

    start: int
    stop: int


class EditedPositions(Struct):
    """The positions that a log's edits are about, by author and kind of edit.

    - `ids`: the ids of the edits.
    - `reverts`: whether one of them reverts another.
    - `awaited`: targets that are missing in the context.
    """

    ids: frozenset[str] = frozenset()
    reverts: bool = False
    positions: dict[tuple[str, str], frozenset[int]] = field(default_factory=dict)
    awaited: AwaitedTargets = NONE_AWAITED

    def with_edits(self, context: Context, edits: tuple[Edit, ...]) -> EditedPositions:
        """These positions, and those of `edits` in `context`."""
        positions_of: dict[tuple[str, str], set[int]] = {}
        open_ = []
        for edit in edits:
            here = positions_of.setdefault((edit.author, edit.kind), set())
            for target in edit.targets:
                position, stays = context.find_exact(target)
                if position is not None:
                    here.add(position)
                if not stays:
                    open_.append(target)
        positions = dict(self.positions)
        for key, here in positions_of.items():
            positions[key] = positions.get(key, frozenset()) | here
        return EditedPositions(
            self.ids.union(edit.id for edit in edits),
            self.reverts or any(edit.reverts for edit in edits),
            positions,
            self.awaited.with_targets(open_) if open_ else self.awaited,
        )


class Earlier(Struct, frozen=True, kw_only=True):
    """Values computed when the context had `length` blocks under the edits `log`.

    None means: not computed.
    - `applied`: the context under these edits.
    - `edited`: the positions of the edits.
    - `freed`: the tokens that they free.
    - `left`: indexes of the messages that are not removed entirely.
    - `edited_rounds`: the rounds in which every block is changed.
    """

    length: int
    log: tuple[Edit, ...]
    applied: Applied
    edited: EditedPositions | None
    freed: int | None
    left: list[int] | None
    edited_rounds: frozenset[Stretch] | None


def differing_positions(before: Mapping[int, BlockChange], now: Mapping[int, BlockChange]) -> list[int]:
    """The positions at which two sets of changes may differ."""
    if before is now:
        return []
    # Hardly any of many changes differ: compare them without Python code for each.
    positions = [*compress(now, map(is_not, map(before.get, now), now.values()))]
    if len(now) - len(positions) < len(before):
        positions += [position for position in before if position not in now]
    return positions
