"""The loop's own texts: system prompts, generation replies, selection, feedback."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sessions.dice import Dice, exactly
from sessions.pineapple_code import program
from sessions.pineapple_words import thought, thoughts

ROOT_SYSTEM = """\
You lead an evolutionary search over programs. You do not write the final program yourself: in every generation you
decide which children to spawn, what each of them is asked to change, and which trials survive.

# Problem
Pack 26 circles into the unit square so that the sum of their radii is as large as possible. A program defines
construct_packing() and returns (centres, radii, sum_of_radii). A circle outside the square or an overlap of more than
1e-9 makes the packing invalid, and an invalid packing scores 0. The best published sum is about 2.6358.

# What you may call
Your reply holds exactly one fenced repl block. Inside it you may call
- spawn_children_parallel(children: list[{"prompt": str, "parent_id": str (optional)}]) -> list[dict]
- evaluate_program(code: str) -> {"score": float, "valid": bool, "error": str}
- terminate_evolution(reason: str, best_program: str)
- spawn_child_llm(prompt: str, parent_id: str) is the legacy form for a single child.
Children see only their prompt, never this conversation. Write {{CODE_TRIAL_g_t}} where the code of trial t of
generation g is to be inserted; it is replaced before the child is asked. The generation advances by itself as soon as
the children have been evaluated.

# Selection
After each generation you are asked for a selection: 2 to 5 trials as JSON in a selection fence, each with its
category (performance, diversity or potential) and one sentence of reasons.

# How to think about a generation
"""
SETTINGS = "# Settings of this run\nmax_generations: 10, max_children_per_generation: 15, time per evaluation: 120 s, "
CHILD_SYSTEM = """\
You write one Python program. It packs 26 circles into the unit square and maximises the sum of the radii. Answer with
two or three sentences on your approach and one fenced python block that defines construct_packing().

# Rules
numpy and scipy may be imported, nothing else. The program runs at most 120 seconds on one core. Circles must lie
inside the square and must not overlap by more than 1e-9; an invalid packing scores 0. Use a fixed seed.

# What has been learnt so far
"""
NUDGE = "No repl block was found in your reply. Please spawn the next 15 children in one single fenced repl block now."
OPENING = "Begin generation 0: explore widely different constructions. There is no parent yet."


@dataclass(frozen=True, slots=True)
class Trial:
    """One child's program and what its evaluation gave."""

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


def settings(size: int) -> str:
    """The small part of it that is not cached by a marker of its own."""
    return exactly(SETTINGS, size, iter(["selection: 2 to 5 trials, parents: best of two generations, " * 4]))


def child_system(size: int) -> str:
    """The one system prompt of all children."""
    dice = Dice("child system")
    return exactly(CHILD_SYSTEM, size, thoughts(dice))


def prompts(generation: int, parents: Sequence[str], dice: Dice) -> list[tuple[str, str]]:
    """(prompt, parent id) of the 15 children."""
    made = []
    for _ in range(15):
        parent = dice.pick(parents) if parents else ""
        start = (
            f"Start from this program:\n{{{{CODE_TRIAL_{parent}}}}}\n" if parent else "Write a program from scratch. "
        )
        made.append((start + " ".join(thought(dice) for _ in range(2)), parent))
    return made


def spawning(generation: int, children: Sequence[tuple[str, str]], size: int, dice: Dice) -> str:
    """The root's reply of exactly `size` characters: what it thinks, and the repl block with its children."""
    calls = [{"prompt": prompt, **({"parent_id": parent} if parent else {})} for prompt, parent in children]
    block = f"```repl\nresults = spawn_children_parallel({json.dumps(calls, indent=2)})\n```"
    start = f"Generation {generation}: "
    return exactly(start, size - len(block) - 2, thoughts(dice)) + "\n\n" + block


def musing(generation: int, size: int, dice: Dice) -> str:
    """A reply that forgets the repl block."""
    return exactly(f"Before generation {generation} I want to weigh the options. ", size, thoughts(dice))


def _metrics(score: float, error: str, dice: Dice) -> dict[str, object]:
    return {
        "score": score,
        "valid": not error,
        "seconds": dice.real(2, 110, 1),
        "min_radius": dice.real(0.03, 0.07, 4),
        "max_radius": dice.real(0.11, 0.14, 4),
        "mean_gap": dice.real(0.0001, 0.01, 5),
        "error": error,
    }


def trials(
    generation: int, children: Sequence[tuple[str, str]], best: float, size: int, dice: Dice
) -> tuple[list[Trial], str]:
    """The generation's trials, and the feedback message of exactly `size` characters that repeats all their code."""
    header = f"Generation {generation} is complete, {len(children)} trials. Best {best:.4f}\n\n"
    found: list[Trial] = []
    texts = [header]
    for t, (prompt, parent) in enumerate(children):
        id_ = f"{generation}_{t}"
        failed = t != 4 and dice.below(6) == 0
        score = best if t == 4 else 0.0 if failed else round(best - dice.real(0.004, 0.12, 4), 4)
        error = "circles 7 and 19 overlap by 3.1e-07" if failed else ""
        metrics = json.dumps(_metrics(score, error, dice))
        reasoning = exactly("", 300, thoughts(dice))
        above = f"### Trial {id_}, parent {parent or 'none'}\n```python\n"
        below = f"\n```\nmetrics: {metrics}\nreasoning: {reasoning}\n\n"
        share = (size - sum(map(len, texts))) // (len(children) - t)
        room = share - len(above) - len(below)
        code = program(f"Trial {id_}", room if t == len(children) - 1 else room * dice.between(96, 104) // 100, dice)
        texts.append(above + code + below)
        found.append(Trial(id_, parent, prompt, reasoning, code, metrics, score, error))
    return found, "".join(texts)


def selection_request(generation: int, made: Sequence[Trial], size: int, dice: Dice) -> str:
    """The question for survivors: a line per trial, then the rules, exactly `size` characters."""
    lines = "".join(
        f"{t.id}  {t.score:.4f}  {'invalid' if t.error else 'valid'}  from {t.parent or '-'}\n" for t in made
    )
    ask = f"Select 2 to 5 trials of generation {generation} as parents.\n{lines}Answer with JSON in a selection fence. "
    return exactly(ask, size, thoughts(dice))


def selection(made: Sequence[Trial], size: int, dice: Dice) -> tuple[list[str], str]:
    """The ids chosen, and the reply of exactly `size` characters."""
    good = sorted((t for t in made if not t.error), key=lambda t: -t.score)[:4]
    kinds = ("performance", "performance", "diversity", "potential")
    chosen = [{"trial": t.id, "category": k, "reason": thought(dice)} for t, k in zip(good, kinds, strict=True)]
    block = f"\n\n```selection\n{json.dumps(chosen, indent=2)}\n```"
    return [t.id for t in good], exactly("", size - len(block), thoughts(dice)) + block


def farewell(best: Trial, dice: Dice) -> str:
    """The last reply."""
    words = " ".join(thought(dice) for _ in range(4))
    call = f'terminate_evolution(reason="context nearly full", best_program={{{{CODE_TRIAL_{best.id}}}}})'
    return f"{words}\n\n```repl\n{call}\n```"
