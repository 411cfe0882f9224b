"""Findings in the lab: each cure is tried on the recording itself, and breakpoints are placed in the next request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.findings.priced import PricedFinding
from ctxtui.analysis.lab.proof import Proof, Trial, proofs
from ctxtui.analysis.lab.variant_pass import Bench
from ctxtui.core.edit import Edit
from ctxtui.curation.context import Context
from ctxtui.services.counting.accounts import Account
from ctxtui.services.counting.books import cached_by
from ctxtui.services.lab.breakpoints import placed_breakpoints
from ctxtui.services.lab.experiment import charges

MOST: Final = 1_000_000
"""Calls times blocks of the last context up to which edits are tried from the first call on: there they are applied
anew nearly at every call."""
TOO_LONG: Final = "the session is too long for the lab to try edits from its first call on"


def is_long(chosen: ChosenCall, context: Context) -> bool:
    """Whether edits are not tried from the first call on."""
    return chosen.number * len(context) > MOST


def proved(
    account: Account, chosen: ChosenCall, context: Context, found: Sequence[PricedFinding], stand: Sequence[Edit]
) -> list[PricedFinding]:
    """The findings up to the `chosen` call with what the lab finds of them, over the edits that `stand`; `context` is
    the next request. What a setting saves is what the lab says of it."""
    last = len(account.session.thread_calls(chosen.thread))
    whole = not is_long(chosen, context)
    trials = [list(_trials(one, chosen, last, tuple(stand), whole=whole)) for one in found]
    bench = Bench(account.book, cached_by(account.book), charges(account.table), account.costs, account.usable_share)
    results = iter(proofs(bench, [trial for own in trials for trial in own]))
    told = [[(trial, next(results)) for trial in own] for own in trials]
    return [_with_proofs(account, chosen, context, one, own) for one, own in zip(found, told, strict=True)]


def _trials(
    one: PricedFinding, chosen: ChosenCall, last: int, stand: tuple[Edit, ...], *, whole: bool
) -> Iterator[Trial]:
    about, thread, number = one.finding, chosen.thread, chosen.number
    if about.cache or (about.edits and whole):
        yield Trial(thread, number, about.edits, stand, cache=about.cache)
    if about.edits and number < last:
        yield Trial(thread, last, about.edits, stand, since=number)


def _with_proofs(
    account: Account, chosen: ChosenCall, context: Context, one: PricedFinding, own: Sequence[tuple[Trial, Proof]]
) -> PricedFinding:
    about = one.finding
    # By what was asked, not by the calls gone through: of the first ones some have no report and are left out.
    first = next((proof for trial, proof in own if not trial.since), None)
    later = next((proof for trial, proof in own if trial.since), None)
    tried = first if first is not None and first.calls and not first.refused else None
    if not about.cache:
        followed = later if later is not None and not later.refused else None
        if tried is not None and tried.money is not None:
            # Of a cure that costs more than it saves from the first call on nothing was paid too much.
            about = replace(about, so_far=tried.money if tried.money > 0 else None, calls=tried.calls)
        return replace(one, finding=about, paid=one.finding.so_far, proved=tried, followed=followed)
    usd = tried.money if tried is not None else None
    if tried is None or usd is None:
        return one
    marks = placed_breakpoints(context, chosen.call, account.book, about.cache)
    finding = replace(about, so_far=usd, calls=tried.calls, ahead=usd / tried.calls)
    return replace(one, finding=finding, marks=marks, proved=tried)
