"""Prose of the circle packing search: what a model says about packings, sentence by sentence."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from sessions.dice import Dice

SUBJECTS = (
    "the circle in each of the four corners",
    "the outer ring of the parent packing",
    "the largest circle in the middle",
    "every circle along the left side",
    "the staggered arrangement of the hexagonal start",
    "the smallest circle of the packing",
    "the linear programme for the radii",
    "the annealing schedule of the previous generation",
    "the final polishing step",
    "the boundary between the two inner rings",
    "the mirrored half of the packing",
    "the first start of this program",
    "the second row from the bottom",
    "the repulsion between close neighbours",
    "the penalty on overlapping circles",
)
VERBS = (
    "carries most of the remaining slack", "touches the wall before it touches its neighbours",
    "leaves a hole that no other circle can fill", "should be placed before anything else is moved",
    "settles in the same basin from nearly every start", "freezes long before the gaps have closed",
    "gains more from a small shift than from a larger radius", "is solved exactly and costs almost nothing",
    "breaks the symmetry that the best known packing avoids", "keeps the whole arrangement valid by construction",
    "loses about one percent against the best trial so far", "decides how much room the others will have",
    "improves the sum of the radii only in the last iterations", "is the reason why the parent stopped improving",
)  # fmt: skip
REASONS = (
    "because the constraint on the distance between neighbours becomes active first",
    "so this version moves it last and solves for the radii again after every move",
    "which the evaluation of the parent program showed very clearly",
    "and therefore the temperature falls more slowly while the rows are still loose",
    "although the difference only becomes visible after the polishing step",
    "as long as the centres stay inside the square by the chosen margin",
    "unless two neighbouring circles exchange their places during the search",
    "so the search starts from the boundary and works its way towards the centre",
    "because a purely local method cannot leave this arrangement once it has been reached",
    "and the tolerance has to stay above the tolerance of the evaluation itself",
    "while the remaining circles are free to follow wherever the gradient leads them",
    "which suggests combining both ideas in the next generation of programs",
)  # fmt: skip


def thought(dice: Dice) -> str:
    """One sentence."""
    words = f"{dice.pick(SUBJECTS)} {dice.pick(VERBS)}, {dice.pick(REASONS)}."
    return words[0].upper() + words[1:]


def thoughts(dice: Dice) -> Iterator[str]:
    """Sentences without end, each followed by a blank, now and then by a paragraph."""
    while True:
        yield thought(dice) + ("\n\n" if dice.below(5) == 0 else " ")


def comment(dice: Dice, indent: str = "") -> str:
    """One sentence as comment lines of at most 110 characters."""
    lines = textwrap.wrap(thought(dice), 108 - len(indent))
    return "".join(f"{indent}# {line}\n" for line in lines)


def told(dice: Dice) -> str:
    """One sentence in lines that fit into a docstring of a function."""
    return "\n    ".join(textwrap.wrap(thought(dice), 104))
