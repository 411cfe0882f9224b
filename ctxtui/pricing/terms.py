"""Terms of a call: what decides its price besides model, time and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count


class Terms(NamedTuple):
    """Terms on which a call was bought.

    - `tier`: a service tier with a price of its own (``flex``, ``priority`` ...).
    - `fast`: Anthropic's fast mode.
    - `us`: inference in the US only; `elsewhere`: in a region without a published price.
    """

    batch: bool = False
    tier: str = ""
    fast: bool = False
    us: bool = False
    elsewhere: bool = False

    @property
    def context(self) -> dict[str, str]:
        """The terms in the price library's form (facts §7)."""
        named = {
            "processing": "batch" if self.batch else "",
            "service_tier": self.tier,
            "speed": "fast" if self.fast else "",
        }
        return {key: value for key, value in named.items() if value}


STANDARD: Final = Terms()
FLEX: Final = "flex"
"""OpenAI's slow tier, priced like a batch."""
_USUAL_TIERS: Final = frozenset({"", "batch", "auto", "default", "standard", "standard_only", "on_demand"})
_PRICED_REGIONS: Final = frozenset({"", "us", "global", "not_available"})


def read_terms(extra: Mapping[str, Json]) -> Terms:
    """Read the terms from `Call.extra`."""
    report = merge_report(extra)
    tier, place = _lower_text(report.get("service_tier")), _lower_text(report.get("inference_geo"))
    return Terms(
        batch=tier == "batch" or report.get("processing") == "batch",
        tier="" if tier in _USUAL_TIERS else tier,
        fast=report.get("speed") == "fast",
        us=place == "us",
        elsewhere=place not in _PRICED_REGIONS,
    )


def _lower_text(value: Json) -> str:
    return value.lower() if isinstance(value, str) else ""


def count_searches(extra: Mapping[str, Json]) -> int:
    """Count the web searches that the provider made for the call and bills one by one."""
    report = merge_report(extra)
    for place, name in (("server_tool_use", "web_search_requests"), ("tool_usage", "web_search")):
        usage = report.get(place)
        count = usage.get(name) if isinstance(usage, dict) else None
        searches = as_count(count.get("num_requests") if isinstance(count, dict) else count)
        if searches:
            return searches
    return 0


def merge_report(extra: Mapping[str, Json]) -> Mapping[str, Json]:
    """Merge the report in `extra` with the answer around it, which takes precedence."""
    usage = extra.get("usage")
    return {**usage, **extra} if isinstance(usage, dict) else extra
