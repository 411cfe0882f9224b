"""One session in the lab: counted, priced, taken through every variant."""

from __future__ import annotations

import gc
from collections.abc import Sequence

from ctxtui.analysis.lab.lab import Progress, run_experiment
from ctxtui.analysis.lab.report import SessionLab, session_lab
from ctxtui.analysis.lab.variant import Variant, VariantRun
from ctxtui.analysis.lab.variant_pass import LabInputs
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.pricing.price import price_call
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account, make_account
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.services.counting.counting import Counter


def bench_of(session: Session, counter: Counter, settings: Settings) -> LabInputs:
    """What the variants of `session` share; counts what is not counted yet."""
    return bench_for(make_account(session, counter, settings))


def keep_loaded() -> None:
    """What is loaded now stays until the next time: the collector looks for no garbage in it while variants are tried.
    Only for a process that does nothing else."""
    gc.unfreeze()
    gc.freeze()


def bench_for(account: Account) -> LabInputs:
    """The same for a session that is counted and priced."""

    def charge(call: Call) -> float | None:
        cost = price_call(call, account.table)
        return None if cost is None else cost.usd

    return LabInputs(account.book, cache_rules_by_call(account.book), charge, account.costs, account.usable_share)


def run(bench: LabInputs, variants: Sequence[Variant], progress: Progress = lambda done, of: True) -> list[VariantRun]:
    """The session under each variant; nothing where `progress` said to stop."""
    return run_experiment(bench, variants, progress)


def session_in_lab(
    bench: LabInputs, variants: Sequence[Variant], name: str, progress: Progress = lambda done, of: True
) -> SessionLab:
    """What a lab finds of the session, which is called `name` where it has no id. Raises `Cancelled` where `progress`
    said to stop."""
    runs = run(bench, variants, progress)
    if not runs:
        raise Cancelled("the lab was stopped")
    return session_lab(bench, runs, name)


class Cancelled(CtxtuiError):
    """The user stopped it."""
