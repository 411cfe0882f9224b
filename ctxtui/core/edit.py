"""Edits: an append-only, reversible overlay over a context; originals are never touched (design §2, §6 law 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

PIN: Final = "pin"
DROP: Final = "drop"
REPLACE: Final = "replace"


@dataclass(frozen=True, slots=True)
class Target:
    """The block an edit is about: its digest and which occurrence on the raw path (0-based), never a position, so
    that the edit survives a client that resends everything."""

    digest: str
    occurrence: int = 0


@dataclass(frozen=True, slots=True)
class Edit:
    """One entry of the overlay. `id` is given by who makes it, `at` in Unix seconds, `author` is ``user``, a policy's
    name or ``provider``. `replacement` is the digest of the block that stands instead, for ``replace``. A revert is an
    entry of its own that names the edit it takes back in `reverts`."""

    id: str
    kind: str
    target: Target
    author: str = "user"
    at: float = 0.0
    replacement: str = ""
    reverts: str = ""


def in_force(log: Iterable[Edit]) -> list[Edit]:
    """The edits of an append-only log that have not been reverted, in order; a reverted revert stands again."""
    entries = list(log)
    dead: set[str] = set()
    for edit in reversed(entries):
        if edit.reverts and edit.id not in dead:
            dead.add(edit.reverts)
    return [e for e in entries if not e.reverts and e.id not in dead]
