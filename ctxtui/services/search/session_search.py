"""Searches an open session in a background thread, block by block."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import islice
from typing import Final

from msgspec import Struct, field

from ctxtui.analysis.content.search import searchable_text
from ctxtui.core.errors import BadPattern
from ctxtui.core.tree import Tree
from ctxtui.services.search.pattern import Pattern

MAX_BLOCK_HITS: Final = 2000
MAX_HITS: Final = 20_000
_REPORT_INTERVAL: Final = 0.3


class SessionHits(Struct):
    """The hits for `pattern` so far.

    - `spans`: positions in each block, by digest.
    - `done`: the search has ended, also by its limits or the `error`.
    - `capped`: there may be more hits than are kept.
    """

    pattern: Pattern
    spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    done: bool = False
    capped: bool = False
    error: BadPattern | None = None


class SessionSearcher:
    """Searches the blocks of `tree`, which may grow, for the latest pattern.

    `run` is for a background thread. `post` receives the hits from time to time, and at the end.
    """

    def __init__(self, tree: Tree, post: Callable[[SessionHits], object]) -> None:
        self._tree = tree
        self._post = post
        self._wake = threading.Event()
        self._stop = False
        self._pattern: Pattern | None = None
        self._last_hits: SessionHits | None = None
        self._searched_count = 0

    def search_for(self, pattern: Pattern | None) -> None:
        """Search for `pattern` from now on, instead of the last one; None stops the search."""
        self._pattern = pattern
        self._wake.set()

    def notify_blocks_added(self) -> None:
        self._wake.set()

    def close(self) -> None:
        self._stop = True
        self._wake.set()

    def run(self) -> None:
        """Search whenever there is a pattern, until closed."""
        while not self._stop:
            self._wake.wait()
            self._wake.clear()
            pattern = self._pattern
            if pattern is not None and not self._stop:
                self._search(pattern)

    def _search(self, pattern: Pattern) -> None:
        blocks = list(self._tree.blocks)
        digests, hits = self._begin_search(pattern, blocks)
        total, reported_at = sum(map(len, hits.spans.values())), time.monotonic()
        try:
            for digest in digests:
                if self._stop or self._pattern is not pattern:
                    return
                spans = self._search_block(digest, pattern)
                if spans:
                    hits.spans[digest] = spans
                    total += len(spans)
                    hits.capped |= len(spans) == MAX_BLOCK_HITS
                    if total >= MAX_HITS:
                        hits.capped = True
                        break
                if time.monotonic() - reported_at > _REPORT_INTERVAL:
                    self._post(SessionHits(pattern, dict(hits.spans), capped=hits.capped))
                    reported_at = time.monotonic()
        except BadPattern as error:
            hits.error = error
        hits.done = True
        self._last_hits, self._searched_count = hits, len(blocks)
        self._post(SessionHits(pattern, dict(hits.spans), True, hits.capped, hits.error))

    def _begin_search(self, pattern: Pattern, blocks: list[str]) -> tuple[list[str], SessionHits]:
        """The `blocks` to search, and hits to start from.

        For a longer text, only the blocks with the shorter one are searched.
        """
        before = self._last_hits
        if before is not None and not before.capped and before.error is None:
            if before.pattern is pattern:
                return blocks[self._searched_count :], SessionHits(pattern, dict(before.spans))
            if self._searched_count == len(blocks) and _is_narrower(before.pattern, pattern):
                return list(before.spans), SessionHits(pattern)
        return blocks, SessionHits(pattern)

    def _search_block(self, digest: str, pattern: Pattern) -> list[tuple[int, int]]:
        block = self._tree.blocks[digest]
        if not pattern.may_match(block.body):
            return []
        return list(islice(pattern.spans(searchable_text(block)), MAX_BLOCK_HITS))


def _is_narrower(before: Pattern, now: Pattern) -> bool:
    """Whether every hit of `now` contains a hit of `before`."""
    plain = not (before.regex or now.regex)
    return plain and before.text in now.text and (before.exact <= now.exact)
