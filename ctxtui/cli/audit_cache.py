"""The part of `ctxtui audit` about the prompt cache: what was foretold to be read, misses, what explains them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ctxtui.analysis.cache.audit import NOT_IN_RECORD, CacheAudited, cache_bands, cache_summary
from ctxtui.cli.output import shown

Reads = Mapping[str, list[CacheAudited]]
"""Rows by file."""


def cache_fields(rows: Reads) -> dict[str, Any]:
    """The fields of ``audit --json`` about the cache; every aggregate can be worked out from ``cache_per_call``."""
    every = [row for some in rows.values() for row in some]
    return {
        "cache_read": cache_summary(every),
        "cache_band": cache_bands(every),
        "cache_misses": [_miss(name, row) for name, some in rows.items() for row in some if row.missed or row.alarm],
        "cache_per_call": [{"file": name, **asdict(row)} for name, some in rows.items() for row in some],
    }


def _miss(name: str, row: CacheAudited) -> dict[str, Any]:
    return {
        "file": name,
        "thread": row.thread,
        "call": row.call,
        "missed": row.missed,
        "foretold": row.alarm,
        "cause": row.cause,
        "evidence": row.evidence,
    }


def cache_text(rows: Reads) -> Iterator[str]:
    """Some lines per provider; every miss that nothing in the recordings explains has one, with its evidence."""
    every = [row for some in rows.values() for row in some]
    bands = cache_bands(every)
    for provider, got in cache_summary(every).items():
        missed = got["misses"]
        yield ""
        yield (
            f"cache reads, {shown(provider)}: {got['calls']} calls, {got['within_pct']:.1f} % right within "
            f"2 % of the input or 300 tokens, hit or miss {got['hit_miss_accuracy_pct']:.1f} % right"
        )
        if provider in bands:
            band = bands[provider]
            yield (
                f"  the band from floor to ceiling held {band['holds_pct']:.1f} %; "
                f"it spans {band['median_width_pct']:.0f} % of the input (median)"
            )
        yield (
            f"  {missed['reported']} misses: {missed['foreseen']} foreseen, "
            f"{missed['not_in_record']} not in the record; {missed['false_alarms']} false alarms"
        )
        for name, some in rows.items():
            mine = [row for row in some if row.provider == provider and row.missed and row.cause == NOT_IN_RECORD]
            yield from (f"  {shown(Path(name).name)} call {row.call}: {row.evidence}" for row in mine)
        if any(row.inferred for row in every if row.provider == provider):
            yield "  its markers are not recorded: the client's habit is inferred from its earlier calls"
