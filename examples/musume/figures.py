"""Our figures beside the claims of the authors (``claims.md``): of texts, of the runs, and of what they cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.kit import Figure, Ours, asked, claims
from examples.musume.game import Memory
from examples.musume.sample import FOUR_LINES, PRINTED

HERE = Path(__file__).resolve().parent
FRESH, OUTPUT = "input_tokens", "output_tokens"
WRITTEN, READ = "cache_creation_input_tokens", "cache_read_input_tokens"
THEIRS = {FRESH: 0.80, WRITTEN: 0.80, READ: 0.08, OUTPUT: 4.00}
"""USD a million tokens, as the authors reckoned: a write to the cache costs them nothing more."""
LIST = {FRESH: 1.00, WRITTEN: 1.25, READ: 0.10, OUTPUT: 5.00}
"""The list price of Claude Haiku 4.5."""
LEAST = 4_096
"""Tokens that Claude Haiku 4.5 caches at least."""
Log = Mapping[str, Any]


@dataclass(frozen=True)
class Played:
    """A run: the log of each turn, of which the first `compared` stand beside other runs."""

    logs: Sequence[Log]
    compared: int

    @property
    def first(self) -> Sequence[Log]:
        """The turns that every run has."""
        return self.logs[: self.compared]

    def total(self, name: str) -> int:
        """Tokens of the first turns."""
        return sum(int(log["usage"][name]) for log in self.first)


def prompt(log: Log) -> int:
    """All input tokens of a turn."""
    return sum(int(log["usage"][name]) for name in (FRESH, WRITTEN, READ))


def cost(logs: Sequence[Log], prices: Mapping[str, float]) -> float:
    """USD of turns."""
    return sum(int(log["usage"][name]) * price for log in logs for name, price in prices.items()) / 1e6


def figures(runs: Mapping[str, Played], texts: Mapping[str, Path], model: str, folder: Path) -> list[Figure]:
    """The rows that the runs in `folder` and the `texts` of a turn have a figure for. Raises `Failed`."""
    counted = asked("count", *map(str, texts.values()), "--model", model, cwd=folder)["files"]
    tokens = {name: int(one["tokens"]) for name, one in zip(texts, counted, strict=True)}
    button, turn = (texts[name].read_text(encoding="utf-8") for name in ("small_button", "small_turn"))
    ours: dict[str, Ours] = {
        "system prompt and tools": f"{tokens['system']:,} + {tokens['tools']:,}",
        "Option A of the button that they print": "the same members in this order"
        if json.dumps(json.loads(button)) == json.dumps(PRINTED)
        else button,
        "a screen of 21 buttons (priority 1)": _less(tokens, "screen"),
        "the same screen in other encodings": f"{tokens['minified_screen']:,} without blanks; by Option A "
        f"{tokens['spaced_screen']:,} with blanks, {tokens['indented_screen']:,} indented",
        "what becomes of turn_000005": "the same four lines, byte for byte"
        if turn == FOUR_LINES
        else turn.replace("\n", " / "),
        "a turn that is over (priority 2)": _less(tokens, "turn"),
        "memory files": f"{tokens['memory']:,}",
        "a write above the budget of memory": refused_write(folder),
    }
    ours |= {f"a {name} by Option A": _less(tokens, name) for name in ("button", "scrollbar", "menu")}
    for name, run in runs.items():
        ours |= inputs(name, run) | breakpoints(name, run, tokens["system"] + tokens["tools"]) | summaries(name, run)
        if (plain := runs.get("plain")) and not name.endswith("_alone") and not name.startswith("summary"):
            ours |= money(name, run, plain)
    if {"plain", "trimmed"} <= set(runs) and len(runs["plain"].first) > 10:
        saved = prompt(runs["plain"].logs[10]) - prompt(runs["trimmed"].logs[10])
        ours["saved by trimming after ten turns"] = f"{saved:,}"
    if "plain" in runs:
        log, shown = runs["plain"].logs[-1], asked("show", str(folder / "plain" / "logs"), cwd=folder)
        members = [*log["usage"], *log["composition"], "cache_hit_rate", "summarizations"]
        ours["members of logs/TURN.json"] = ", ".join(members)
        ours["the logs open as a session"] = f"{len(shown['growth'])} calls of {len(runs['plain'].logs)} files"
    return claims(HERE / "claims.md", ours)


def _less(tokens: Mapping[str, int], name: str) -> str:
    before, after = tokens[name], tokens[f"small_{name}"]
    return f"{before:,} -> {after:,}, {100 - 100 * after / before:.0f} % less"


def _said(name: str) -> str:
    return name.replace("_", " and ")


def refused_write(folder: Path) -> str:
    """What the agent is told where it would write above the budget: really tried, in a folder of its own, and put into
    a request that opens."""
    where = folder / "budget"
    where.mkdir()
    (where / "todo.md").write_text("x" * 40_000, encoding="utf-8")
    told = Memory(where, 32_000, lambda text: len(text) // 4).write("ui_knowledge.md", "y" * 100_000, new=True)
    said = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": told}]}
    (folder / "budget.json").write_text(json.dumps({"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [said]}))
    return told


def inputs(name: str, run: Played) -> dict[str, Ours]:
    """The first and the last prompt of a run; of the authors' agent that of their measured turn, too."""
    if name not in ("plain", "trimmed", "cures", "layout"):
        return {}
    prompts = [prompt(log) for log in run.first]
    ours = f"{prompts[0]:,} to {prompts[-1]:,} in {len(prompts)} turns"
    if name != "plain" or len(prompts) < 6:
        return {f"input, {name}": ours}
    sixth = f"; {prompts[5]:,} in, {run.first[5]['usage'][OUTPUT]:,} out in turn 6"
    why = "their breakdown of turn 6 has 8,000 to 10,000 of history, one turn; ours had five"
    return {"input, plain": (ours + sixth, why)}


ALONE = {
    "static_alone": "breakpoint 1, system prompt and tools, alone",
    "memory_alone": "breakpoint 2, memory files until modified, alone",
    "history_alone": "breakpoint 3, history up to message N-5, alone",
}
"""The claims of their three breakpoints, each run by itself."""


def breakpoints(name: str, run: Played, static: int) -> dict[str, Ours]:
    """What a run's breakpoints wrote and read; `static`: tokens of system prompt and tools."""
    read, written, fresh = run.total(READ), run.total(WRITTEN), run.total(FRESH)
    if name in ALONE:
        # Ten turns fill the history; the eleventh is the last that begins as the one before it.
        late = sum(log["usage"][READ] for log in run.first[11:])
        later = f"; {late:,} from turn 12 on" if name == "history_alone" and run.first[11:] else ""
        ours = f"{written:,} written, {read:,} read in {len(run.first)} turns{later}"
        why = f"{static:,} stay under the {LEAST:,} that this model caches at least; their 3,800 would, too"
        return {ALONE[name]: (ours, why) if name == "static_alone" else ours}
    if name not in ("breakpoints", "trimmed_breakpoints", "cures_breakpoints", "layout"):
        return {}
    rates: dict[str, Ours] = {f"read of all input, {_said(name)}": f"{100 * read / (read + written + fresh):.0f} %"}
    if name == "layout":
        rates["cache_read / (cache_read + uncached), layout"] = f"{100 * read / max(1, read + fresh):.0f} %"
    return rates


def summaries(name: str, run: Played) -> dict[str, Ours]:
    """When the talk was summed up, by a threshold of all input or of what is not cached."""
    if name not in ("summary", "summary_uncached"):
        return {}
    events = [
        f"turn {one['turn']}: {one['tokens_before']:,} -> {one['tokens_after']:,}"
        for one in run.first[-1]["summarizations"]
    ]
    ours = f"{'; '.join(events) or 'never'}; largest prompt {max(map(prompt, run.first)):,}"
    if name == "summary":
        return {"summed up above 40,000 of all input": ours}
    uncached = max(log["usage"][FRESH] for log in run.first)
    why = f"input_tokens leaves out what the cache read and wrote: it never passed {uncached:,}"
    return {"summed up above 40,000 of uncached input": (ours, why)}


def money(name: str, run: Played, plain: Played) -> dict[str, Ours]:
    """What a turn of a run costs by list price, and a hundred where it was played on, beside those of `plain`."""
    turn = f"${cost(run.first, LIST) / len(run.first):.4f}{_percent(run.first, plain.first)}"
    theirs = cost(run.first, THEIRS) / len(run.first)
    why = f"at their $0.80 / $4 ${theirs:.4f}; the list says $1 / $5, and $1.25 for a write"
    found: dict[str, Ours] = {f"a turn costs, {_said(name)}": (turn, why) if name in ("plain", "layout") else turn}
    if name in ("plain", "layout") and len(run.logs) >= 100:
        hundred = run.logs[:100]
        paid = f"${cost(hundred, LIST):.2f}{_percent(hundred, plain.logs[:100])}"
        found[f"100 turns cost, {name}"] = paid, f"the last prompt is {prompt(hundred[-1]):,} tokens"
    return found


def _percent(logs: Sequence[Log], plain: Sequence[Log]) -> str:
    if logs is plain or logs == plain:
        return ""
    share = 100 - 100 * cost(logs, LIST) / cost(plain, LIST)
    return f", {share:.0f} % less" if share >= 0 else f", {-share:.0f} % more"
