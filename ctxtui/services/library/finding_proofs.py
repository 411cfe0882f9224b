"""Findings in the lab: each cure is tried on the recording itself, and breakpoints are placed in the next request."""

from __future__ import annotations

from collections.abc import Sequence
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
    return is_long_thread(chosen.number, len(context))


def is_long_thread(calls: int, blocks: int) -> bool:
    """The same of so many calls, the last of which has so many blocks."""
    return calls * blocks > MOST


def bench_of_account(account: Account) -> Bench:
    """What the lab goes by."""
    table, costs = account.table, account.costs
    return Bench(account.book, cached_by(account.book), charges(table), costs, account.usable_share)


def proved(
    account: Account, chosen: ChosenCall, context: Context, found: Sequence[PricedFinding], stand: Sequence[Edit]
) -> list[PricedFinding]:
    """The findings up to the `chosen` call with what the lab finds of them, over the edits that `stand`; `context` is
    the next request. What a setting saves is what the lab says of it."""
    whole = not is_long(chosen, context)
    trials = [
        Trial(chosen.thread, chosen.number, one.finding.edits, tuple(stand), cache=one.finding.cache)
        if one.finding.cache or (one.finding.edits and whole)
        else None
        for one in found
    ]
    results = iter(proofs(bench_of_account(account), [trial for trial in trials if trial is not None]))
    return [
        _with_proof(account, chosen, context, one, next(results) if trial is not None else None)
        for one, trial in zip(found, trials, strict=True)
    ]


def _with_proof(
    account: Account, chosen: ChosenCall, context: Context, one: PricedFinding, proof: Proof | None
) -> PricedFinding:
    about = one.finding
    tried = proof if proof is not None and proof.calls and not proof.refused else None
    if not about.cache:
        if tried is not None and tried.money is not None:
            # Of a cure that costs more than it saves from the first call on nothing was paid too much.
            about = replace(about, so_far=tried.money if tried.money > 0 else None, calls=tried.calls)
        return replace(one, finding=about, paid=one.finding.so_far, proved=tried)
    usd = tried.money if tried is not None else None
    if tried is None or usd is None:
        return one
    marks = placed_breakpoints(context, chosen.call, account.book, about.cache)
    finding = replace(about, so_far=usd, calls=tried.calls, ahead=usd / tried.calls)
    return replace(one, finding=finding, marks=marks, proved=tried)
