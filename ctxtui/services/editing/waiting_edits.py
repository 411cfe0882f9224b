"""Decides whether edits that wait for the cache's expiry or for a miss are applied now.

A chat and the relay check before each request. Waiting ends when little cached input is left to lose.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ctxtui.core.edit_log import EXPIRY, MISS
from ctxtui.services.editing.next_request import PricedRequest
from ctxtui.services.editing.overlay import ThreadEdits


def conditions_met(
    conditions: Collection[str],
    price_request: Callable[[float | None], PricedRequest | None],
    at: float,
    is_other_model: bool,
) -> frozenset[str]:
    """The `conditions` that are met if the next request is sent `at`.

    Conditions are `EXPIRY` and `MISS`, `at` is Unix seconds. All are met if nothing is known of that request, or
    nothing is cached. `price_request` prices it under the applied edits, sent at a time (None: when the last call
    ended).
    """
    waits = frozenset(conditions)
    if not waits:
        return frozenset()
    at_end = price_request(None)
    if at_end is None or not (at_end.question.continued_read or at_end.question.read_now):
        # Nothing is cached, so nothing can be lost.
        return waits
    met: set[str] = set()
    # The cached prefix has expired if nothing was readable when the last call ended, or its expiry has passed.
    expiry = at_end.question.expiry
    if not at_end.question.read or (expiry is not None and at >= expiry):
        met |= {EXPIRY, MISS}
    if MISS in waits - met:
        cached = (
            at_end.question.continued_read if at_end.question.continued_read is not None else at_end.question.read_now
        )
        now = price_request(at)
        # Half of the cached prefix or more is unreadable now: the provider evicted it, or something else changed.
        if now is None or 2 * now.question.read_now <= cached or is_other_model:
            met.add(MISS)
    return waits & met


def apply_due(overlay: ThreadEdits, met: Collection[str]) -> str:
    """Apply the edits whose condition is in `met`; return a message, "" if there are none."""
    ids = [id_ for id_, until in overlay.waiting.items() if until in met]
    if not overlay.apply(ids):
        return ""
    why = "the cache has expired" if EXPIRY in met else "the cache would be missed anyway"
    text = "1 waiting edit is sent" if len(ids) == 1 else f"{len(ids):,} waiting edits are sent"
    return f"{text} with this request: {why}"
