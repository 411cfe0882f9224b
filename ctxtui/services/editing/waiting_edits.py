"""Edits that wait until the cache has expired or a request misses it anyway: whether their time has come. A chat and
the relay ask before each request; both ask the same simulated cache as the price tag."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ctxtui.core.edit_log import EXPIRY, MISS
from ctxtui.services.editing.next_request import Next
from ctxtui.services.editing.overlay import ThreadEdits


def due(wanted: Collection[str], ask: Callable[[float | None], Next | None], at: float, other: bool) -> frozenset[str]:
    """What has come of what edits wait for (`wanted`: `edit_log.EXPIRY`, `edit_log.MISS`), if the next request is sent
    `at` that time (Unix seconds). `ask` gives that request under the applied edits, sent at a time (None: when the last
    call had ended); `other` says that it goes to another model. For a worker thread."""
    waits = frozenset(wanted)
    if not waits:
        return frozenset()
    left = ask(None)
    if left is None or not (left.asked.kept or left.asked.read_now):
        # Nothing is cached: nothing is lost.
        return waits
    found: set[str] = set()
    expiry = left.asked.expiry
    if not left.asked.read or (expiry is not None and at >= expiry):
        found |= {EXPIRY, MISS}
    if MISS in waits - found:
        kept = left.asked.kept if left.asked.kept is not None else left.asked.read_now
        now = ask(at)
        if now is None or 2 * now.asked.read_now <= kept or other:
            found.add(MISS)
    return waits & found


def released(overlay: ThreadEdits, come: Collection[str]) -> str:
    """Apply the edits that waited for what has `come`; says how many, and why ("" where none did)."""
    ids = [id_ for id_, until in overlay.waiting.items() if until in come]
    if not overlay.apply(ids):
        return ""
    why = "the cache has expired" if EXPIRY in come else "the cache would be missed anyway"
    told = "1 edit that waited leaves" if len(ids) == 1 else f"{len(ids):,} edits that waited leave"
    return f"{told} with this request: {why}"
