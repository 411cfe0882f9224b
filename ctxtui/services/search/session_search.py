"""Searching an open session beside the screen: block by block, the newest wish first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import islice
from typing import Final

from msgspec import Struct, field

from ctxtui.analysis.content.search import words_of
from ctxtui.core.errors import BadPattern
from ctxtui.core.tree import Tree
from ctxtui.services.search.pattern import Pattern

MOST_IN_BLOCK: Final = 2000
"""Hits of one block that are kept."""
MOST: Final = 20_000
"""Hits of a session that are kept."""
_TELL: Final = 0.3
"""Seconds between two reports."""


class Sightings(Struct):
    """What is found so far of `pattern`: the hits of each block by digest. `done` says that all blocks are searched,
    `capped` that there are more hits than are kept, `trouble` why the search was given up."""

    pattern: Pattern
    spots: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    done: bool = False
    capped: bool = False
    trouble: BadPattern | None = None


class Finder:
    """Looks for the pattern that was wished for last in the blocks of `tree`, which may grow. `run` is for a thread;
    `post` is told now and then what is found, and at the end."""

    def __init__(self, tree: Tree, post: Callable[[Sightings], object]) -> None:
        self._tree = tree
        self._post = post
        self._wake = threading.Event()
        self._stop = False
        self._wanted: Pattern | None = None
        self._known: Sightings | None = None
        self._seen = 0

    def look_for(self, pattern: Pattern | None) -> None:
        """Look for this one from now on; None for nothing."""
        self._wanted = pattern
        self._wake.set()

    def more(self) -> None:
        """The tree has grown."""
        self._wake.set()

    def close(self) -> None:
        """End the thread."""
        self._stop = True
        self._wake.set()

    def run(self) -> None:
        """Search whenever there is something to look for."""
        while not self._stop:
            self._wake.wait()
            self._wake.clear()
            pattern = self._wanted
            if pattern is not None and not self._stop:
                self._search(pattern)

    def _search(self, pattern: Pattern) -> None:
        digests, found = self._begin(pattern)
        total, told = sum(map(len, found.spots.values())), time.monotonic()
        try:
            for digest in digests:
                if self._stop or self._wanted is not pattern:
                    return
                spots = self._look_into(digest, pattern)
                if spots:
                    found.spots[digest] = spots
                    total += len(spots)
                    found.capped |= len(spots) == MOST_IN_BLOCK
                    if total >= MOST:
                        found.capped = True
                        break
                if time.monotonic() - told > _TELL:
                    self._post(Sightings(pattern, dict(found.spots), capped=found.capped))
                    told = time.monotonic()
        except BadPattern as error:
            found.trouble = error
        found.done = True
        self._known = found
        self._post(Sightings(pattern, dict(found.spots), True, found.capped, found.trouble))

    def _begin(self, pattern: Pattern) -> tuple[list[str], Sightings]:
        """The blocks to be looked into, and what is known of others: longer words are only where shorter ones are."""
        before, digests = self._known, list(self._tree.blocks)
        if before is not None and not before.capped and before.trouble is None:
            if before.pattern is pattern:
                seen = self._seen
                self._seen = len(digests)
                return digests[seen:], Sightings(pattern, dict(before.spots))
            if self._seen == len(digests) and _narrows(before.pattern, pattern):
                return list(before.spots), Sightings(pattern)
        self._seen = len(digests)
        return digests, Sightings(pattern)

    def _look_into(self, digest: str, pattern: Pattern) -> list[tuple[int, int]]:
        block = self._tree.blocks[digest]
        if not pattern.may_hold(block.body):
            return []
        return list(islice(pattern.spans(words_of(block)), MOST_IN_BLOCK))


def _narrows(before: Pattern, now: Pattern) -> bool:
    plain = not (before.regex or now.regex)
    return plain and before.text in now.text and (before.exact <= now.exact)
