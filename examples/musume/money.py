"""What a turn costs, and a hundred, beside the table of the authors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from examples.kit import Figure
from examples.musume.played import Played, Prices, cost

THEIRS = Prices(0.80, 0.80, 0.08, 4.00)
"""What the authors reckoned with: a write to the cache costs them nothing more."""
LIST = Prices(1.00, 1.25, 0.10, 5.00)
"""The list price of Claude Haiku 4.5."""
PRICED = "at their $0.80 / $4 ${theirs:.4f}; the list says $1 / $5, and $1.25 for a write"
NAMES = "N20, §2 (f)"


def money(runs: Mapping[str, Played]) -> Iterator[Figure]:
    """Rows of what was paid. Costs are of the turns that every run has, but where a hundred are named."""
    plain = runs.get("plain")
    if plain is None:
        return
    base = _turn(plain)
    for name, run in runs.items():
        if name.endswith("_alone") or name.startswith("summary"):
            continue
        turn = _turn(run)
        less = "" if run is plain else f", {_percent(turn, base)}"
        theirs = {"plain": "$0.022", "layout": "$0.006, 73 % less"}.get(name, "")
        why = PRICED.format(theirs=cost(run.first, THEIRS) / len(run.first)) if name in ("plain", "layout") else ""
        yield Figure(
            f"a turn costs, {name.replace('_', ' and ')}",
            theirs,
            f"${turn:.4f}{less}",
            why,
            "ctxtui cost ID",
            NAMES,
            name,
        )
    yield from _hundreds(runs, plain)


def _turn(run: Played) -> float:
    return cost(run.first, LIST) / max(1, len(run.first))


def _percent(after: float, before: float) -> str:
    share = 100 - 100 * after / before
    return f"{share:.0f} % less" if share >= 0 else f"{-share:.0f} % more"


def _hundreds(runs: Mapping[str, Played], plain: Played) -> Iterator[Figure]:
    """A hundred turns as they were played."""
    for name, hundred in (("plain", "$2.20"), ("layout", "$0.60, 73 % less")):
        run = runs.get(name)
        if run is None or len(run.logs) < 100:
            continue
        paid, base = cost(run.logs[:100], LIST), cost(plain.logs[:100], LIST)
        less = "" if run is plain else f", {_percent(paid, base)}"
        said = f"the last prompt is {run.used(run.logs[99]):,} tokens"
        check = f"${run.usd:.2f} by ctxtui cost"
        yield Figure(
            f"100 turns cost, {name}", hundred, f"${paid:.2f}{less}", f"{check}; {said}", "ctxtui cost ID", NAMES, name
        )
