"""Programs for the circle packing search, put together from functions and mutated by dice."""

from __future__ import annotations

from sessions.dice import Dice
from sessions.pineapple_parts import RADII, REFINE, SEEDS
from sessions.pineapple_words import comment, thought, told

HEAD = """import numpy as np
from scipy.optimize import linprog, minimize
import math

# {title}: pack 26 circles into the unit square so that the sum of their radii is as large as possible.
# {idea}
N = 26
MARGIN = {margin}
SEED = {seed}
"""

TAIL = '''
def is_valid(centres, radii, slack=1e-9):
    """Inside the square, and no two circles overlap."""
    if np.any(centres - radii[:, None] < -slack) or np.any(centres + radii[:, None] > 1 + slack):
        return False
    gaps = np.linalg.norm(centres[:, None] - centres[None, :], axis=-1) + 9 * np.eye(N)
    return bool(np.all(gaps - radii[:, None] - radii[None, :] >= -slack))


def construct_packing():
    """Entry point of the evaluator: centres, radii and their sum."""
    best = None
    for seed in ({calls}):
        centres = {moves}
        radii = best_radii(centres)
        shrink = 1.0 - 1e-9
        while not is_valid(centres, radii * shrink):
            shrink -= {shrink}
        radii = radii * shrink
        if best is None or radii.sum() > best[1].sum():
            best = (centres, radii)
    centres, radii = best
    return centres, radii, float(radii.sum())


if __name__ == "__main__":
    print(construct_packing()[2])
'''


def _settings(dice: Dice) -> dict[str, object]:
    return {
        "rows": dice.pick((5, 5, 6)), "jitter": dice.real(0.001, 0.03), "inner": dice.pick((6, 7, 8, 9)),
        "outer": dice.pick((12, 13, 14, 15)), "r1": dice.real(0.18, 0.27), "r2": dice.real(0.38, 0.44),
        "c": dice.real(0.06, 0.11), "per_side": dice.pick((4, 5, 6)), "rounds": dice.between(12, 60),
        "growth": dice.real(0.5, 0.99), "weight": dice.between(20, 900), "iterations": dice.between(80, 900),
        "tolerance": dice.pick(("1e-9", "1e-10", "2e-9")), "steps": dice.between(400, 9000),
        "hot": dice.real(0.01, 0.08), "cold": dice.pick(("1e-4", "2e-5", "5e-5")), "tries": dice.between(10, 80),
        "spots": dice.pick((400, 800, 1600, 3200)), "force": dice.real(0.0005, 0.01, 4),
        "power": dice.pick((2, 3, 4)), "axis": dice.below(2), "shrink": dice.pick(("1e-7", "2e-8", "5e-8")),
    }  # fmt: skip


def _name(part: str) -> str:
    return part.split("(")[0].split()[-1]


def _explained(part: str, wordy: int, dice: Dice) -> str:
    """The function with up to `wordy` comments before it and as many sentences in its docstring."""
    before = "".join(comment(dice) for _ in range(wordy // 2 + dice.below(2)))
    inside = "".join(f"\n\n    {told(dice)}" for _ in range(wordy - wordy // 2))
    top, _, rest = part.partition('."""\n    ')
    closing = '\n    """\n    ' if inside else '"""\n    '
    return "\n" + before + top.lstrip("\n") + "." + inside + closing + rest


def _chosen(room: int, prose: int, dice: Dice) -> list[str]:
    """Functions that fill `room` characters as far as whole functions can: a start, radii, some refinement;
    `prose` is what the comments of each take."""
    parts = [dice.pick(SEEDS), RADII[0]]
    pool = sorted([*REFINE, RADII[1], *SEEDS], key=lambda _: dice.below(10_000))
    for part in pool:
        more = [part] if "grow_radii" not in part or RADII[1] in parts or part == RADII[1] else [RADII[1], part]
        if part not in parts and sum(len(p) + prose for p in [*parts, *more]) < room:
            parts += more
    return sorted(parts, key=lambda part: [*SEEDS, *RADII, *REFINE].index(part))


def _moves(parts: list[str]) -> str:
    moves = "seed"
    for name in map(_name, parts):
        if name in ("anneal", "repel", "symmetric_pairs"):
            moves = f"{name}({moves})"
    return moves


def _notes(room: int, dice: Dice) -> str:
    """What was learnt, as comments of exactly `room` characters (3 or more)."""
    text = ""
    while room - len(text) > 290:
        text += comment(dice)
    left = room - len(text)
    lines = comment(dice) + comment(dice) + comment(dice)
    last = lines[: left - 2]
    last = last.rpartition(" ")[0].rstrip("\n#,. ") or last
    return text + last + "." + " " * (left - 2 - len(last)) + "\n"


def program(title: str, size: int, dice: Dice) -> str:
    """A program of exactly `size` characters (4,800 or more)."""
    settings = _settings(dice)
    head = HEAD.format(title=title, idea=thought(dice), margin=dice.real(0.01, 0.05), seed=dice.below(9999))
    wordy = 1 if size < 6000 else 5 if size < 8000 else 8 if size < 10_000 else 9
    for prose in range(160 * wordy, 400 * wordy + 400, 40):
        parts = _chosen(size - len(head) - len(TAIL) - 100, prose, dice)
        starts = "".join(f"{_name(part)}(), " for part in parts if part in SEEDS).strip()
        body = "\n".join(_explained(part, wordy, dice).format(**settings) for part in parts)
        tail = "\n" + TAIL.format(calls=starts, moves=_moves(parts), **settings)
        left = size - len(head + body + tail)
        if left >= 3:
            return head + _notes(left, dice) + body + tail
    raise ValueError(f"a program of {size} characters is too small for its parts")
