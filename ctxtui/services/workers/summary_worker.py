"""Reads sessions for Home in child processes; figures are cached by path, size and mtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.labels.labelling import Labelling
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.pricing.price import rates_for_call
from ctxtui.pricing.rates import Rates
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.count_cache import CountCache, cached_counter
from ctxtui.services.counting.counting import Counter, LocalCounts, count_all
from ctxtui.services.counting.labels import Labels, load_rules
from ctxtui.services.counting.pricing import make_call_pricer, prices_for
from ctxtui.services.library.summarize import complete_summary
from ctxtui.services.library.totals.summary_cache import cache_key, from_cached_json, or_error, to_json, version_for
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.open_by_name import Named, open_named
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store.store import Store
from ctxtui.views.model.session_summary import SessionSummary


def summarize(summary: SessionSummary, settings: Settings, counter: Counter) -> SessionSummary:
    """Add the figures of its file to `summary`."""
    loaded = load(Path(summary.path), own=summary.own)
    book = book_for(loaded.session, counter, settings)
    count_all(book, counter)
    return _complete_from(summary, loaded, book, settings, {})


def _complete_from(
    summary: SessionSummary, loaded: Loaded, book: Book, settings: Settings, logs: Mapping[str, Sequence[Edit]]
) -> SessionSummary:
    table = prices_for(settings)

    def rates(call: Call) -> Rates | None:
        return rates_for_call(call, table) if call.usage is not None else None

    return complete_summary(summary, loaded, book, make_call_pricer(table), rates, settings.usable_share, logs)


def _read_edit_logs(stored: str, threads: Iterable[str], settings: Settings) -> dict[str, Sequence[Edit]]:
    with Store.open(database(settings.data_dir), readonly=True) as store:
        return {thread: log for thread in threads if (log := store.edits(stored, thread))}


def summarize_stored(summary: SessionSummary, settings: Settings, version: str = "") -> SessionSummary:
    """Add all figures to `summary`, a session in the database.

    They are cached under `version` (`version_for`) until a call is added.
    """
    cache = CountCache(database(settings.data_dir), create=False)

    def read() -> SessionSummary:
        with cached_counter(settings) as counter:
            loaded = open_named(Named(stored=summary.stored), settings)
            book = book_for(loaded.session, counter, settings)
            count_all(book, counter)
            return _complete_from(
                summary, loaded, book, settings, _read_edit_logs(summary.stored, loaded.session.threads, settings)
            )

    return _cached_or_read(summary, cache, version or version_for(settings), read)


def _cached_or_read(
    listed: SessionSummary, cache: CountCache, version: str, read: Callable[[], SessionSummary]
) -> SessionSummary:
    """The cached figures of `listed`, else those that `read` computes, which are then cached."""
    key = (*cache_key(listed), listed.mtime, version)
    cached = cache.summary(*key)
    if cached is not None and (restored := from_cached_json(listed, cached)) is not None:
        return restored
    summary = read()
    cache.store_summary(*key, to_json(summary))
    return summary


def make() -> Callable[[tuple[SessionSummary, Settings]], SessionSummary]:
    """Make the child's function: it returns a session with its figures, or with an error."""
    bench = LocalCounts()
    caches: dict[str, CountCache] = {}
    rules: dict[str, Labelling] = {}

    def answer(request: tuple[SessionSummary, Settings]) -> SessionSummary:
        summary, settings = request
        cache = caches.setdefault(settings.data_dir, CountCache(database(settings.data_dir), create=True))
        labels = repr(settings.labels)
        labelling = rules[labels] = rules.get(labels) or load_rules(settings.labels)
        version = version_for(settings, labelling)
        if not summary.path:
            return or_error(summary, lambda: summarize_stored(summary, settings, version))
        counter = Counter(bench, cache.counts, Labels({}, bench, cache.numbers, labelling))

        def read() -> SessionSummary:
            try:
                return summarize(summary, settings, counter)
            except CtxtuiError as error:
                return replace(summary, known=True, error=error.message)
            finally:
                cache.store_counts(counter.unsaved())

        return or_error(summary, lambda: _cached_or_read(summary, cache, version, read))

    return answer
