"""The figures of the authors (CONTEXT.md) beside those of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from examples.kit import Figure

FRESH, OUTPUT = "input_tokens", "output_tokens"
WRITTEN, READ = "cache_creation_input_tokens", "cache_read_input_tokens"


@dataclass(frozen=True)
class Sizes:
    """Tokens of texts: what is sent as it is, and under the cures."""

    system: int
    tools: int
    screen: int
    small_screen: int
    button: int
    small_button: int
    turn: int
    small_turn: int
    memory: int


@dataclass(frozen=True)
class Played:
    """A run: the log of each turn, and USD of all of them by list price."""

    logs: Sequence[Mapping[str, Any]]
    usd: float

    def total(self, name: str) -> int:
        """Tokens of all turns."""
        return sum(int(log["usage"][name]) for log in self.logs)

    @property
    def hit_rate(self) -> float:
        """What was read from the cache, of all input."""
        return self.total(READ) / max(1, self.total(FRESH) + self.total(WRITTEN) + self.total(READ))


def figures(runs: Mapping[str, Played], sizes: Sizes) -> list[Figure]:
    """The table."""
    return [*_texts(sizes), *_input(runs), *_money(runs)]


def _less(before: int, after: int) -> str:
    return f"{before:,} -> {after:,}, {100 - 100 * after / before:.0f} % less"


def _texts(sizes: Sizes) -> Iterator[Figure]:
    static = sizes.system + sizes.tools
    counted = "theirs are estimates: the button that they print is as large as ours"
    yield Figure("system prompt and tools", "2,300 + 1,500", f"{sizes.system:,} + {sizes.tools:,}", "", "ctxtui count")
    yield Figure("least that this model caches", "3,800 cached", "4,096", f"{static:,} alone are never cached")
    yield Figure("a button", "180 -> 65", _less(sizes.button, sizes.small_button), counted)
    yield Figure("a screen (priority 1)", "4,500 -> 1,600, 65 % less", _less(sizes.screen, sizes.small_screen), counted)
    why = "with all memory files"
    yield Figure(
        "a turn that is over (priority 2)", "8,500 -> 150, 98 % less", _less(sizes.turn, sizes.small_turn), why
    )
    yield Figure("memory files", "4,000 to 6,000", f"{sizes.memory:,}", "budget 32,000")


def _input(runs: Mapping[str, Played]) -> Iterator[Figure]:
    for name, run in runs.items():
        used = [sum(log["usage"][key] for key in (FRESH, WRITTEN, READ)) for log in run.logs]
        theirs = "24,479 at turn 6" if name == "plain" else ""
        sixth = f", {used[5]:,} at turn 6" if name == "plain" and len(used) > 5 else ""
        why = "their breakdown of turn 6 keeps 8,000 to 10,000 of history; whole turns are more" if sixth else ""
        ours = f"{used[0]:,} to {used[-1]:,}{sixth}"
        yield Figure(f"input of turns, {_said(name)}", theirs, ours, why, "logs/TURN.json")


def _money(runs: Mapping[str, Played]) -> Iterator[Figure]:
    whys = {
        "breakpoints": "only what stands before a screen that changes is read",
        "cures_breakpoints": "a turn that becomes four lines breaks the prefix behind it",
        "layout": "memory in front of the talk, a breakpoint where the trimmed turns end",
    }
    for name, run in runs.items():
        if name in whys:
            yield Figure(f"read from the cache, {_said(name)}", "40-60 %", f"{100 * run.hit_rate:.0f} %", whys[name])
    plain = runs.get("plain")
    for name, run in runs.items():
        turn = run.usd / max(1, len(run.logs))
        less = f", {100 - 100 * run.usd / plain.usd:.0f} % less" if plain and name != "plain" else ""
        theirs = "$0.022" if name == "plain" else "$0.006, 73 % less" if name == "layout" else ""
        why = (
            "theirs at $0.80 / $4 a million and 24,479 tokens; the list says $1 / $5, and $1.25 for a write"
            if name == "plain"
            else ""
        )
        yield Figure(f"a turn costs, {_said(name)}", theirs, f"${turn:.4f}{less}", why, "ctxtui cost turns.jsonl")
        if name in ("plain", "layout"):
            theirs = "$2.20" if name == "plain" else "$0.60"
            yield Figure(f"100 turns cost, {_said(name)}", theirs, f"${100 * turn:.2f}", "as these turns")


def _said(name: str) -> str:
    return name.replace("_", " and ")
