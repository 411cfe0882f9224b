"""What the solvers found, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxtui.analysis.lab.solve import Fitted
from ctxtui.cli.output import members
from ctxtui.services.lab.solve import Solved
from ctxtui.views.text import numbers


def solved_lines(found: Solved) -> Iterator[str]:
    """The best policy and cache strategy with what they save on sessions that they were not fitted to, and keeping a
    cache warm against writing it again."""
    yield from _fitted("policy", found.policy)
    yield from _fitted("cache strategy", found.cache)
    for one in found.sessions:
        for warm, waited in zip(one.warm, one.waited, strict=True):
            read, write, saved = (
                numbers.money(x) if one.priced else f"{numbers.tokens(round(x))} tok"
                for x in (warm.read, warm.write, waited.saved)
            )
            yield (
                f"{one.lab.session[:8]}: a cache entry lives {_life(warm.life)}. Keeping it alive by requests that "
                f"only read it ({read} each) costs less than writing it again ({write}) up to {warm.requests} of them "
                f"(break-even: a pause of {_life(warm.seconds)})"
            )
            if not waited.longer:
                yield f"  no pause was longer than {_life(warm.life)}: there was nothing to keep alive"
                continue
            were = f"{waited.longer} pause{'s were' if waited.longer != 1 else ' was'} longer than {_life(warm.life)}"
            if not waited.cheaper:
                yield f"  {were}, so long that keeping it alive would have cost more than writing it again"
                continue
            paid = "it" if waited.longer == 1 else f"{waited.cheaper} of them"
            yield f"  {were}; keeping it alive would have paid in {paid} and saved {saved}"


def _fitted(what: str, one: Fitted | None) -> Iterator[str]:
    if one is None:
        yield f"best {what}: nothing could be tried on every session"
        return
    yield f"best {what} of {one.tried}: {one.best}, {_share(one.saves)} of what was recorded"
    if one.held_out is None:
        yield "  chosen from this one session: what it saves on others is not known; name several to have each held out"
        return
    low, high = min(fold.saves for fold in one.folds), max(fold.saves for fold in one.folds)
    own, many = sum(fold.own for fold in one.folds) / len(one.folds), len(one.folds)
    same = sum(fold.chosen == one.best for fold in one.folds)
    others = "the other one" if many == 2 else f"the other {many - 1}"
    yield (
        f"  held out: for each of the {many} sessions the best of {others} was taken and tried on it, which it was not "
        f"chosen from: {_share(one.held_out)} on average ({100 * low:.1f} to {100 * high:.1f} %)"
    )
    yield (
        f"  in {same} of the {many} that was {one.best}, too; had each had its own best, "
        f"that {_share(own, 'would save')}"
    )


def _share(value: float, saves: str = "saves") -> str:
    return f"{saves} {100 * value:.1f} %" if value >= 0 else f"costs {-100 * value:.1f} % more"


def _life(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds <= 3600 else f"{seconds / 3600:.0f} hours"


def solved_fields(found: Solved) -> dict[str, Any]:
    """``solved`` of ``lab --solve --json``."""
    return {
        "policy": _fields(found.policy),
        "cache": _fields(found.cache),
        "keep_warm": [
            {
                "session": one.lab.session,
                "unit": "USD" if one.priced else "fresh tokens",
                **members(
                    warm, "lifetime_seconds=life requests break_even_seconds=seconds read_cost=read write_cost=write"
                ),
                **members(waited, "pauses=longer cheaper saved"),
            }
            for one in found.sessions
            for warm, waited in zip(one.warm, one.waited, strict=True)
        ],
    }


def _fields(one: Fitted | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        **members(one, "best saves tried held_out"),
        "folds": [members(fold, "chosen saves own") for fold in one.folds],
    }
