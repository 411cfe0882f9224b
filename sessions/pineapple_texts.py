"""The loop's own texts in the words of its authors: system prompts, generation replies, selection, feedback."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sessions.dice import Dice, exactly
from sessions.pineapple_code import program
from sessions.pineapple_words import thought, thoughts

ROOT_SYSTEM = """\
You are the root model of an evolutionary search over programs. You do not write the final program yourself: once in
every generation you write the prompts of all children, and you choose which trials are carried forward.

## Problem
Pack 26 circles into the unit square [0,1]x[0,1] so that the sum of their radii is as large as possible. A program
defines construct_packing() and returns (centers, radii, sum_radii). A circle outside the square or an overlap of more
than 1e-9 makes the packing invalid, and an invalid packing scores 0. The best published sum is about 2.635.

## Available Functions
Your reply holds one fenced repl block. Inside it you may call
- spawn_children_parallel(children: list[dict]) -> list[dict]: a child is {"prompt": str, "parent_id": str (optional)}
- spawn_child_llm(prompt: str, parent_id: str = None) -> dict: a single child, kept for old prompts
- evaluate_program(code: str) -> dict
- terminate_evolution(reason: str, best_program: str = None) -> dict
Each result has trial_id, metrics, success and error. Children see only their prompt, never this conversation. Use
{{CODE_TRIAL_X_Y}} tokens to refer to the code of trial Y of generation X; they are replaced before the child is asked.
The generation advances by itself as soon as the children have been evaluated.

## Selection
After each generation you are asked for a selection: 2 to 5 trials as JSON in a selection fence, each with a category
(performance, diversity or potential) and your reasoning.

## How to think about a generation
"""
STATE = """
## This Run
max_generations: 10
max_children_per_generation: 15
current_generation: {generation}
"""
ANALYSIS = """
# Analyze results for next generation planning
for r in results:
    print(f"{r['trial_id']}: score={r['metrics'].get('sum_radii', 0):.4f}")
"""
CHILD_SYSTEM = """\
You write one Python program. It packs 26 circles into the unit square and maximises the sum of the radii. Answer with
two or three sentences on your approach and one fenced python block that defines construct_packing().

# Rules
numpy and scipy may be imported, nothing else. The program runs at most 120 seconds on one core. Circles must lie
inside the square and must not overlap by more than 1e-9; an invalid packing scores 0. Use a fixed seed.

# What has been learnt so far
"""
OPENING = "Begin generation 0. Spawn up to 15 children exploring different circle packing strategies."
RAN = "REPL execution result"
NUDGE = "No repl block was found in your reply. Please spawn the next 15 children in one single fenced repl block now."
REPLY = (
    '{"selections": [{"trial_id": "...", "reasoning": "...", "category": "performance|diversity|potential"}], '
    '"summary": "..."}'
)
"""What the answer to a selection request is asked to look like."""
KNOWN = 2.635
"""The sum of radii that `target_ratio` is a share of."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One child's program and what its evaluation gave; `metrics` is what Python prints of them."""

    id: str
    parent: str
    prompt: str
    reasoning: str
    code: str
    metrics: str
    score: float
    error: str


def system(size: int) -> str:
    """The root's static system prompt."""
    dice = Dice("root system")
    return exactly(ROOT_SYSTEM, size, thoughts(dice))


def state(generation: int, size: int) -> str:
    """The small part behind it, which says another generation each time and is not cached by a marker of its own."""
    known = "What was selected in earlier generations stands in the conversation. "
    return exactly(STATE.format(generation=generation), size, iter([known] * 4))


def child_system(size: int) -> str:
    """The one system prompt of all children."""
    dice = Dice("child system")
    return exactly(CHILD_SYSTEM, size, thoughts(dice))


def prompts(generation: int, parents: Sequence[str], dice: Dice) -> list[tuple[str, str]]:
    """(prompt, parent id) of the 15 children."""
    made = []
    for number in range(15):
        parent = dice.pick(parents) if parents else ""
        start = f"Start from this program: {{{{CODE_{parent.upper()}}}}} " if parent else ""
        made.append((f"Strategy {number + 1}: {start}" + " ".join(thought(dice) for _ in range(2)), parent))
    return made


def spawning(generation: int, children: Sequence[tuple[str, str]], size: int, dice: Dice) -> str:
    """The root's reply of exactly `size` characters: what it thinks, and the repl block with its children."""
    calls = [{"prompt": prompt, **({"parent_id": parent} if parent else {})} for prompt, parent in children]
    listed = "".join(f"    {json.dumps(call)},\n" for call in calls)
    block = f"```repl\nchildren = [\n{listed}]\nresults = spawn_children_parallel(children)\n{ANALYSIS}```"
    start = f"Generation {generation}: "
    return exactly(start, size - len(block) - 2, thoughts(dice)) + "\n\n" + block


def musing(generation: int, size: int, dice: Dice) -> str:
    """A reply that forgets the repl block."""
    return exactly(f"Before generation {generation} I want to weigh the options. ", size, thoughts(dice))


def _metrics(score: float, error: str, dice: Dice) -> dict[str, object]:
    return {
        "valid": not error,
        "sum_radii": score,
        "target_ratio": round(score / KNOWN, 4),
        "eval_time": dice.real(2, 110, 1),
        "min_radius": dice.real(0.03, 0.07, 4),
        "max_radius": dice.real(0.11, 0.14, 4),
        "mean_gap": dice.real(0.0001, 0.01, 5),
        "error": error or None,
    }


def trials(
    generation: int, children: Sequence[tuple[str, str]], best: tuple[int, float], size: int, dice: Dice
) -> tuple[list[Trial], str]:
    """The generation's trials, best first, of which number `best` has the best score; and the feedback message of
    exactly `size` characters that repeats all their code."""
    found = [_evaluated(generation, t, child, best, dice) for t, child in enumerate(children)]
    found.sort(key=lambda trial: -trial.score)
    texts = [f"Generation {generation} complete. {len(found)} children spawned.\n\nResults:"]
    made: list[Trial] = []
    for place, trial in enumerate(found):
        above = f"\n  - {trial.id}:\n    Code: "
        below = f"\n    Metrics: {trial.metrics}\n    Reasoning: {trial.reasoning}"
        left = len(found) - place
        room = (size - sum(map(len, texts))) // left - len(above) - len(below)
        code = program(trial.id, room if left == 1 else room * dice.between(96, 104) // 100, dice)
        texts.append(above + code + below)
        made.append(replace(trial, code=code))
    return made, "".join(texts)


def _evaluated(generation: int, number: int, child: tuple[str, str], best: tuple[int, float], dice: Dice) -> Trial:
    failed = number != best[0] and dice.below(6) == 0
    score = best[1] if number == best[0] else 0.0 if failed else round(best[1] - dice.real(0.004, 0.12, 4), 4)
    error = "Circles 7 and 19 overlap by 3.1e-07" if failed else ""
    told = str(_metrics(score, error, dice))
    return Trial(
        f"trial_{generation}_{number}", child[1], child[0], exactly("", 300, thoughts(dice)), "", told, score, error
    )


def selection_request(generation: int, made: Sequence[Trial], size: int, dice: Dice) -> str:
    """The question for survivors: each trial with the beginning of its reasoning, then the form of the answer, exactly
    `size` characters."""
    head = f"Generation {generation} complete. {len(made)} children spawned. Select trials to carry forward.\n\nTrials:"
    tail = f"\n\nSelect 2-5 trials for next generation. Respond with:\n```selection\n{REPLY}\n```"
    texts = [head]
    for place, trial in enumerate(made):
        valid = not trial.error
        above = f"\n  - {trial.id}: sum_radii={trial.score:.4f}, valid={valid}\n    Reasoning: "
        room = (size - len(tail) - sum(map(len, texts))) // (len(made) - place) - len(above)
        texts.append(above + exactly("", room, thoughts(dice)))
    return "".join([*texts, tail])


def selection(made: Sequence[Trial], size: int, dice: Dice) -> tuple[list[str], str]:
    """The ids chosen, and the reply of exactly `size` characters."""
    good = [trial for trial in made if not trial.error][:4]
    kinds = ("performance", "performance", "diversity", "potential")
    chosen = [
        {"trial_id": t.id, "reasoning": thought(dice), "category": kind} for t, kind in zip(good, kinds, strict=True)
    ]
    told = json.dumps({"selections": chosen, "summary": thought(dice)}, indent=2)
    block = f"\n\n```selection\n{told}\n```"
    return [t.id for t in good], exactly("", size - len(block), thoughts(dice)) + block


def farewell(best: Trial, dice: Dice) -> str:
    """The last reply."""
    words = " ".join(thought(dice) for _ in range(4))
    call = f'terminate_evolution(reason="context nearly full", best_program="""{{{{CODE_{best.id.upper()}}}}}""")'
    return f"{words}\n\n```repl\n{call}\n```"
