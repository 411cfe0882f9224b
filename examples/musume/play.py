"""What the offline provider says in each turn: thinking, now and then a memory file, one input tool."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from examples.musume.screens import screen, turn_id

_THOUGHTS = (
    "The list and the screenshot agree. Energy is well above a third, so that nothing forces a rest.",
    "The goal race is still some turns away; what counts until then is where the friends have gathered.",
    "The button is marked, but NEW only means that nobody has opened it yet; it can wait until the goal is safe.",
    "A failure would cost two turns, and the chance of one is small as long as the mood is good.",
    "What I wrote down about the order of the support cards still holds, as the screenshot shows.",
    "There is more below the fold, but nothing that this decision needs.",
    "If the same screen comes a third time I go back and write that down.",
    "The bond of the second friend is nearly full; after that the facility gives twice as much.",
)


def lines(runs: Iterable[int]) -> list[dict[str, Any]]:
    """The answers of runs of so many turns, one run after the other, and one that sums up."""
    return [*(_line(turn) for turns in runs for turn in range(1, turns + 1)), _summary()]


def _line(turn: int) -> dict[str, Any]:
    names = [button["name"] for button in screen(turn)["buttons"]]
    name = names[(5 * turn) % len(names)]
    thought = " ".join(_THOUGHTS[(turn + n) % len(_THOUGHTS)] for n in range(14))
    calls: list[dict[str, Any]] = [{"name": "pressButton", "input": {"name": name}}]
    if turn % 4 == 0:
        words = f"# Next\n\n- {name} was pressed in {turn_id(turn)}.\n- Train until the Debut Race.\n"
        calls.insert(0, {"name": "writeMemoryFile", "input": {"path": "todo.md", "content": words}})
    return {"thinking": f"{thought} So I press {name}.", "calls": calls}


def _summary() -> dict[str, Any]:
    told = {"progress": "The menu is known.", "objectives": "The Debut Race.", "patterns": "NEW can wait."}
    return {"when": "call summarizeContext", "again": True, "calls": [{"name": "summarizeContext", "input": told}]}
