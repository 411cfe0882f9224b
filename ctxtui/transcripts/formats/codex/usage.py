"""What a ``token_count`` event says: one call's usage, the totals, the window."""

from __future__ import annotations

from typing import Final, NamedTuple

from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit.fields import count

ESTIMATED_BY: Final = "estimated_by"
"""The member that marks a count as ctxtui's estimate: no provider reported it."""


class Counts(NamedTuple):
    """A token_count event: the `last` call's usage and the `total` of the session (None where they count nothing),
    and the `window`. A usage record (`record`) says the same of exactly one response, whose id is `response`. An
    `estimated` input (0: none) is ctxtui's own, in a session that it wrote to be resumed."""

    last: Usage | None = None
    total: Usage | None = None
    window: int = 0
    record: bool = False
    response: str = ""
    estimated: int = 0


def counts_of(info: Json) -> Counts:
    """The figures of a token_count's ``info``; input includes what was read from the cache (facts §11)."""
    if not isinstance(info, dict):
        return Counts()
    if info.get(ESTIMATED_BY):
        told = info.get("last_token_usage")
        size = count(told.get("input_tokens")) if isinstance(told, dict) else 0
        return Counts(window=count(info.get("model_context_window")), estimated=size)
    last, total = _usage(info.get("last_token_usage")), _usage(info.get("total_token_usage"))
    return Counts(last, total, count(info.get("model_context_window")))


def record_of(payload: dict[str, Json]) -> Counts:
    """The figures of a ``token_usage_record`` (facts §13)."""
    response = payload.get("response_id")
    last, total = _usage(payload.get("usage")), _usage(payload.get("thread_token_usage"))
    return Counts(last, total, record=True, response=response if isinstance(response, str) else "")


def missing(before: Usage, total: Usage, last: Usage) -> Usage | None:
    """What the totals grew by since `before` beyond the `last` call: the usage of a call without a count of its own."""
    names = ("fresh", "cache_read", "write_30m", "output", "reasoning")
    rest = {name: getattr(total, name) - getattr(before, name) - getattr(last, name) for name in names}
    if min(rest.values()) < 0 or rest["fresh"] + rest["cache_read"] == 0:
        return None
    return Usage(**rest, has_cache=total.has_cache)


def _usage(last: Json) -> Usage | None:
    if not isinstance(last, dict):
        return None
    given, read = count(last.get("input_tokens")), count(last.get("cached_input_tokens"))
    written, output = count(last.get("cache_write_input_tokens")), count(last.get("output_tokens"))
    if given + output == 0:
        return None
    return Usage(
        fresh=max(0, given - read - written),
        cache_read=read,
        write_30m=written,
        output=output,
        reasoning=count(last.get("reasoning_output_tokens")),
        has_cache="cached_input_tokens" in last,
    )
