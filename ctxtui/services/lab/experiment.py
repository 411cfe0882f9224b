"""Runs one session through all variants: other policies, cache strategies and models."""

from __future__ import annotations

import gc
from collections.abc import Sequence

from ctxtui.analysis.lab.lab import Progress, run_experiment
from ctxtui.analysis.lab.report import SessionLab, session_lab
from ctxtui.analysis.lab.variant import Variant
from ctxtui.analysis.lab.variant_pass import LabInputs
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.pricing.price import price_call
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account, make_account
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.services.counting.counting import Counter


def lab_inputs_of_session(session: Session, counter: Counter, settings: Settings) -> LabInputs:
    return lab_inputs_of_account(make_account(session, counter, settings))


def freeze_loaded() -> None:
    """Exclude all present objects from garbage collection while variants run.

    Only for a process that does nothing else.
    """
    gc.unfreeze()
    gc.freeze()


def lab_inputs_of_account(account: Account) -> LabInputs:
    """The inputs of the lab for a session: its counts, cache rules and prices."""

    def charge(call: Call) -> float | None:
        cost = price_call(call, account.table)
        return None if cost is None else cost.usd

    return LabInputs(account.book, cache_rules_by_call(account.book), charge, account.costs, account.usable_share)


def session_in_lab(
    inputs: LabInputs, variants: Sequence[Variant], name: str, progress: Progress = lambda done, of: True
) -> SessionLab:
    """The lab's results for the session, called `name` if it has no id.

    Raises `Cancelled` if stopped.
    """
    runs = run_experiment(inputs, variants, progress)
    if not runs:
        raise Cancelled("the lab was stopped")
    return session_lab(inputs, runs, name)


class Cancelled(CtxtuiError):
    """The user stopped the lab."""
