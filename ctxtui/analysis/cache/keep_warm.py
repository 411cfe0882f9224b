"""Decides during a pause whether a cached prefix is refreshed before it expires.

The last request, sent again, reads its prefix from the cache, which renews its lifetime (facts §2). The refreshes of
one pause together may cost as much as the rewrite that they avoid.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.core.errors import Malformed
from ctxtui.transcripts.kit.resume import replace_members
from ctxtui.wire.grammar import ANTHROPIC
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request

REFRESH_MARGIN_S: Final = 20.0
"""Seconds before the expiry at which a prefix is refreshed."""
SHORTEST_LIFETIME_S: Final = 300.0
"""The shortest lifetime that a provider promises (facts §2)."""


class WarmPrefix(Struct, frozen=True, kw_only=True):
    """The cached prefix of a conversation that pauses.

    - `expires`: Unix seconds; None: nothing is cached.
    - `refresh_usd`: cost of one refresh that hits, with the longest answer; `rewrite_usd`: what the next request costs
      more once the prefix has expired. Both are list prices; None: unknown.
    - `pause_usd`: paid for refreshes in this pause.
    """

    expires: float | None
    refresh_usd: float | None
    rewrite_usd: float | None
    pause_usd: float = 0.0


class KeepWarmDecision(NamedTuple):
    """The time of the next refresh (Unix seconds), or None and the reason."""

    at: float | None
    why: str = ""


def decide(prefix: WarmPrefix, spent_usd: float, cap_usd: float) -> KeepWarmDecision:
    """Decide on the next refresh, if the refreshes of all sessions have cost `spent_usd`."""
    if prefix.expires is None:
        return KeepWarmDecision(None, "nothing is cached")
    if prefix.refresh_usd is None or prefix.rewrite_usd is None:
        return KeepWarmDecision(None, "the price is not known")
    if prefix.pause_usd + prefix.refresh_usd > prefix.rewrite_usd:
        return KeepWarmDecision(None, "it would cost more than the rewrite that it avoids")
    if spent_usd + prefix.refresh_usd > cap_usd:
        return KeepWarmDecision(None, f"the limit of ${cap_usd:g} is reached")
    return KeepWarmDecision(prefix.expires - REFRESH_MARGIN_S)


class RefreshTotals(Struct, frozen=True):
    """The number of answered refreshes, and their cost in USD at list prices."""

    count: int = 0
    usd: float = 0.0


class KeepWarmStatus(Struct, frozen=True, kw_only=True):
    """Refreshes of a run so far, with their limit `cap_usd`.

    `why` is the reason if the session is not kept warm, else "".
    """

    cap_usd: float
    usd: float = 0.0
    count: int = 0
    why: str = ""


class RefreshRequest(NamedTuple):
    """The body of a request that refreshes a prefix, and the limit of its answer."""

    body: bytes
    answer_tokens: int


def refresh_request(sent: Request) -> RefreshRequest:
    """The request `sent` with the shortest answer that its API allows, otherwise unchanged.

    A limit on the answer is no part of the prompt. The thinking is, so a thinking budget stays, and the limit must
    exceed it (facts §1). Raises `Malformed` for an API other than Anthropic's.
    """
    if sent.skeleton.dialect != ANTHROPIC:
        raise Malformed("only caches of the Messages API are kept warm")
    thinking = sent.params.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    limit = budget + 1 if isinstance(budget, int) and not isinstance(budget, bool) else 1
    return RefreshRequest(replace_members(encode(sent), {"max_tokens": b"%d" % limit}), limit)
