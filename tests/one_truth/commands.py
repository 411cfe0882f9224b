"""What the commands say of a session: every figure of their JSON that stands elsewhere too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.faults.fuzzing import ran
from tests.one_truth.figures import COUNT, SIGNED, TOKENS, USD, Reading
from tests.one_truth.screens import (
    AGAIN,
    CALLS,
    COST,
    LOST,
    MAIN_CALLS,
    MAIN_COST,
    MAIN_MISSES,
    MISSES,
    NOW,
    SENT,
    heaviest,
)


def said(*arguments: str) -> Any:
    """What a command prints as JSON."""
    ended = ran([*arguments, "--json"])
    assert ended.code in (0, 8), f"{' '.join(arguments)}: exit code {ended.code}: {ended.err}"
    return json.loads(ended.out)


def readings(path: Path) -> Iterator[Reading]:
    """Every reading of the commands."""
    name = str(path)
    show, cost, why, cache = (said(command, name) for command in ("show", "cost", "why", "cache"))
    yield Reading(CALLS, COUNT, "cost", cost["calls"])
    yield Reading(CALLS, COUNT, "why", why["calls"])
    yield Reading(CALLS, COUNT, "show", show["session"]["calls"])
    in_part = cost["partial_calls"] > 0
    lacks, main_lacks = (one["unpriced_calls"] + one["partial_calls"] > 0 for one in (cost, cost["totals"]["main"]))
    yield Reading(COST, USD, "cost", cost["total_usd"], partial=lacks)
    yield Reading("calls without a price", COUNT, "cost", cost["unpriced_calls"])
    yield Reading("calls without a price", COUNT, "why", sum(why["unpriced_calls"].values()))
    yield Reading("calls without a price", COUNT, "cache", cache["unpriced_calls"])
    for place, one in (("cost", cost), ("why", why), ("cache", cache)):
        yield Reading("answers in part", COUNT, place, one["partial_calls"])
    yield Reading(COST, USD, "why", why["total_usd"])
    yield Reading(COST, USD, "cache", cache["cost_usd"])
    if why["total_usd"] is not None and not any(why["unpriced_calls"].values()):
        yield Reading(COST, USD, "why.threads", sum(why["threads"].values()))
        yield Reading(COST, USD, "why.parts", sum(part["usd"] for part in why["parts"]))
        if "main" in why["threads"]:
            yield Reading(MAIN_COST, USD, "why", why["threads"]["main"])
    main = cost["totals"]["main"]
    yield Reading(MAIN_COST, USD, "cost", main["cost_usd_at_least"], partial=main_lacks)
    yield Reading(NOW, TOKENS, "show", show["context_tokens"])
    if show["growth"]:
        yield Reading(NOW, TOKENS, "show.growth", show["growth"][-1]["context_tokens"])
        yield Reading(MAIN_CALLS, COUNT, "show", len(show["growth"]))
    yield Reading(MISSES, COUNT, "cache", len(cache["misses"]))
    yield Reading(MISSES, COUNT, "why", len(why["rewrites"]))
    yield Reading(AGAIN, TOKENS, "cache", cache["written_again_tokens"])
    yield Reading(AGAIN, TOKENS, "cache.misses", _sum(cache["misses"], "written_again_tokens"))
    yield Reading(AGAIN, TOKENS, "why", _sum(why["rewrites"], "tokens"))
    if why["parts"]:
        yield Reading(AGAIN, TOKENS, "why.parts", _part(why, "rewrites")["tokens"])
    here = [one for one in cache["misses"] if one["thread"] == "main"]
    yield Reading(MAIN_MISSES, COUNT, "cache", len(here))
    yield Reading(MAIN_MISSES, COUNT, "why", sum(one["thread"] == "main" for one in why["rewrites"]))
    yield from heaviest(ran(["show", name, "--heaviest"]).out, "show --heaviest")
    lost = any(one["lost_usd"] is None for one in cache["misses"])
    yield Reading(LOST, USD, "cache", cache["lost_usd"], partial=lost)
    yield Reading(SENT, TOKENS, "cost", cost["tokens"], partial=in_part)
    yield Reading(NOW, TOKENS, "preflight", said("preflight", name)["context_tokens"])
    grown, report = said("growth", name), said("report", name)["sessions"][0]
    if show["growth"]:
        yield Reading(NOW, TOKENS, "growth", grown["calls"][-1]["context_tokens"])
        yield Reading(MAIN_CALLS, COUNT, "growth", len(grown["calls"]))
    yield Reading(COST, USD, "report", report["cost_usd_at_least"], partial=lacks)
    checked = said("check", name, "--max-context", "999M")["files"][0]["figures"]
    yield Reading(CALLS, COUNT, "check", checked["calls"])
    yield Reading(MISSES, COUNT, "check", checked["rewrites"])
    yield Reading(COST, USD, "check", checked["cost_usd_at_least"])
    yield Reading("residual", SIGNED, "show", show["residual"])
    for category, tokens in show["categories"].items():
        if tokens:
            yield Reading(f"context: {category.replace('_', ' ')}", TOKENS, "show", tokens)


def _sum(rows: list[dict[str, Any]], name: str) -> int:
    return sum(row[name] or 0 for row in rows)


def _part(why: dict[str, Any], name: str) -> dict[str, Any]:
    return next((one for one in why["parts"] if one["name"] == name), {"usd": 0.0, "tokens": 0})
