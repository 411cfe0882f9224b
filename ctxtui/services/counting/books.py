"""Makes a session's book, finds the caching rules of its calls, audits its forecasts.

A book holds the token counts of all blocks, and the weights learnt from reports, behind every figure of a session.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ctxtui.analysis.cache.miss import CacheMiss
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.services.config.package_data import DATA, model_table
from ctxtui.services.config.settings import Settings
from ctxtui.tokens.models import SETTING, ModelRule, ModelTable, plain_id

# Modules for audits and caches are imported on use, because the end of a long recording is shown without them.
if TYPE_CHECKING:
    from ctxtui.analysis.audit import AuditedCall
    from ctxtui.analysis.book import Book
    from ctxtui.analysis.cache.audit import AuditedRead
    from ctxtui.cache.rule_table import RuleTable
    from ctxtui.services.counting.counting import Counter


def table_for(settings: Settings, estimator: str = "") -> ModelTable:
    """The model table with the user's context windows; an `estimator` counts for every model."""
    base = model_table()
    if estimator:
        from ctxtui.tokens.estimators import estimator_rule

        base = base.with_rules((estimator_rule(estimator),))
    figures: dict[str, dict[str, int]] = {}
    for name, sizes in (("window", settings.context_sizes), ("usable", settings.usable_contexts)):
        for model, tokens in sizes.items():
            figures.setdefault(plain_id(model), {})[name] = tokens
    return base.with_rules(tuple(ModelRule((model,), sizes, SETTING) for model, sizes in figures.items()))


def book_for(session: Session, counter: Counter, settings: Settings, estimator: str = "") -> Book:
    """Make the book of a session, not counted yet.

    `estimator` is the name of the estimator that counts; "": the model's tokenizer.
    """
    from ctxtui.analysis.book import Book

    return Book(session, table_for(settings, estimator), counter, counter.labels)


@cache
def cache_rules() -> RuleTable:
    from ctxtui.cache.rule_table import parse_rules

    return parse_rules((DATA / "cache.toml").read_text(encoding="utf-8"))


def cache_rules_by_call(book: Book) -> Callable[[Call], CacheRules]:
    table = cache_rules()
    return lambda call: table.for_call(call, book.card(call.model))


class Audit(NamedTuple):
    """Forecasts of a recording next to the reports.

    - `inputs`, `reads`: forecasts of the input and of the cache reads.
    - `misses`: all cache misses, even those without a forecast.
    """

    inputs: list[AuditedCall]
    reads: list[AuditedRead]
    misses: list[CacheMiss]


def audit_session(session: Session, counter: Counter, settings: Settings, estimator: str = "") -> Audit:
    """Forecast the calls of a session from those before them, and find its cache misses.

    See `analysis.audit` and `analysis.cache.audit`. `estimator` as for `book_for`.
    """
    from ctxtui.analysis.audit import audit_calls
    from ctxtui.analysis.cache.miss_finder import find_misses
    from ctxtui.services.counting.counting import count_all

    book = book_for(session, counter, settings, estimator)
    count_all(book, counter)
    finder = find_misses(book, cache_rules_by_call(book))
    return Audit(audit_calls(book), finder.rows, finder.misses)
