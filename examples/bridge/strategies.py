"""Rows of the authors' five strategies, of edge cases, and of one server's tools alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from examples.bridge.edges import LINES, told
from examples.kit import Figure, asked

HERE = Path(__file__).resolve().parent
RECORDED = "sessions/3-lm-studio-bridge.jsonl"
ROUNDS = (5, 10, 50, 100)
SAID = {
    "sliding window": (
        "1, sliding window (N = 10)",
        "9,024 11,500 11,500 11,500",
        "(a)",
        "four fifths of it are schemas",
    ),
    "truncated results": ("2, results of 1,000 characters", "", "(b)", "growth stays a line, a flatter one"),
    "small schemas": ("3, smaller schemas", "", "(c)", "once less, the growth stays"),
    "a summary every ten rounds": ("4, a summary every 10 rounds", "", "(d)", "drawn from the record: no call more"),
    "hybrid": ("5, hybrid", "best", "(e)", "window and cut results"),
    "sliding_window": ("window of 3", "edge case", "Test 3", "the newest call is never parted from its result"),
    "drop_unused_tools": ("tools that nothing has called, left out", "", "(c)", "a cure for the constant part alone"),
}

TRIED = {
    "sliding window": "examples/bridge/policies/sliding_window.toml",
    "truncated results": "examples/bridge/policies/truncated.toml",
    "small schemas": "examples/bridge/policies/small_schemas.toml",
    "a summary every ten rounds": "examples/bridge/policies/summaries.toml",
    "hybrid": "examples/bridge/policies/hybrid.toml",
    "sliding_window": "'sliding_window n=2 keep_first=1 slack=0'",
    "drop_unused_tools": "drop_unused_tools",
}
"""What each is called on the command line."""


def strategies(variants: Sequence[Mapping[str, Any]], growth: Mapping[str, Sequence[int]]) -> Iterator[Figure]:
    """Each strategy's prompts at four rounds, by ``ctxtui lab``; where it was run as well, whether that agrees."""
    plain = next(one["contexts"] for one in variants if one["policy"] == "as_recorded")
    for one in variants:
        if one["policy"] not in SAID:
            continue
        what, theirs, where, why = SAID[one["policy"]]
        prompts = one["contexts"]
        at = [n for n in ROUNDS if n <= len(prompts)]
        ours = " ".join(f"{prompts[n - 1]:,}" for n in at)
        if at:
            ours += f", {100 - 100 * prompts[at[-1] - 1] / plain[at[-1] - 1]:.0f} % less in the last"
        run = growth.get(one["policy"].replace(" ", "_"))
        if run:
            why += f"; the run itself ended at {run[-1]:,}"
        summaries = one["summaries"]
        if summaries["count"]:
            why += f"; {summaries['count']} summaries of {summaries['tokens']:,} tokens"
        command = f"ctxtui lab ID --policy {TRIED[one['policy']]}"
        yield Figure(f"rounds 5, 10, 50, 100: {what}", theirs, ours, why, command, f"§3 {where}", "plain")
    if len(plain) >= 20:
        window = next(one["contexts"] for one in variants if one["policy"] == "sliding window")
        ours = f"{plain[4]:,} to {plain[19]:,}; with the window {min(window[5:20]):,} to {max(window[5:20]):,}"
        why = "from round 6 on it stays, as they expected; both do the task, as the answers are scripted"
        yield Figure("their test plan: rounds 5 to 20", "plateau", ours, why, "ctxtui growth ID", "N26", "plain")


def edge_cases(runs: Mapping[str, Mapping[str, Any]]) -> Iterator[Figure]:
    """Their third test, really run."""
    lines = f"a result of {LINES:,} lines"
    whys = {
        "window_of_3": (
            "a window of 3 messages, run",
            "three are too few for a call and its result: the window is widened, a pair is never split",
            "N28, §3 (a), 002 test 3",
        ),
        "huge_result_cut": (
            f"{lines}, cut at 2,000 characters",
            "first and last half, and a line that says how much went",
            "§3 (b), 002 test 3",
        ),
        "huge_result_whole": (
            f"{lines} in a window of 32k, not cut",
            "no result is longer than 60,000 characters, whatever is allowed: the line that cuts it tells how to ask",
            "§3 (b), 002 test 3",
        ),
    }
    for name, run in runs.items():
        what, why, where = whys[name]
        yield Figure(what, "edge case", told(run), why, "ctxtui show ID", where, name)


def recorded() -> Iterator[Figure]:
    """What holds on the sample, which has the loop as they printed it: one server's tools a thread."""
    shown = {thread: _prompts(thread) for thread in ("main", "memory")}
    for thread, theirs in (("main", "7,328 7,752 8,176 8,600 9,024"), ("memory", "1,984 2,408 2,832 3,256 3,680")):
        ours = " ".join(f"{one:,}" for one in shown[thread][:5])
        name = "GitHub" if thread == "main" else "memory"
        why = "counted as they did: indented JSON / 4"
        yield Figure(
            f"{name} alone, rounds 1 to 5",
            theirs,
            ours,
            why,
            f"ctxtui show {RECORDED} --thread {thread}",
            "§3",
            RECORDED,
        )
    total = sum(shown["main"])
    why = "the prompt is a line, the total its square"
    yield Figure(
        "GitHub alone, sent in 100 rounds", "not told", f"{total:,}", why, f"ctxtui show {RECORDED}", "§3", RECORDED
    )


def _prompts(thread: str) -> list[int]:
    root = HERE.parents[1]
    found = asked("show", str(root / RECORDED), "--thread", thread, cwd=root)
    return [one["reported_input"] for one in found["growth"]]
