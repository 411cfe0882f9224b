"""The peer of the forecasts: the rule that anybody would write down first, in ten lines."""

from __future__ import annotations

from ctxtui.core.call import Call


def naive(call: Call, before: Call, new: int) -> tuple[int, int]:
    """The input of `call` and what it reads from the cache, in tokens, by the report of the call `before` it in its
    thread and the bytes that are `new` in its context: the cache holds what that call left there, unless its lifetime
    has passed or the model is another one; four bytes are a token."""
    assert before.usage is not None
    used, lasts = before.usage, float("inf")
    if used.cache_write:
        lasts = 3600.0 if used.write_1h else 300.0
    pause = (call.started or 0.0) - (before.started or 0.0)
    left = used.cache_read + used.cache_write if used.cache_write else used.input
    if call.model != before.model or pause > lasts:
        left = 0
    return used.input + used.output + new // 4, left
