"""Books for sessions: figures with the packaged model table, the user's overrides and a counter; how each call is
cached, and what an audit makes of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ctxtui.analysis.cache.missed import Missed
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.services.config.package_data import DATA, model_table
from ctxtui.services.config.settings import Settings
from ctxtui.tokens.models import SETTING, ModelRule, ModelTable, plain_id

# What audits and caches need is imported where it is used: the end of a long recording is shown before.
if TYPE_CHECKING:
    from ctxtui.analysis.audit import Audited
    from ctxtui.analysis.book import Book
    from ctxtui.analysis.cache.audit import CacheAudited
    from ctxtui.cache.rule_table import RuleTable
    from ctxtui.services.counting.counting import Counter


def table_for(settings: Settings, estimator: str = "") -> ModelTable:
    """The model table with the user's context windows over it; with an `estimator`, that counts for every model."""
    if estimator:
        # Imported here: few ask for one.
        from ctxtui.tokens.estimators import estimator_rule
    base = model_table().with_rules((estimator_rule(estimator),)) if estimator else model_table()
    figures: dict[str, dict[str, int]] = {}
    for name, own in (("window", settings.context_sizes), ("usable", settings.usable_contexts)):
        for model, tokens in own.items():
            figures.setdefault(plain_id(model), {})[name] = tokens
    return base.with_rules(tuple(ModelRule((model,), own, SETTING) for model, own in figures.items()))


def book_for(session: Session, counter: Counter, settings: Settings, estimator: str = "") -> Book:
    """The figures behind a session; nothing is counted yet. `estimator` is the name of one, "" for the tokenizer."""
    from ctxtui.analysis.book import Book

    return Book(session, table_for(settings, estimator), counter, counter.labels)


@cache
def cache_rules() -> RuleTable:
    """How each provider caches prompts."""
    from ctxtui.cache.rule_table import parse_rules

    return parse_rules((DATA / "cache.toml").read_text(encoding="utf-8"))


def cached_by(book: Book) -> Callable[[Call], CacheRules]:
    """How each call of a session is cached."""
    table = cache_rules()
    return lambda call: table.for_call(call, book.card(call.model))


class Audit(NamedTuple):
    """What was foretold of one recording beside what was reported: inputs, and what was read from the cache; with all
    misses, also of calls of which nothing could be foretold."""

    inputs: list[Audited]
    reads: list[CacheAudited]
    misses: list[Missed]


def audit(session: Session, counter: Counter, settings: Settings, estimator: str = "") -> Audit:
    """Every call of a session, foretold by the calls before it (see `analysis.audit`, `analysis.cache.audit`)."""
    from ctxtui.analysis.audit import audited
    from ctxtui.analysis.cache.misses import finder_of
    from ctxtui.services.counting.counting import count_all

    book = book_for(session, counter, settings, estimator)
    count_all(book, counter)
    found = finder_of(book, cached_by(book))
    return Audit(audited(book), found.rows, found.found)
