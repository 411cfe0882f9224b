"""Books for sessions: figures with the packaged model table, the user's overrides and a counter; how each call is
cached, and what an audit makes of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from ctxtui.analysis.audit import Audited, audited
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.audit import CacheAudited
from ctxtui.analysis.cache.missed import Missed
from ctxtui.analysis.cache.misses import finder_of
from ctxtui.cache.rule_table import RuleTable, parse_rules
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.services.config.package_data import DATA
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.counting.model_cards import table_for


def book_for(session: Session, counter: Counter, settings: Settings, estimator: str = "") -> Book:
    """The figures behind a session; nothing is counted yet. `estimator` is the name of one, "" for the tokenizer."""
    return Book(session, table_for(settings, estimator), counter, counter.labels)


@cache
def cache_rules() -> RuleTable:
    """How each provider caches prompts."""
    return parse_rules((DATA / "cache.toml").read_text(encoding="utf-8"))


class CachedBy:
    """How each call of the session of `book` is cached."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._table = cache_rules()

    def __call__(self, call: Call) -> CacheRules:
        return self._table.of(call, self._book.card(call.model))

    def __reduce__(self) -> tuple[type[CachedBy], tuple[Book]]:
        # The rules are every process's own.
        return CachedBy, (self._book,)


def cached_by(book: Book) -> Callable[[Call], CacheRules]:
    """How each call of a session is cached."""
    return CachedBy(book)


class Audit(NamedTuple):
    """What was foretold of one recording beside what was reported: inputs, and what was read from the cache; with all
    misses, also of calls of which nothing could be foretold."""

    inputs: list[Audited]
    reads: list[CacheAudited]
    misses: list[Missed]


def audit(session: Session, counter: Counter, settings: Settings, estimator: str = "") -> Audit:
    """Every call of a session, foretold by the calls before it (see `analysis.audit`, `analysis.cache.audit`)."""
    book = book_for(session, counter, settings, estimator)
    count_all(book, counter)
    found = finder_of(book, cached_by(book))
    return Audit(audited(book), found.rows, found.found)
