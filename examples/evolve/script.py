"""What the offline provider says in place of the models: the root's replies, and the children's programs. The programs
are real ones and are run; whether a later one is better is for the evaluator to find."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

PARTS = tomllib.loads((Path(__file__).parent / "programs.toml").read_text(encoding="utf-8"))
"""Pieces of programs: starts, radii, polishes, and what every program has."""
STARTS, RADII, POLISH = list(PARTS["starts"]), list(PARTS["radii"]), list(PARTS["polish"])
WITHOUT_BLOCK = (2, 3, 4)
"""Generations in which the root first forgets its block, as the authors' log has it."""
_IDEAS = {
    "grid": "a stretched grid of five by five with one circle in a gap",
    "rows": "hexagonal packing in rows of five and six",
    "rings": "two rings round a centre and circles in the corners",
    "corners": "large circles in the corners and a greedy approach for the holes",
    "random": "an optimization-based start from points at random",
}
_POLISHES = {
    "climb": "moves single circles by steps that shrink",
    "anneal": "uses simulated annealing on single circles",
    "push": "lets circles that are a little too large push each other apart",
}
_RADII = {
    "greedy": "radii grow greedily, those with most room first",
    "scaled": "radii are scaled down pair by pair",
    "relaxed": "radii relax towards the room that they have",
}


def chosen(generation: int, number: int) -> tuple[str, str, str]:
    """The start, the radii and the polish of a child's program."""
    at = generation * 7 + number
    return STARTS[number % len(STARTS)], RADII[(at // 2) % len(RADII)], POLISH[(at + number // 5) % len(POLISH)]


def strategy(generation: int, number: int) -> str:
    """What a child's prompt begins with; no other prompt does."""
    return f"Strategy {number + 1} of generation {generation}:"


def prompt(generation: int, number: int, children: int) -> tuple[str, str]:
    """A child's prompt and its parent among the `children` of the generation before ("": none)."""
    seed, radii, polish = chosen(generation, number)
    words = f"{strategy(generation, number)} {_IDEAS[seed]}; a polish that {_POLISHES[polish]}; {_RADII[radii]}."
    if generation == 0 or number % 3 == 2:
        return (
            f"{words} Nothing is given: write it anew, and keep the number of circles in one constant. "
            "Check the packing in the end and shrink the radii where it does not fit, by no more than is needed. "
            "Say in two sentences why this construction could leave the grid's 2.5414 behind.",
            "",
        )
    parent = f"{generation - 1}_{(number * 4 + generation) % children}"
    return (
        f"{words} Build on the program below; keep what is good in it, in particular the check in the end, and change "
        f"one thing: take {12 + 3 * generation} rounds more for the polish, begin with a step of "
        f"{0.08 / (1 + generation / 2):.3f}, and try the swap of the largest and the smallest circle.\n\n"
        f"{{{{CODE_TRIAL_{parent}}}}}",
        f"trial_{parent}",
    )


def block(generation: int, numbers: range, children: int, end: str = "") -> str:
    """The root's ``repl`` block for these of the `children`."""
    lines = ["children = ["]
    for number in numbers:
        text, parent = prompt(generation, number, children)
        named = f', "parent_id": {json.dumps(parent)}' if parent else ""
        lines.append(f'    {{"prompt": {json.dumps(text)}{named}}},')
    lines += [
        "]",
        "results = spawn_children_parallel(children)",
        "",
        "# Analyze results for next generation planning",
        "for r in results:",
        "    print(f\"{r['trial_id']}: score={r['metrics'].get('sum_radii', 0):.4f}\")",
        *([end] if end else []),
    ]
    return "```repl\n" + "\n".join(lines) + "\n```"


def plan(generation: int) -> str:
    """What the root says in front of its block."""
    if generation == 0:
        return (
            "Nothing is known yet, so the first generation explores: five constructions that have nothing in common, "
            "each with three ways to polish it. What I want to know is which start leaves the grid behind at all, and "
            "whether the radii or the centres are what limits it."
        )
    return (
        f"Generation {generation - 1} shows which constructions hold. Ten children build on its programs by their "
        "tokens, with a longer polish and a smaller first step; five begin anew, so that the search does not end on "
        "the first hill that it found. Programs that failed are not carried on, but their ideas are asked for again "
        "with the check in the end that they lacked."
    )


def thoughts(generation: int) -> str:
    """A reply that thinks aloud and forgets the block."""
    lines = [f"Let me look at generation {generation - 1} before I spawn anything."]
    for seed, idea in _IDEAS.items():
        lines.append(
            f"- {seed}: {idea}. Its trials differ in the polish: some move single circles, some all of them at once. "
            "What they share is the start, and the scores say whether that start has a hill near by that is worth a "
            "longer climb. I would carry one of them forward in any case, because a generation of one construction "
            "cannot tell a good polish from a good start."
        )
    lines.append("So there will be ten children with parents and five without. I shall write their prompts next.")
    return "\n".join(lines)


def selection(generation: int, children: int) -> str:
    """The root's selection. It names trials by number, as it cannot read a score here."""
    kinds = ("performance", "performance", "diversity", "potential")
    picked = [(generation * 4 + step * 4 + 1) % children for step in range(4)]
    chosen_ = [
        {
            "trial_id": f"trial_{generation}_{number}",
            "reasoning": f"It begins with {_IDEAS[chosen(generation, number)[0]]} and "
            f"{_POLISHES[chosen(generation, number)[2]]}; {_RADII[chosen(generation, number)[1]]}. "
            "The construction is worth a longer polish with a smaller step.",
            "category": kind,
        }
        for number, kind in zip(dict.fromkeys([*picked, *range(children)]), kinds, strict=False)
    ]
    told = {
        "selections": chosen_,
        "summary": f"Generation {generation} shows that the start decides which hill is climbed and the polish how "
        "far. Rows and grids give the best floor, rings and corners the widest spread; both go on.",
    }
    fence = "```selection\n" + json.dumps(told, indent=2) + "\n```"
    return f"The best two, one that is unlike them, and one that may become better:\n\n{fence}"


def answer(generation: int, number: int) -> str:
    """A child's answer: its approach, and its program."""
    seed, radii, polish = chosen(generation, number)
    approach = (
        f"The packing begins with {_IDEAS[seed]}. Its polish {_POLISHES[polish]}, and {_RADII[radii]} each time. "
        "The last step checks every pair and every wall, so that what is returned is valid."
    )
    return f"{approach}\n\n```python\n{program(generation, number)}\n```"


def program(generation: int, number: int) -> str:
    """A child's program; one in eleven forgets the check, one in thirteen has a slip that raises."""
    seed, radii, polish = chosen(generation, number)
    at = generation * 15 + number
    head = f'''"""Generation {generation}, strategy {number + 1}: {_IDEAS[seed]}.

The polish {_POLISHES[polish]}; {_RADII[radii]}. Changed against the parent: the step, the number of turns,
the seed of the dice.
"""

import math
import random

CIRCLES = 26
SEED = {100 * generation + number}
PITCH = {0.955 + 0.006 * (at % 9):.3f}
STEP = {0.09 / (1 + generation / 3):.4f}
TURNS = {10 + 2 * generation + number % 4}
GROWTHS = {2 + at % 3}
SHARE = {0.35 + 0.05 * (at % 8):.2f}
'''
    polishing = PARTS["polish"][polish]
    if at % 13 == 9:
        polishing = polishing.replace("centres = list(centres)", "centres = list(centers)", 1)
    end = PARTS["unfitted"] if at % 11 == 5 else PARTS["check"]
    pieces = [head, PARTS["geometry"], PARTS["radii"][radii], PARTS["starts"][seed], polishing]
    if generation >= 1 and number % 3 != 2:
        pieces.append(PARTS["mirror"])
        end = end.replace("polished(start())", "best_of(polished(best_of(start())))")
    if number % 2:
        other = STARTS[(number + 1) % len(STARTS)]
        pieces.append(PARTS["starts"][other].replace("def start():", f"def start_{other}():"))
    return "\n".join(piece.strip("\n") + "\n\n" for piece in [*pieces, end, PARTS["report"]]).rstrip("\n")


def lines(generations: int, children: int, calls: int = 3) -> list[dict[str, Any]]:
    """The answers, each to whoever asks with its words, again and again: every run asks the same. `calls` per
    generation are the iterative loop's."""
    found: list[dict[str, Any]] = []

    def say(when: str, text: str) -> None:
        found.append({"when": when, "text": text, "again": True})

    for number in range(generations):
        whole = f"{plan(number)}\n\n{block(number, range(children), children)}"
        for step in range(calls):
            part = range(step * children // calls, (step + 1) * children // calls)
            end = "advance_generation()" if step == calls - 1 else ""
            words = f"{plan(number)} Part {step + 1} of {calls}.\n\n{block(number, part, children, end)}"
            say(f"Call {step + 1} of generation {number}.", words)
        for asked in (f"## Generation {number} Complete", f"Generation {number} has finished"):
            say(asked, selection(number, children))
        say(f"Spawn the children of generation {number} in exactly one", whole)
        say(f"Begin generation {number}. Spawn", whole)
        before = f"Generation {number - 1} complete."
        say(before, thoughts(number) if number in WITHOUT_BLOCK else whole)
    for generation in range(generations):
        for number in range(children):
            say(strategy(generation, number), answer(generation, number))
    return found
