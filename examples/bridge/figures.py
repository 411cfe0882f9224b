"""Our figures beside the claims of the authors (``claims.md``): of the schemas, the runs, their strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from examples.kit import Figure, Ours, asked, claims

HERE = Path(__file__).resolve().parent
SAMPLE = str(HERE.parents[1] / "sessions/3-lm-studio-bridge.jsonl")
"""The loop as the authors printed it: one server's tools a thread."""
METADATA = "rounds_used", "max_rounds", "final_message_count", "context_sliding_applied", "estimated_total_tokens"
SMALL = 32_768
ROUNDS = (5, 10, 50, 100)
STRATEGIES = {
    "sliding window": "1, sliding window (N = 10)",
    "truncated results": "2, results of 1,000 characters",
    "small schemas": "3, smaller schemas",
    "a summary every ten rounds": "4, a summary every 10 rounds",
    "hybrid": "5, hybrid",
    "sliding_window": "window of 3",
    "drop_unused_tools": "tools that nothing has called, left out",
}
"""Policies by the names that ``ctxtui lab`` has for them: the authors' five, and two more."""
EDGES = {
    "window_of_3": "a window of 3 messages, run",
    "huge_result_cut": "a result of 6,000 lines, cut at 2,000 characters",
    "huge_result_whole": "a result of 6,000 lines in a window of 32k, not cut",
}
Run = Mapping[str, Any]


def figures(
    runs: Mapping[str, Run], growth: Mapping[str, Sequence[int]], sizes: Mapping[str, Run], lab: Sequence[Run]
) -> list[Figure]:
    """The rows that there is a figure for. `runs`: what ``ctxtui run`` printed; `growth`: prompts of a run; `sizes`:
    what ``ctxtui mcp size`` says of a server; `lab`: the run without a cure under each strategy. Raises `Failed`."""
    ours: dict[str, Ours] = {f"schemas of {name}": schemas(size) for name, size in sizes.items()}
    plain = growth.get("plain", ())
    if plain:
        ours |= growing(plain)
    for name, prompts in growth.items():
        metadata, label = runs[name]["metadata"], name.replace("_", " ")
        if name != "plain":
            less = f", {100 - 100 * prompts[-1] / plain[-1]:.0f} % less" if len(plain) == len(prompts) else ""
            ours[f"last prompt, {label}"] = f"{prompts[-1]:,}{less}"
        ours[f"rounds_used, {name}"] = f"{metadata['rounds_used']} calls"
        ours[f"metadata, {label}"] = " ".join(str(metadata[key]) for key in METADATA)
    for one in lab:
        if one["policy"] in STRATEGIES:
            ours |= strategy(one, plain, growth)
    ours |= {claim: ended(runs[name]["metadata"]) for name, claim in EDGES.items() if name in runs}
    return claims(HERE / "claims.md", ours | recorded())


def schemas(size: Run) -> str:
    """How many tools a server has, their tokens, and those that cost most."""
    largest = sorted(size["tools"], key=lambda one: -int(one["tokens"]))[:3]
    named = ", ".join(f"{one['name'].rpartition('__')[2]} {one['tokens']}" for one in largest)
    return f"{len(size['tools'])} tools, {size['tokens']:,}; {named}"


def growing(plain: Sequence[int]) -> dict[str, Ours]:
    """How the prompts of the run without a cure grow."""
    ours: dict[str, Ours] = {f"prompt of round {n}": f"{plain[n - 1]:,}" for n in (1, *ROUNDS) if n <= len(plain)}
    ours["sent in all rounds"] = f"{sum(plain):,}"
    over = next((n for n, tokens in enumerate(plain, 1) if tokens > SMALL), 0)
    ours["over a window of 32k at"] = f"round {over}" if over else "never"
    if steps := [after - before for before, after in pairwise(plain)]:
        ours["growth a round"] = f"{mean(steps):,.0f}"
    if len(steps) > 1:
        half = len(steps) // 2
        ours["kind of growth"] = f"x{mean(steps[half:]) / mean(steps[:half]):.2f}"
    return ours


def strategy(one: Run, plain: Sequence[int], growth: Mapping[str, Sequence[int]]) -> dict[str, Ours]:
    """A strategy's prompts at four rounds; of the hybrid also where the run under it ended."""
    claim, prompts = f"rounds 5, 10, 50, 100: {STRATEGIES[one['policy']]}", one["contexts"]
    at = [n for n in ROUNDS if n <= len(prompts)]
    shown = " ".join(f"{prompts[n - 1]:,}" for n in at)
    if at:
        shown += f", {100 - 100 * prompts[at[-1] - 1] / plain[at[-1] - 1]:.0f} % less in the last"
    ours: dict[str, Ours] = {claim: shown}
    if one["policy"] == "hybrid" and "hybrid" in growth:
        ours[claim] = shown, f"window and cut results; the run itself ended at {growth['hybrid'][-1]:,}"
    if one["summaries"]["count"]:
        summaries = f"{one['summaries']['count']} summaries of {one['summaries']['tokens']:,} tokens"
        ours[claim] = shown, f"drawn from the record: no call more; {summaries}"
    if one["policy"] == "sliding window" and len(plain) >= 20:
        window = f"with the window {min(prompts[5:20]):,} to {max(prompts[5:20]):,}"
        ours["their test plan: rounds 5 to 20"] = f"{plain[4]:,} to {plain[19]:,}; {window}"
    return ours


def ended(metadata: Run) -> str:
    """How a run ended."""
    words = f"{metadata['outcome']} after {metadata['rounds_used']} rounds, {metadata['final_message_count']} messages"
    return f"{words}, {metadata['estimated_total_tokens']:,} tokens"


def recorded() -> dict[str, Ours]:
    """What holds on the sample, counted as its authors did."""
    github, memory = (prompts_of(SAMPLE, HERE, "--thread", thread) for thread in ("main", "memory"))
    return {
        "GitHub alone, rounds 1 to 5": " ".join(f"{tokens:,}" for tokens in github[:5]),
        "memory alone, rounds 1 to 5": " ".join(f"{tokens:,}" for tokens in memory[:5]),
        "GitHub alone, sent in 100 rounds": f"{sum(github):,}",
    }


def prompts_of(session: str, folder: Path, *options: str) -> list[int]:
    """The tokens of each prompt of a session, as its provider reported them."""
    return [int(call["reported_input"]) for call in asked("show", session, *options, cwd=folder)["growth"]]
