"""The figures of the authors (message growth, October 2025) beside those of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from examples.kit import Figure

SCHEMAS = {"filesystem": (14, 11_671), "memory": (9, 7_859), "fetch": (1, 1_640), "github": (26, 29_230)}
"""Tools of each server and bytes of their definitions, as the authors measured them: JSON indented by two."""
PROMPTS = {1: "7,328", 5: "9,024", 10: "11,500", 50: "28,500", 100: "50,000"}
"""Tokens of the prompt of a round with GitHub's tools: measured up to 5, reckoned on from there."""
METADATA = "rounds_used", "max_rounds", "final_message_count", "context_sliding_applied", "estimated_total_tokens"
SMALL = 32_768
SHOWN = "ctxtui show ID --json"
CLAIMED = {"sliding_window": "§3 (a), 002 strategy 1", "hybrid": "§3 (e), 002 strategy 5"}


def figures(
    runs: Mapping[str, Mapping[str, Any]], growth: Mapping[str, Sequence[int]], sizes: Mapping[str, Mapping[str, Any]]
) -> list[Figure]:
    """The table. `runs` are results of `ctxtui run --json` by policy, `growth` their prompts, `sizes` what
    `ctxtui mcp size` says of each server."""
    found = list(_schemas(sizes))
    plain = growth.get("plain", ())
    if plain:
        found += _growth(plain, len(sizes))
    for name, prompts in growth.items():
        if name != "plain":
            found.append(_cured(name, prompts, plain))
    for name, run in runs.items():
        found += _metadata(name, run["metadata"])
    return found


def _schemas(sizes: Mapping[str, Mapping[str, Any]]) -> Iterator[Figure]:
    for name, size in sizes.items():
        tools, bytes_ = SCHEMAS[name]
        yield Figure(
            f"schemas of {name}",
            f"{tools} tools, {bytes_ // 4:,}",
            f"{len(size['tools'])} tools, {size['tokens']:,}; {_largest(size['tools'])}",
            f"theirs are {bytes_:,} bytes of indented JSON / 4; a model reads it minified",
            f"ctxtui mcp size examples/bridge/tools/{name}.json --model offline",
            "§3 loop, 002",
            "plain",
        )


def _largest(tools: Sequence[Mapping[str, Any]]) -> str:
    """The tools that cost most."""
    found = sorted(tools, key=lambda one: -int(one["tokens"]))[:3]
    return ", ".join(f"{one['name'].rpartition('__')[2]} {one['tokens']}" for one in found)


def _growth(plain: Sequence[int], servers: int) -> Iterator[Figure]:
    for number, theirs in PROMPTS.items():
        if number <= len(plain):
            why = f"tools of {servers} servers here, of GitHub alone there" if servers > 1 else "other results"
            yield Figure(
                f"prompt of round {number}", theirs, f"{plain[number - 1]:,}", why, SHOWN, "§3 loop, 002", "plain"
            )
    steps = [after - before for before, after in pairwise(plain)]
    if not steps:
        return
    mean = sum(steps) / len(steps)
    yield Figure(
        "growth a round",
        "424",
        f"{mean:,.0f}",
        "theirs is simulated: 3 messages of one size; here a call and what its tool returned",
        "ctxtui growth ID",
        "§3 loop, 002",
        "plain",
    )
    second = steps[len(steps) // 2 :]
    first = steps[: len(steps) // 2]
    bend = (sum(second) / len(second)) / (sum(first) / len(first)) if first else 1.0
    yield Figure(
        "kind of growth",
        '"exponential"',
        f"x{bend:.2f}",
        "growth of the second half over the first: 1 is a line",
        "ctxtui growth ID",
        "§3 (linear), 002",
        "plain",
    )
    yield Figure(
        "sent in all rounds",
        "not told",
        f"{sum(plain):,}",
        "this is what grows by the square",
        "ctxtui growth ID",
        "§3 (quadratic)",
        "plain",
    )
    over = next((n for n, tokens in enumerate(plain, 1) if tokens > SMALL), 0)
    told = f"round {over}" if over else "never"
    yield Figure(
        "over a window of 32k at",
        "risk, by 100",
        told,
        "their growth gets there in round 61",
        SHOWN,
        "§3 loop, 002",
        "plain",
    )


def _cured(name: str, prompts: Sequence[int], plain: Sequence[int]) -> Figure:
    less = f", {100 - 100 * prompts[-1] / plain[-1]:.0f} % less" if plain and len(plain) == len(prompts) else ""
    why = "mostly schemas, which no window takes away" if name in ("sliding_window", "hybrid") else ""
    theirs = "11,500, 77 % less" if name in ("sliding_window", "hybrid") else "not told"
    return Figure(
        f"last prompt, {name.replace('_', ' ')}",
        theirs,
        f"{prompts[-1]:,}{less}",
        why,
        "ctxtui growth ID",
        CLAIMED.get(name, "§3 cures, 002"),
        name,
    )


def _metadata(name: str, metadata: Mapping[str, Any]) -> Iterator[Figure]:
    told, claimed = " ".join(str(metadata[key]) for key in METADATA), "N29, §3 (g), 002"
    rounds = f"{metadata['rounds_used']} calls"
    yield Figure(f"rounds_used, {name}", "100", rounds, "a member of the metadata", "ctxtui growth ID", claimed, name)
    yield Figure(
        f"metadata, {name.replace('_', ' ')}",
        "5 members",
        told,
        " ".join(METADATA),
        "ctxtui show ID",
        claimed,
        name,
    )
