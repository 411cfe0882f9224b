"""The figures of the authors (CONTEXT.md) beside those of the runs: texts, input of turns, breakpoints, summaries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from examples.kit import Figure, asked
from examples.musume.game import Memory
from examples.musume.money import money
from examples.musume.played import FRESH, READ, WRITTEN, Played
from examples.musume.sample import FOUR_LINES, PRINTED

LEAST = 4_096
"""Tokens that Claude Haiku 4.5 caches at least."""


@dataclass(frozen=True)
class Sizes:
    """Tokens of texts, by name: what is sent as it is, and under the cures; and two of these texts."""

    tokens: Mapping[str, int]
    small_button: str
    small_turn: str


def figures(runs: Mapping[str, Played], sizes: Sizes, folder: Path) -> list[Figure]:
    """The table; `folder` is where the runs lie."""
    return [
        *_texts(sizes),
        *_input(runs),
        *_breakpoints(runs, sizes.tokens),
        *_summaries(runs),
        *_logs(runs, folder),
        _memory(folder),
        *money(runs),
    ]


def _less(before: int, after: int) -> str:
    return f"{before:,} -> {after:,}, {100 - 100 * after / before:.0f} % less"


def _texts(sizes: Sizes) -> Iterator[Figure]:
    n, counted = sizes.tokens, "theirs are estimates: what they print is no larger than ours"
    told = f"{n['system']:,} + {n['tools']:,}"
    command = _count("system", "tools")
    yield Figure("system prompt and tools", "2,300 + 1,500", told, "ours say the same in fewer words", command)
    same = json.loads(sizes.small_button) == PRINTED and [*json.loads(sizes.small_button)] == [*PRINTED]
    ours = "the same members in this order" if same else sizes.small_button
    why = "but for the blanks, which cost tokens and say nothing"
    yield Figure(
        "Option A of the button that they print", json.dumps(PRINTED), ours, why, _count("small_button"), "N15"
    )
    for name, theirs in (
        ("button", "180 -> 65"),
        ("scrollbar", "100 -> no figure"),
        ("menu", "300 to 500 -> no figure"),
    ):
        ours = _less(n[name], n[f"small_{name}"])
        yield Figure(f"a {name} by Option A", theirs, ours, counted, _count(name, f"small_{name}"), "N15, §2 (a)")
    ours = _less(n["screen"], n["small_screen"])
    yield Figure(
        "a screen of 21 buttons (priority 1)",
        "4,500 -> 1,600, 65 % less",
        ours,
        counted,
        _count("screen", "small_screen"),
        "N15, §2 (a)",
    )
    small = f"by Option A {n['spaced_screen']:,} with blanks, {n['indented_screen']:,} indented"
    ours = f"{n['minified_screen']:,} without blanks; {small}"
    why = "half of what Option A saves are blanks; other encodings (msgpack) are no text"
    command = _count("minified_screen", "spaced_screen", "indented_screen")
    yield Figure("the same screen in other encodings", "to investigate", ours, why, command, "N21")
    same = sizes.small_turn == FOUR_LINES
    ours = "the same four lines, byte for byte" if same else sizes.small_turn.replace("\n", " / ")
    yield Figure("what becomes of turn_000005", "four lines", ours, "", _count("small_turn"), "N16")
    ours = _less(n["turn"], n["small_turn"])
    yield Figure(
        "a turn that is over (priority 2)",
        "8,500 -> 150, 98 % less",
        ours,
        "with all memory files",
        _count("turn", "small_turn"),
        "N16, §2 (b)",
    )
    yield Figure("memory files", "4,000 to 6,000", f"{n['memory']:,}", "of a budget of 32,000", _count("memory"))


def _count(*names: str) -> str:
    files = " ".join(f"HERE/texts/{name}.txt" for name in names)
    return f"ctxtui count {files} --model claude-haiku-4-5"


def _input(runs: Mapping[str, Played]) -> Iterator[Figure]:
    for name in ("plain", "trimmed", "cures", "layout"):
        run = runs.get(name)
        if run is None:
            continue
        used = [run.used(log) for log in run.first]
        at = {"plain": "24,479 in, 595 out in turn 6"}.get(name, "")
        sixth = (
            f"; {used[5]:,} in, {run.first[5]['usage']['output_tokens']:,} out in turn 6"
            if at and len(used) > 5
            else ""
        )
        why = "their breakdown of turn 6 has 8,000 to 10,000 of history, one turn; ours had five" if sixth else ""
        ours = f"{used[0]:,} to {used[-1]:,} in {len(used)} turns{sixth}"
        yield Figure(f"input, {_said(name)}", at, ours, why, "ctxtui growth ID", "", name)
    plain, trimmed = runs.get("plain"), runs.get("trimmed")
    if plain and trimmed and len(plain.first) > 10:
        saved = plain.used(plain.first[10]) - trimmed.used(trimmed.first[10])
        why = "nine turns are in the history of 20 messages, and each is shorter than theirs"
        yield Figure(
            "saved by trimming after ten turns", "83,500", f"{saved:,}", why, "ctxtui growth ID", "§2 (b)", "trimmed"
        )


ALONE = {
    "static_alone": (
        "1, system prompt and tools",
        "3,800 a turn",
        "{static:,} stay under the {least:,} that this model caches at least; their 3,800 would, too",
    ),
    "memory_alone": (
        "2, memory files until modified",
        "0 to 32,000 a turn",
        "they stand behind a screen that is another one each turn: what is written is never found again",
    ),
    "history_alone": (
        "3, history up to message N-5",
        "4,000 to 8,000 a turn",
        "read until the history of 20 messages is full; from then on its beginning changes every turn",
    ),
}
"""What each of their breakpoints is to save, and why it does not."""


def _breakpoints(runs: Mapping[str, Played], tokens: Mapping[str, int]) -> Iterator[Figure]:
    static = tokens["system"] + tokens["tools"]
    command = "ctxtui cache ID"
    for name, (what, theirs, why) in ALONE.items():
        if name in runs:
            run = runs[name]
            # Ten turns fill the history; the eleventh is the last that begins as the one before it.
            late = sum(log["usage"][READ] for log in run.first[11:])
            later = f"; {late:,} from turn 12 on" if name == "history_alone" and run.first[11:] else ""
            ours = f"{run.total(WRITTEN):,} written, {run.total(READ):,} read in {len(run.first)} turns{later}"
            said = why.format(static=static, least=LEAST)
            yield Figure(f"breakpoint {what}, alone", theirs, ours, said, command, "N17, §2 (c)", name)
    whys = {
        "breakpoints": "the third alone is read, and the second is paid for",
        "trimmed_breakpoints": "a turn that becomes four lines is another prefix: what was written is not read",
        "cures_breakpoints": "the same with Option A",
        "layout": "memory in front of the talk, trimmed turns stay, a breakpoint where they end",
    }
    for name, why in whys.items():
        if name in runs:
            ours = f"{100 * runs[name].hit_rate:.0f} %"
            theirs = "" if name == "layout" else "40 to 60 %"
            yield Figure(f"read of all input, {_said(name)}", theirs, ours, why, command, "N17, §2 (c)", name)
    layout = runs.get("layout")
    if layout:
        uncached = layout.total(READ) / max(1, layout.total(READ) + layout.total(FRESH))
        ours, why = f"{100 * uncached:.0f} %", "their formula leaves out what is written"
        yield Figure("cache_read / (cache_read + uncached), layout", "60 %", ours, why, command, "§2 (c)", "layout")


def _summaries(runs: Mapping[str, Played]) -> Iterator[Figure]:
    for name, what in (("summary", "all input"), ("summary_uncached", "uncached input")):
        run = runs.get(name)
        if run is None:
            continue
        events = run.first[-1]["summarizations"]
        largest = max(map(run.used, run.first))
        told = (
            "; ".join(f"turn {one['turn']}: {one['tokens_before']:,} -> {one['tokens_after']:,}" for one in events)
            or "never"
        )
        uncached = max(log["usage"][FRESH] for log in run.first)
        why = (
            ""
            if name == "summary"
            else f"input_tokens leaves out what the cache read and wrote: it never passed {uncached:,}"
        )
        ours = f"{told}; largest prompt {largest:,}"
        yield Figure(
            f"summed up above 40,000 of {what}", "at a threshold", ours, why, "ctxtui growth ID", "§2 (d)", name
        )


def _logs(runs: Mapping[str, Played], folder: Path) -> Iterator[Figure]:
    name = next(iter(runs))
    log = runs[name].first[-1]
    ours = ", ".join([*log["usage"], *log["composition"], "cache_hit_rate", "summarizations"])
    logs = folder / name / "logs"
    yield Figure(
        "members of logs/TURN.json",
        "usage, composition, hit rate, events",
        ours,
        "",
        f"ctxtui show HERE/{name}/logs",
        "§2 (e)",
        name,
    )
    shown = asked("show", str(logs), cwd=folder)
    opened = f"{len(shown['growth'])} calls of {len(runs[name].logs)} files"
    yield Figure(
        "the logs open as a session",
        "",
        opened,
        "counts, without texts",
        f"ctxtui show HERE/{name}/logs",
        "N19",
        str(logs),
    )


def _memory(folder: Path) -> Figure:
    """What the agent is told where it would write above the budget: really tried, in a folder of its own."""
    where = folder / "budget"
    where.mkdir()
    (where / "todo.md").write_text("x" * 40_000, encoding="utf-8")
    told = Memory(where, 32_000, lambda text: len(text) // 4).write("ui_knowledge.md", "y" * 100_000, new=True)
    said = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": told}]}
    (folder / "budget.json").write_text(json.dumps({"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [said]}))
    return Figure(
        "a write above the budget of memory",
        "32,000",
        told,
        "refused to the agent, who can shorten",
        "ctxtui show ID",
        "N18",
        "HERE/budget.json",
    )


def _said(name: str) -> str:
    return name.replace("_", " and ")
