"""Audits of recordings: which files, and the rows of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from ctxtui.analysis.audit import Audited, audited
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.audit import CacheAudited, cache_audited
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.services.config.package_data import cache_rules
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.recordings.folder_scan import recordings_in
from ctxtui.services.recordings.recording import Loaded


def expanded(names: Iterable[str]) -> list[str]:
    """`names` with every recording in a folder, by name, instead of the folder. Raises what `recordings_in` raises."""
    found: list[str] = []
    for name in names:
        path = Path(name).expanduser()
        found += sorted(map(str, recordings_in(path))) if path.is_dir() else [name]
    return found


class Audit(NamedTuple):
    """What was foretold of one recording beside what was reported: inputs, and what was read from the cache."""

    inputs: list[Audited]
    reads: list[CacheAudited]


def audit(loaded: Loaded, counter: Counter, settings: Settings, estimator: str = "") -> Audit:
    """Every call of a recording, foretold by the calls before it (see `analysis.audit`, `analysis.cache.audit`)."""
    book = book_for(loaded.session, counter, settings, estimator)
    count_all(book, counter)
    return Audit(audited(book), cache_audited(book, cached_by(book)))


def cached_by(book: Book) -> Callable[[Call], CacheRules]:
    """How each call of a session is cached."""
    table = cache_rules()
    return lambda call: table.rules(book.card(call.model), call.provider)
