"""Audits of recordings: what was foretold of each call beside what was reported."""

from __future__ import annotations

from typing import NamedTuple

from ctxtui.analysis.audit import Audited, audited
from ctxtui.analysis.cache.audit import CacheAudited, cache_audited
from ctxtui.core.session import Session
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cached_by
from ctxtui.services.counting.counting import Counter, count_all


class Audit(NamedTuple):
    """What was foretold of one recording beside what was reported: inputs, and what was read from the cache."""

    inputs: list[Audited]
    reads: list[CacheAudited]


def audit(session: Session, counter: Counter, settings: Settings, estimator: str = "") -> Audit:
    """Every call of a session, foretold by the calls before it (see `analysis.audit`, `analysis.cache.audit`)."""
    book = book_for(session, counter, settings, estimator)
    count_all(book, counter)
    return Audit(audited(book), cache_audited(book, cached_by(book)))
