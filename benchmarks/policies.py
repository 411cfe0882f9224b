"""Does curating pay? Every policy over every recording of the corpus, in the lab: docs/curating.md.

    python -m benchmarks.policies [--write] [--save FILE | --saved FILE] [--agree MODEL --budget-usd X] [PATH ...]

Each recording is run by `ctxtui lab` under each policy at its defaults, with the recorded cache markers: the contexts
that would have been sent, priced by the simulated cache. Both sides are simulated, the recording as it was and with the
policy, so that an error of the simulation is in both. ``--agree`` also sends calls of each recording again to MODEL
(`ctxtui agree`) and counts how often the next tool calls are the recorded ones; that costs money and needs a key.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from ctxtui.analysis.content.agreement import wilson_interval

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "curating.md"
BEGIN, END = "<!-- written by python -m benchmarks.policies --write -->", "<!-- end -->"
LEAST_CALLS, LEAST_TOKENS = 5, 20_000
"""A recording counts from so many calls and so large a context on: below there is nothing to curate."""
LONG: Final = 100_000
"""Tokens of a context from which a session counts as long."""
SAME: Final = 0.005
"""Costs that differ by less than this share count as equal."""
DRAWS, SEED, SHARE = 2_000, 0, 0.9
"""Draws of the bootstrap, its seed, and the share of draws inside an interval."""
SECONDS: Final = 900
"""After these a recording is given up and counted as failed."""


class Trial(NamedTuple):
    """One session under one policy: costs in USD (None: no price), contexts in tokens.

    `dependence` is the number of removed blocks that later calls quote.
    """

    project: str
    policy: str
    before_usd: float | None
    after_usd: float | None
    before_sent: int
    after_sent: int
    before_peak: int
    after_peak: int
    dependence: int

    @property
    def acts(self) -> bool:
        """Whether the policy changed any request."""
        return self.after_sent != self.before_sent

    @property
    def change(self) -> float | None:
        """Change of the cost as a share of the cost before; None without a price."""
        if not self.before_usd or self.after_usd is None:
            return None
        return self.after_usd / self.before_usd - 1


def main() -> int:
    """Run the lab over the recordings and print the page, or write it."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("paths", nargs="*", type=Path, help="recordings (the corpus)")
    options.add_argument("--write", action="store_true", help="write the tables into docs/curating.md")
    options.add_argument("--save", type=Path, metavar="FILE", help="keep every trial as JSON")
    options.add_argument("--saved", type=Path, metavar="FILE", help="what --save kept, in place of running the lab")
    options.add_argument("--agree", metavar="MODEL", help="also ask this model for the next step")
    options.add_argument("--base-url", default="", help="with --agree: a server that speaks the recorded API")
    options.add_argument("--budget-usd", type=float, default=0.0, help="with --agree: at most, for each recording")
    given = options.parse_args()
    corpus = Path(os.environ.get("CTXTUI_CORPUS") or ROOT.parent / "shared" / "corpus")
    projects = projects_by_file(corpus)
    files = given.paths or [corpus / name for name in projects if is_recording(corpus / name)]
    if not files:
        options.error("no recordings: CTXTUI_CORPUS names their folder")
    if given.saved:
        saved = json.loads(given.saved.read_text(encoding="utf-8"))
        trials, failed = [Trial(**trial) for trial in saved["trials"]], saved["failed"]
    else:
        trials, failed = run_all(files, projects)
    if given.save:
        found = {"failed": failed, "trials": [trial._asdict() for trial in trials]}
        given.save.write_text(json.dumps(found, indent=1), encoding="utf-8")
    agreements = ask_again(files, given.agree, given.budget_usd, given.base_url) if given.agree else {}
    text = "\n".join(page(trials, failed, agreements))
    if not given.write:
        print(text)
        return 0
    old = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(f"{old.partition(BEGIN)[0]}{BEGIN}\n\n{text}\n\n{END}{old.partition(END)[2]}", encoding="utf-8")
    return 0


def is_recording(path: Path) -> bool:
    """Whether a file of the corpus may hold a session; others are left out by their names."""
    return path.is_file() and path.suffix not in (".csv", ".md", ".py", ".frame")


def projects_by_file(corpus: Path) -> dict[str, str]:
    """The project that each recording of the corpus is from, by its path in it.

    Recordings that `ctxtui offline` answered are in no project, and are left out.
    """
    index = corpus / "INDEX.csv"
    if not index.is_file():
        return {}
    with index.open(encoding="utf-8", newline="") as lines:
        return {row["file"]: row["source_repo"] for row in csv.DictReader(lines)}


def run_all(files: Sequence[Path], projects: Mapping[str, str]) -> tuple[list[Trial], int]:
    """Every policy on every recording, and how many recordings the lab could not run."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda path: ctxtui("lab", str(path), "--json"), files))
    trials: list[Trial] = []
    seen: set[str] = set()
    for path, one in zip(files, said, strict=True):
        name = next((name for name in projects if str(path).endswith(name)), "")
        for session in one.get("sessions", ()) if one else ():
            if session["session"] not in seen:
                seen.add(session["session"])
                trials += trials_of(session, projects.get(name, path.parent.name))
    return trials, sum(one is None for one in said)


def trials_of(session: Mapping[str, Any], project: str) -> Iterator[Trial]:
    """The trials of one session in the lab's JSON; none where there is nothing to curate."""
    variants = [one for one in session["variants"] if one["refused"] is None]
    before = next((one for one in variants if one["policy"] == "as_recorded"), None)
    if before is None or before["calls"] < LEAST_CALLS or before["peak_context"] < LEAST_TOKENS:
        return
    for one in variants:
        if one is not before:
            yield Trial(
                project,
                one["policy"],
                before["cost_usd"],
                one["cost_usd"],
                before["total_input"],
                one["total_input"],
                before["peak_context"],
                one["peak_context"],
                one["dependence"],
            )


def ctxtui(*words: str) -> dict[str, Any] | None:
    """What a command prints as JSON; None where it refuses the recording or takes too long."""
    command = [sys.executable, "-m", "ctxtui", *words]
    try:
        done = subprocess.run(command, capture_output=True, cwd=ROOT, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None
    try:
        printed: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return None
    return printed if "error" not in printed else None


def ask_again(files: Iterable[Path], model: str, budget: float, base_url: str) -> dict[str, tuple[int, int]]:
    """Next steps that agree with the recorded ones, by policy: (agreeing, asked)."""
    counts: dict[str, tuple[int, int]] = {}
    for path in files:
        policies = [word for name in POLICIES for word in ("--policy", name)]
        asking = ("--model", model, "--budget-usd", str(budget), *(("--base-url", base_url) if base_url else ()))
        one = ctxtui("agree", str(path), *policies, *asking, "--json")
        for row in one.get("variants", ()) if one else ():
            hits, asked = counts.get(row["variant"], (0, 0))
            counts[row["variant"]] = hits + row["same_tools"]["hits"], asked + row["same_tools"]["of"]
    return counts


POLICIES: Final = (
    "clear_tool_results", "truncate_results", "dedupe_reads", "externalize_large",
    "keep_rounds", "sliding_window", "summarize_at", "budget", "hybrid",
)  # fmt: skip
"""The policies that `ctxtui lab` runs where none is named, the gentle ones first."""


def page(trials: Sequence[Trial], failed: int, agreements: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """The tables as Markdown."""
    sessions = len({(trial.project, trial.before_sent, trial.before_peak) for trial in trials})
    projects = len({trial.project for trial in trials})
    yield f"{sessions} sessions of {projects} projects; {failed} files of the corpus hold nothing that the lab can run."
    long = [trial for trial in trials if trial.before_peak >= LONG]
    for title, some in (("All sessions", trials), (f"Sessions with a context of {LONG:,} tokens or more", long)):
        yield from ("", f"### {title}", "", *table(some, agreements))


def table(trials: Sequence[Trial], agreements: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """One row for each policy."""
    heads = ["policy", "acts in", "costs more in", "cost: median change", "tokens sent", "peak context", "quoted later"]
    heads += ["next step agrees"] if agreements else []
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for policy in POLICIES:
        mine = [trial for trial in trials if trial.policy == policy]
        acting = [trial for trial in mine if trial.acts]
        cells = [f"`{policy}`", f"{len(acting)} of {len(mine)}", *figures(acting)]
        if agreements:
            agree, asked = agreements.get(policy, (0, 0))
            cells.append(f"{agree} of {asked}" if asked else "not asked")
        yield f"| {' | '.join(cells)} |"


def figures(acting: Sequence[Trial]) -> list[str]:
    """The cells of one policy, of the sessions in which it acts."""
    priced = [trial for trial in acting if trial.change is not None]
    if not acting:
        return ["·"] * 5
    return [
        _count_with_interval(priced, sum((trial.change or 0) > SAME for trial in priced)),
        _with_interval(priced, lambda some: 100 * median(t.change or 0 for t in some), "{:+.0f} %"),
        f"{100 * median(t.after_sent / t.before_sent - 1 for t in acting):+.0f} %",
        f"{100 * median(t.after_peak / t.before_peak - 1 for t in acting):+.0f} %",
        f"{sum(t.dependence > 0 for t in acting)} of {len(acting)}",
    ]


def _count_with_interval(trials: Sequence[Trial], hits: int) -> str:
    """A count with the interval of its share (Wilson), each project counted as one session."""
    if not trials:
        return "no price"
    projects = len({trial.project for trial in trials})
    share = wilson_interval(round(hits / len(trials) * projects), projects)
    return f"{hits} of {len(trials)} ({100 * share.low:.0f} to {100 * share.high:.0f} %)"


def _with_interval(trials: Sequence[Trial], statistic: Any, form: str) -> str:
    """A statistic with its interval, from draws of whole projects: sessions of one project resemble each other."""
    if not trials:
        return "no price"
    by_project: dict[str, list[Trial]] = {}
    for trial in trials:
        by_project.setdefault(trial.project, []).append(trial)
    groups, draw = list(by_project.values()), random.Random(SEED)
    drawn = sorted(
        statistic([trial for group in draw.choices(groups, k=len(groups)) for trial in group]) for _ in range(DRAWS)
    )
    low, high = (drawn[int(at * (DRAWS - 1))] for at in ((1 - SHARE) / 2, (1 + SHARE) / 2))
    return f"{form.format(statistic(trials))} ({form.format(low)} to {form.format(high)})"


if __name__ == "__main__":
    raise SystemExit(main())
