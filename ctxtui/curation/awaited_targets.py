"""Targets that a context may still get: what edits are about that are asleep, or that only an id of the provider's
finds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ctxtui.core.edit import Target
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
