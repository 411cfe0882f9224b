"""Figures that `ctxtui` tells of recordings: of the log as the documents print it, and of what the searches left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from examples.evolve.figures import Searched
from examples.kit import Figure, asked

LOG = "sessions/1-pineapple-evolve.jsonl"
"""The authors' log: every size as document 000 measured it (2.1)."""
USD = 3e-6
"""Of an input token, as the authors reckon."""
FEEDBACK = 10_000
"""Characters from which a message of the log is a feedback."""


def printed_log(folder: Path) -> Iterator[Figure]:
    """What the documents say of the log that they print, and what it comes to."""
    path = str(Path(__file__).resolve().parents[2] / LOG)
    shown = asked("show", path, "--blocks", cwd=folder)
    said = [one for one in shown["blocks"] if one["category"] in ("user", "assistant")][1:]
    sizes = [one["span"][1] for one in said]
    fed = [one for one in said if one["span"][1] > FEEDBACK and one["category"] == "user"]
    show = f"ctxtui show {LOG} --blocks"
    yield Figure(
        "sizes of the messages of five generations",
        "31 messages, 9,881 to 141,234 characters, 762,411 in all",
        f"{len(sizes)} messages, {sizes[0]:,} to {sizes[-1]:,} characters, {sum(sizes):,} in all",
        "",
        show,
        "§1 trouble, N13, 000 §2.1",
        LOG,
    )
    ours = " ".join(f"{one['running_tokens'] / 1000:.0f}k" for one in fed)
    why = "counted, with a system prompt of 1.8k; theirs are characters / 4"
    yield Figure("context after each feedback", "25k 64k 102k 150k 191k", ours, why, show, "§1 trouble, 000 §2.3", LOG)
    grown = asked("growth", path, "--phase-rule", "Generation \\d+", cwd=folder)["phases"][2:]
    steps = " ".join(f"{one['growth'] / 1000:.1f}k" for one in grown)
    growth = f"ctxtui growth {LOG} --phase-rule 'Generation \\d+'"
    yield Figure("growth a generation, as printed", "about 40k", steps, "", growth, "§1 trouble, 000 §2.3", LOG)
    yield from _labels(shown, sum(one["tokens"] for one in fed), show)
    yield from _cures(path, folder, fed)
    yield from _money([one["context_tokens"] for one in shown["growth"]])


def _labels(shown: Mapping[str, Any], fed: int, show: str) -> Iterator[Figure]:
    found = {one["label"]: one for one in shown["labels"] if one["category"] == "user"}
    count = {name: found.get(name, {}).get("count", 0) for name in ("trial", "code", "metrics", "reasoning")}
    ours = ", ".join(f"{n} {name}" for name, n in count.items())
    yield Figure(
        "labels in messages without a fence",
        "5 feedbacks of 15 trials, and 5 requests to select",
        ours,
        "a trial is labelled in both",
        show,
        "N1, 000 §5.1",
        LOG,
    )
    share = 100 * found.get("code", {}).get("tokens", 0) / max(1, fed)
    yield Figure("programs' share of a feedback", "about 90 %", f"{share:.0f} %", "", show, "§1 trouble, 000 §5.2", LOG)


def _cures(path: str, folder: Path, fed: list[dict[str, Any]]) -> Iterator[Figure]:
    cured = asked("curate", path, "--policy", "externalize_large", cwd=folder)
    command = f"ctxtui curate {LOG} --policy externalize_large --dry-run"
    contents = [one["content"] for one in cured["request"]["messages"]]
    texts = [one if isinstance(one, str) else "".join(block.get("text", "") for block in one) for one in contents]
    small = next(len(text) for text in texts if text.startswith("Generation 0 complete") and "{{CODE" in text)
    yield Figure(
        "feedback of generation 0 with tokens in place of programs",
        "85 KB -> 5 KB, 94 % less",
        f"{fed[0]['span'][1]:,} -> {small:,} characters, {100 - 100 * small / fed[0]['span'][1]:.0f} % less",
        "",
        command,
        "§1 (a), N1, 000 §7.1",
        LOG,
    )
    before, now = cured["tokens"]["before"], cured["tokens"]["after"]
    yield Figure(
        "context after five generations with tokens",
        "230k -> 50k, 78 % less",
        f"{before / 1000:.1f}k -> {now / 1000:.1f}k, {100 - 100 * now / before:.0f} % less",
        "",
        command,
        "§1 (a), 000 §7.1",
        LOG,
    )
    tried = asked("lab", path, "--policy", "summarize_every k=2 levels=2", "--cache", "recorded", cwd=folder)
    plain, levels = tried["sessions"][0]["variants"]
    yield Figure(
        "summaries of summaries, by levels",
        "progressively compress older information",
        f"peak {plain['peak_context'] / 1000:.0f}k -> {levels['peak_context'] / 1000:.0f}k, "
        f"${plain['cost_usd']:.2f} -> ${levels['cost_usd']:.2f}",
        "two rounds a summary, two of those one again; drawn from the record, not by a model",
        f"ctxtui lab {LOG} --policy 'summarize_every k=2 levels=2' --cache recorded",
        "N14, 000 §6.5",
        LOG,
    )


def _money(calls: list[int]) -> Iterator[Figure]:
    first, last = calls[2], calls[-1]
    yield Figure(
        "input of the calls with feedback 0 and 4, no cache",
        "25,000: $0.075; 190,000: $0.57, 7.6 times",
        f"{first:,}, {last:,}",
        f"at $3 a million ${first * USD:.3f} and ${last * USD:.2f}, {last / first:.1f} times",
        f"ctxtui growth {LOG}",
        "§1 (g), N5, 000 appendix C",
        LOG,
    )


def searched(folder: Path, made: Mapping[str, Searched]) -> Iterator[Figure]:
    """What `ctxtui` says of the sessions of the searches."""
    for name in ("old", "new"):
        if name in made:
            yield from _judged(folder, name, made[name])
    old = made.get("old")
    if old is not None:
        yield from _whole_run(old)
        told = asked("show", str(folder / "old" / "experiment"), "--threads", cwd=folder)["threads"]
        yield Figure(
            "the experiment's folder opens as one session",
            "root_llm_log.jsonl, generations/gen_N/trial_*.json",
            f"root and {len(told) - 1} trials",
            "",
            "ctxtui show HERE/old/experiment --threads",
            "N11, 000 §5.3",
            "HERE/old/experiment",
        )


def _judged(folder: Path, name: str, one: Searched) -> Iterator[Figure]:
    missed = asked("cache", one.session, cwd=folder)["misses"]
    state = sum(miss["cause"] == "system changed" for miss in missed)
    yield Figure(
        f"misses that the state in the system prompt causes, {name}",
        'a dynamic part of 200 bytes, which changes each generation: caching "works"',
        f"{state} of {len(missed)} misses in {len(one.root)} calls",
        "it stands in front of every message, so that all of them are written again; cure: state behind the messages",
        "ctxtui cache ID",
        "§1 (c), N2, 000 §4.1.1",
        name,
    )
    limits = ("--min-read-per-write", "1", "--max-seconds", "60")
    (checked,) = asked("check", one.session, *limits, cwd=folder, ok=(0, 8))["files"]
    ratio = checked["figures"]["read_per_write"]
    yield Figure(
        f"read for each token that is written, {name}",
        "above 1" if name == "new" else "high writes, low reads",
        f"{ratio:.1f} with children" if ratio is not None else "nothing written",
        "",
        f"ctxtui check ID {' '.join(limits)}",
        "N8, 000 §4.3, §9.3",
        name,
    )


def _whole_run(old: Searched) -> Iterator[Figure]:
    total = sum(call.input for call in old.root)
    last = old.root[-1].input
    yield Figure(
        "last call of ten generations, no cache",
        "430,000: $1.29, 17 times the first",
        f"{last:,}",
        f"at $3 a million ${last * USD:.2f}",
        "ctxtui growth ID",
        "§1 (g), N5, 000 appendix C",
        "old",
    )
    whole = total * USD
    yield Figure(
        "input of ten generations of the root, no cache",
        "about 3,000,000: $9.00",
        f"{total:,}",
        f"at $3 a million ${whole:.2f}",
        "ctxtui growth ID",
        "§1 (g), N5, 000 appendix C",
        "old",
    )
    yield Figure(
        "80 % of it cached would save",
        "$7.20 of $9",
        f"${0.8 * 0.9 * whole:.2f} of ${whole:.2f}",
        "a read still costs a tenth: 0.8 x 0.9 x $9 = $6.48, less what writes cost more",
        "ctxtui cost ID",
        "§1 (g), N5, 000 appendix C",
        "old",
    )
