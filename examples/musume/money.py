"""What turns cost: phase by phase, and for a hundred and a thousand, beside the table of the authors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from examples.kit import Figure
from examples.musume.played import Log, Played, Prices, cost

THEIRS = Prices(0.80, 0.80, 0.08, 4.00)
"""What the authors reckoned with: a write to the cache costs them nothing more."""
LIST = Prices(1.00, 1.25, 0.10, 5.00)
"""The list price of Claude Haiku 4.5."""
PRICED = "at their $0.80 / $4 ${theirs:.4f}; the list says $1 / $5, and $1.25 for a write"
FULL = 11
"""Turns until the history of 20 messages slides."""
NAMES = "N20, §2 (f)"


def money(runs: Mapping[str, Played]) -> Iterator[Figure]:
    """Rows of what was paid. Costs are of the turns that every run has, but where a hundred are named."""
    plain = runs.get("plain")
    if plain is None:
        return
    yield from _phases(runs, plain)
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


def _phases(runs: Mapping[str, Played], plain: Played) -> Iterator[Figure]:
    """What each phase saves of one turn, at the authors' prices."""
    trimmed, cures, layout = (runs.get(name) for name in ("trimmed", "cures", "layout"))
    if trimmed:
        for number, theirs in ((10, "$0.067"), (20, "$0.134")):
            if len(plain.first) >= number:
                saved = _saved(plain, trimmed, number)
                why = "a history of 20 messages never keeps 20 turns: it stops growing at ten" if number == 20 else ""
                yield _phase(f"phase 1, trimming, saves at turn {number}", theirs, saved, why, "trimmed")
    last = len(plain.first)
    if trimmed and cures:
        saved = sum(_saved(trimmed, cures, n) for n in range(1, last + 1)) / last
        yield _phase(
            "phase 2, the screen, saves a turn", "$0.0023", saved, "a screen is 1,900 tokens, not 4,500", "cures"
        )
    for name, what in (("cures_breakpoints", "their breakpoints"), ("layout", "the layout")):
        run = runs.get(name)
        if cures and run:
            saved = sum(_saved(cures, run, n) for n in range(1, last + 1)) / last
            why = "by their prices a write costs nothing more" if run is layout else "nothing is read"
            yield _phase(f"phase 3, {what}, saves a turn", "$0.0136", saved, why, name)
    for name, theirs in (("breakpoints", "40 to 60 % of input"), ("trimmed_breakpoints", "40 to 60 % of input")):
        run, before = runs.get(name), plain if name == "breakpoints" else trimmed
        if run and before:
            what = "as written" if name == "breakpoints" else "after trimming"
            told = f"{_percent(_input(run.first), _input(before.first))} in {len(run.first)} turns"
            if len(run.first) > FULL:
                told += f", {_percent(_input(run.first[:FULL]), _input(before.first[:FULL]))} in the first {FULL}"
            why = "the second is paid for in vain, the third until the history is full"
            if run is not runs.get("breakpoints"):
                why = "nothing is read, and what is written costs a quarter more"
            why += f"; with answers ${cost(run.first, LIST):.3f}, without breakpoints ${cost(before.first, LIST):.3f}"
            yield Figure(
                f"their three breakpoints, {what}: input costs", theirs, told, why, "ctxtui cost ID", "N17", name
            )


def _phase(claim: str, theirs: str, saved: float, why: str, name: str) -> Figure:
    return Figure(claim, theirs, f"${saved:.4f}", why, "ctxtui cost ID", NAMES, name)


def _saved(before: Played, after: Played, number: int) -> float:
    return cost([before.logs[number - 1]], THEIRS) - cost([after.logs[number - 1]], THEIRS)


def _input(logs: Sequence[Log]) -> float:
    return cost(logs, Prices(LIST.fresh, LIST.written, LIST.read, 0.0))


def _hundreds(runs: Mapping[str, Played], plain: Played) -> Iterator[Figure]:
    """A hundred turns as they were played; a thousand as ten times these, where the context does not grow."""
    for name, hundred, thousand in (("plain", "$2.20", "$22.00"), ("layout", "$0.60, 73 % less", "$6.00, net $16.00")):
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
        later = sum(cost([log], LIST) for log in run.logs[50:100]) / 50
        why = "100 as played, 900 as turns 51 to 100"
        why += "; summed up now and then, as trimmed turns stay" if name == "layout" else ""
        yield Figure(
            f"1,000 turns cost, {name}", thousand, f"${paid + 900 * later:.2f}", why, "ctxtui cost ID", NAMES, name
        )
