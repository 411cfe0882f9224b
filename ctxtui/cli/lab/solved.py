"""What the solvers found, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxtui.analysis.lab.solve import Fitted
from ctxtui.services.lab.solve import Solved
from ctxtui.views.text import numbers


def solved_lines(found: Solved) -> Iterator[str]:
    """The best policy and cache strategy with what they save on sessions that they were not fitted to, and keeping a
    cache warm against writing it again."""
    many = len(found.sessions)
    yield from _fitted("policy", found.policy, many)
    yield from _fitted("cache strategy", found.cache, many)
    for one in found.sessions:
        for warm, waited in zip(one.warm, one.waited, strict=True):
            minutes = warm.seconds / 60
            read, write = (numbers.money(x) if one.priced else f"{numbers.tokens(round(x))} tok" for x in warm[3:5])
            yield (
                f"{one.lab.session[:8]}: entries of {_life(warm.life)}: up to {warm.requests} requests that only read "
                f"({read} each) cost less than writing again ({write}): break-even after {minutes:,.0f} minutes"
            )
            saved = numbers.money(waited.saved) if one.priced else f"{numbers.tokens(round(waited.saved))} tok"
            longer = f"{waited.longer} pause{'s' if waited.longer != 1 else ''} longer than that"
            yield f"  {longer}; kept warm through {waited.cheaper} of them it would have saved {saved}"


def _fitted(what: str, one: Fitted | None, many: int) -> Iterator[str]:
    if one is None:
        yield f"best {what}: nothing could be tried on every session"
        return
    yield f"best {what} of {one.tried}: {one.best}, {_share(one.saves)} of what was recorded"
    if one.held_out is None:
        yield "  fitted to this one session: what it saves on others is not known; name several to have each held out"
        return
    low, high = min(fold.saves for fold in one.folds), max(fold.saves for fold in one.folds)
    own = sum(fold.own for fold in one.folds) / len(one.folds)
    same = sum(fold.chosen == one.best for fold in one.folds)
    yield (
        f"  held out, each of {many} sessions once: {_share(one.held_out)} on average ({100 * low:.1f} to "
        f"{100 * high:.1f} %); the best for each alone {_share(own)}; the same choice {same} times"
    )


def _share(value: float) -> str:
    return f"saves {100 * value:.1f} %" if value >= 0 else f"costs {-100 * value:.1f} % more"


def _life(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds < 3600 else f"{seconds / 3600:.0f} h"


def solved_fields(found: Solved) -> dict[str, Any]:
    """``solved`` of ``lab --solve --json``."""
    return {
        "policy": _fields(found.policy),
        "cache": _fields(found.cache),
        "keep_warm": [
            {
                "session": one.lab.session,
                "unit": "USD" if one.priced else "fresh tokens",
                "lifetime_seconds": warm.life,
                "requests": warm.requests,
                "break_even_seconds": warm.seconds,
                "read_cost": warm.read,
                "write_cost": warm.write,
                "pauses": waited.longer,
                "cheaper": waited.cheaper,
                "saved": waited.saved,
            }
            for one in found.sessions
            for warm, waited in zip(one.warm, one.waited, strict=True)
        ],
    }


def _fields(one: Fitted | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "best": one.best,
        "saves": one.saves,
        "tried": one.tried,
        "held_out": one.held_out,
        "folds": [{"chosen": fold.chosen, "saves": fold.saves, "own": fold.own} for fold in one.folds],
    }
