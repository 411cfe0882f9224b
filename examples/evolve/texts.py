"""The prompts and messages of the loop, in the words of document 000: the authors' first forms, and their cures
(7.1 to 7.6)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from examples.evolve.trials import Evolution, Generation, Trial

_SELECTION = re.compile(r"^```selection[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
CATEGORIES = ("performance", "diversity", "potential")
ANSWER = (
    '{"selections": [{"trial_id": "...", "reasoning": "...", "category": "performance|diversity|potential"}], '
    '"summary": "..."}'
)


def static(generations: int, children: int, calls: int = 0) -> str:
    """The root's system prompt, filled, without its changing end; with `calls` (in all) that of the iterative loop."""
    filled = prompt("root").format(max_generations=generations, max_children_per_generation=children)
    return filled + (prompt("advance").format(max_calls=calls) if calls else "")


def dynamic(experiment: str, generation: int, generations: int, children: int, best: float) -> str:
    """The end of the root's system prompt, which changes each generation; about 200 bytes."""
    return prompt("state").format(
        experiment=experiment,
        generation=generation,
        max_generations=generations,
        max_children_per_generation=children,
        best=f"{best:.4f}",
    )


def child(experiment: str) -> str:
    """The system prompt of all children."""
    return f"{prompt('child')}\nExperiment: {experiment}\n"


def prompt(name: str) -> str:
    """A file of the folder ``prompts``."""
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def opening(children: int) -> str:
    """What the search begins with."""
    return f"Begin generation 0. Spawn up to {children} children exploring different circle packing strategies."


def no_block(found: int, generation: int) -> str:
    """The reminder where a reply has no block, or several."""
    has = "no `repl` block" if not found else f"{found} `repl` blocks"
    return f"Your reply has {has}. Spawn the children of generation {generation} in exactly one `repl` block."


def no_children(generation: int) -> str:
    """The reminder where a block ran and spawned nothing."""
    return f"No children were spawned in generation {generation}, so it does not advance. Spawn them now."


def result(output: str) -> str:
    """What a block printed, as the root reads it."""
    return f"REPL execution result\n{output}" if output else "REPL execution result"


def full_feedback(one: Generation) -> str:
    """The old feedback: the program of every trial."""
    lines = [f"Generation {one.number} complete. {len(one.trials)} children spawned.", "", "Results:"]
    for trial in one.ranked:
        lines.append(f"  - {trial.trial_id}:")
        lines.append(f"    Code: {trial.code}")
        lines.append(f"    Metrics: {trial.metrics}")
        lines.append(f"    Reasoning: {trial.reasoning}")
    return "\n".join(lines)


def feedback(one: Generation) -> str:
    """The cured feedback (7.1): tokens in place of programs."""
    lines = [
        f"Generation {one.number} complete. {len(one.trials)} children spawned.",
        "",
        "Results (use {{CODE_TRIAL_X_Y}} tokens to reference code when needed):",
        "",
    ]
    for trial in one.ranked:
        lines.append(f"  - **{trial.trial_id}** [{'valid' if trial.success else 'INVALID'}]")
        lines.append(f"    Score: {trial.score:.4f}")
        lines.append(f"    Code reference: {trial.token}")
        if trial.reasoning:
            short = trial.reasoning[:150].replace("\n", " ")
            lines.append(f"    Approach: {short}...")
        if not trial.success and trial.error:
            lines.append(f"    Error: {trial.error[:100]}")
        lines.append("")
    return "\n".join(lines)


def selection_request(one: Generation) -> str:
    """The old request for a selection: a few lines for each trial."""
    lines = [
        f"Generation {one.number} has finished with {len(one.trials)} trials. Select the 2 to 5 most promising ones to "
        "carry forward.",
        "",
        "Trials:",
    ]
    for trial in one.ranked:
        lines.append(f"- {trial.trial_id}: sum_radii={trial.score:.6f}, valid={trial.success}")
        lines.append(f"  Parent: {trial.parent_id}; {trial.error or _first(trial)}")
    lines += [
        "",
        "Categories: performance (the best scores), diversity (a construction of its own), potential (worth mending).",
        "Give a reason for each. Respond with:",
        "```selection",
        ANSWER,
        "```",
    ]
    return "\n".join(lines)


def _first(trial: Trial) -> str:
    return trial.reasoning.split("\n")[0][:80]


def selection_table(one: Generation) -> str:
    """The cured request (7.4): a table."""
    lines = [
        f"## Generation {one.number} Complete - Select Trials",
        "",
        "| Rank | Trial | Score | Status |",
        "|------|-------|-------|--------|",
    ]
    for rank, trial in enumerate(one.ranked, 1):
        lines.append(f"| {rank} | {trial.trial_id} | {trial.score:.4f} | {'✓' if trial.success else '✗'} |")
    lines += ["", "Select 2-5 trials for next generation. Respond with:", "```selection", ANSWER, "```"]
    return "\n".join(lines)


def history(evolution: Evolution, before: int) -> str:
    """The generations up to `before` as a summary (7.2)."""
    lines = [f"[Historical Summary - Generations 0 to {before - 1}]"]
    lines += [
        f"Gen {one.number}: {len(one.trials)} trials, best={one.best_score:.4f} ({one.best_trial_id}), "
        f"selected={one.selected_trial_ids}"
        for one in evolution.generations[:before]
    ]
    return "\n".join(lines)


def alone(evolution: Evolution, children: int) -> str:
    """A generation's whole request where nothing is remembered (7.6): history, state, task."""
    now = evolution.now.number
    if now == 0:
        return opening(children)
    task = f"Begin generation {now}. Spawn up to {children} children in one `repl` block."
    return f"{history(evolution, now)}\n\n{feedback(evolution.generations[now - 1])}\n{task}"


def selection_alone(evolution: Evolution) -> str:
    """The request for a selection where nothing is remembered."""
    now = evolution.now.number
    past = f"{history(evolution, now)}\n\n" if now else ""
    return past + selection_table(evolution.now)


def selected(reply: str, trials: Sequence[Trial]) -> tuple[list[str], str]:
    """The trials that a reply selects, and its summary. Raises `ValueError`, which says what is wrong with it."""
    found = _SELECTION.findall(reply)
    if len(found) != 1:
        raise ValueError(f"your reply has {len(found) or 'no'} `selection` fence{'s' if len(found) > 1 else ''}")
    told = json.loads(found[0])
    if not isinstance(told, dict) or not isinstance(told.get("selections"), list):
        raise ValueError('the fence holds {"selections": [...], "summary": "..."}')
    ids = [one.get("trial_id") if isinstance(one, dict) else None for one in told["selections"]]
    known = {trial.trial_id for trial in trials}
    unknown = [str(one) for one in ids if one not in known]
    if unknown:
        raise ValueError(f"there is no {', '.join(unknown)} in this generation")
    if not 2 <= len(ids) <= 5:
        raise ValueError(f"2 to 5 trials are selected, not {len(ids)}")
    wrong = [str(one.get("category")) for one in told["selections"] if one.get("category") not in CATEGORIES]
    if wrong:
        raise ValueError(f"no category {', '.join(wrong)}: {', '.join(CATEGORIES)}")
    return [str(one) for one in ids], str(told.get("summary", ""))
