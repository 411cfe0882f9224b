"""Terms: what besides model, time and tokens decides the price of a call, as the record of the call tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ctxtui.core.canonical import Json


class Terms(NamedTuple):
    """How a call was bought. `batch`: as part of a batch; `tier`: OpenAI's service tier where it is not the default
    (``flex``, ``priority``, ``fast``); `fast`: Anthropic's fast mode; `us`: inference in the US only."""

    batch: bool = False
    tier: str = ""
    fast: bool = False
    us: bool = False

    @property
    def context(self) -> dict[str, str]:
        """As the price library asks for it (facts §7)."""
        named = {"processing": "batch" if self.batch else "", "service_tier": self.tier}
        return {key: value for key, value in {**named, "speed": "fast" if self.fast else ""}.items() if value}


STANDARD: Final = Terms()
_TIERS: Final = frozenset({"flex", "priority", "fast"})


def terms_of(extra: Mapping[str, Json]) -> Terms:
    """The terms in what a call's record says beyond its usage (`Call.extra`); standard ones where it says nothing."""
    usage = extra.get("usage")
    said = {**usage, **extra} if isinstance(usage, Mapping) else extra
    tier = said.get("service_tier")
    return Terms(
        batch=tier == "batch" or said.get("processing") == "batch",
        tier=tier if isinstance(tier, str) and tier in _TIERS else "",
        fast=said.get("speed") == "fast",
        us=said.get("inference_geo") == "us",
    )


_MOST: Final = 1 << 53
"""No figure is as large."""


def searches_of(extra: Mapping[str, Json]) -> int:
    """Web searches that the provider made for the call and bills one by one."""
    usage = extra.get("usage")
    used = extra.get("server_tool_use") or (usage.get("server_tool_use") if isinstance(usage, Mapping) else None)
    count = used.get("web_search_requests") if isinstance(used, Mapping) else None
    return count if isinstance(count, int) and 0 < count < _MOST else 0
