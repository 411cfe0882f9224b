"""One session in the lab: counted, priced, taken through every variant."""

from __future__ import annotations

import gc
from collections.abc import Sequence

from ctxtui.analysis.book import Book
from ctxtui.analysis.lab.lab import Progress, experiment
from ctxtui.analysis.lab.report import SessionLab, session_lab
from ctxtui.analysis.lab.variant import Variant, VariantRun
from ctxtui.analysis.lab.variant_pass import Bench, Charge
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.pricing.price import PriceTable, price_call
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cached_by
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.counting.pricing import prices_for


def bench_of(session: Session, counter: Counter, settings: Settings) -> Bench:
    """What the variants of `session` share; counts what is not counted yet."""
    book = book_for(session, counter, settings)
    count_all(book, counter)
    return bench_for(book, settings)


def keep_loaded() -> None:
    """What is loaded now stays until the next time: the collector looks for no garbage in it while variants are tried.
    Only for a process that does nothing else."""
    gc.unfreeze()
    gc.freeze()


def bench_for(book: Book, settings: Settings) -> Bench:
    """The same for a book that is counted."""
    table = prices_for(settings)
    costs = {id_: price_call(call, table) for id_, call in book.session.calls.items()}
    return Bench(book, cached_by(book), charges(table), costs, settings.usable_share)


def charges(table: PriceTable) -> Charge:
    """What calls cost by list price."""

    def charge(call: Call) -> float | None:
        cost = price_call(call, table)
        return None if cost is None else cost.usd

    return charge


def run(bench: Bench, variants: Sequence[Variant], progress: Progress = lambda done, of: True) -> list[VariantRun]:
    """The session under each variant; nothing where `progress` said to stop."""
    return experiment(bench, variants, progress)


def session_in_lab(
    bench: Bench, variants: Sequence[Variant], name: str, progress: Progress = lambda done, of: True
) -> SessionLab:
    """What a lab finds of the session, which is called `name` where it has no id. Raises `Cancelled` where `progress`
    said to stop."""
    runs = run(bench, variants, progress)
    if not runs:
        raise Cancelled("the lab was stopped")
    return session_lab(bench, runs, name)


class Cancelled(CtxtuiError):
    """The user stopped it."""
