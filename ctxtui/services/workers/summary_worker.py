"""Reading sessions for Home, in a process of its own; figures are remembered by path, size and mtime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from ctxtui import __version__
from ctxtui.analysis.book import Book
from ctxtui.analysis.labels.labelling import Labelling
from ctxtui.analysis.money.tool_costs import ToolCosts
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
from ctxtui.pricing.price import call_rates
from ctxtui.pricing.rates import Rates
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.count_cache import Memory, counter_with_memory
from ctxtui.services.counting.counting import Counter, LocalCounts, count_all
from ctxtui.services.counting.labels import Labels, rules_in_force
from ctxtui.services.counting.pricing import price_of, prices_for
from ctxtui.services.library.summarize import filled
from ctxtui.services.recordings.databases.address import file_of
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.open_by_name import Named, open_named
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.model.session_summary import CallSpent, GrowthColumn, SessionSummary

VERSION: Final = 12
"""Raised when a summary holds something else: older ones are then made anew."""

_OF_THE_FILE: Final = (
    "key", "path", "id", "stored", "mtime", "size", "live", "group", "tags", "archived", "subscription",
)  # fmt: skip
"""Fields that are about the file as it stands, and are not remembered."""


def summarise(path: Path, settings: Settings, counter: Counter | None = None) -> SessionSummary:
    """The figures of the recording in `path`. Raises what `load` raises."""
    found = file_of(path).stat()
    return summarised(
        SessionSummary(key=str(path), title=path.name, path=str(path), mtime=found.st_mtime, size=found.st_size),
        settings,
        counter or Counter(),
    )


def summarised(seen: SessionSummary, settings: Settings, counter: Counter) -> SessionSummary:
    """`seen` with the figures of its file. Raises what `load` raises."""
    loaded = load(Path(seen.path))
    book = book_for(loaded.session, counter, settings)
    count_all(book, counter)
    return _filled(seen, loaded, book, settings)


def _filled(seen: SessionSummary, loaded: Loaded, book: Book, settings: Settings) -> SessionSummary:
    table = prices_for(settings)

    def terms(call: Call) -> Rates | None:
        return call_rates(call, table) if call.usage is not None else None

    return filled(seen, loaded, book, price_of(table), terms, settings.usable_share)


def from_store(seen: SessionSummary, settings: Settings, version: str = "") -> SessionSummary:
    """`seen`, which the database holds, with all its figures, which are remembered under `version` (`version_for`) as
    long as no call is added. Raises what reading the database raises."""
    memory = Memory(database(settings.data_dir), create=False)
    key, version = f"stored {seen.stored}", version or version_for(settings)
    kept = memory.summary(key, seen.calls, seen.mtime, version)
    if kept is not None:
        found = replace(seen, **_from_json(kept))
        # What it is called may have changed since.
        return replace(found, title=seen.title) if seen.title != seen.id else found
    with counter_with_memory(settings) as counter:
        loaded = open_named(Named(stored=seen.stored), settings)
        book = book_for(loaded.session, counter, settings)
        count_all(book, counter)
        found = _filled(seen, loaded, book, settings)
    memory.keep_summary(key, seen.calls, seen.mtime, version, _to_json(found))
    return found


def make() -> Callable[[tuple[SessionSummary, Settings]], SessionSummary]:
    """What the child answers with: the session it was sent, with its figures or the error that reading it ended in."""
    bench = LocalCounts()
    memories: dict[str, Memory] = {}
    rules: dict[str, Labelling] = {}

    def answer(request: tuple[SessionSummary, Settings]) -> SessionSummary:
        seen, settings = request
        memory = memories.setdefault(settings.data_dir, Memory(database(settings.data_dir), create=True))
        spelled = repr(settings.labels)
        labelling = rules[spelled] = rules.get(spelled) or rules_in_force(settings.labels)
        version = _version(settings, labelling)
        kept = remembered(seen, memory, version)
        if kept is not None:
            return kept
        counter = Counter(bench, memory.counts, Labels({}, bench, memory.numbers, labelling))
        try:
            found = summarised(seen, settings, counter)
        except CtxtuiError as error:
            found = replace(seen, known=True, error=error.message)
        except Exception as error:  # noqa: BLE001 - a worker's boundary: one session's fault must not hide the others
            return replace(seen, known=True, error=f"unexpected {type(error).__name__}: {error}")
        memory.keep_counts(counter.unsaved())
        memory.keep_summary(seen.path, seen.size, seen.mtime, version, _to_json(found))
        return found

    return answer


def remembered(seen: SessionSummary, memory: Memory, version: str) -> SessionSummary | None:
    """`seen` as `memory` knows it, of the file as it is now; None where it does not."""
    kept = memory.summary(seen.path, seen.size, seen.mtime, version)
    return None if kept is None else replace(seen, **_from_json(kept))


def version_for(settings: Settings) -> str:
    """Under which version summaries are remembered."""
    return _version(settings, rules_in_force(settings.labels))


def _version(settings: Settings, labelling: Labelling) -> str:
    windows = sorted(settings.context_sizes.items()), sorted(settings.usable_contexts.items())
    shaping = (settings.usable_share, windows, sorted(settings.prices.items()))
    return f"{VERSION} {__version__} {prices_for(settings).version} {shaping} {labelling.digest}"


def _to_json(summary: SessionSummary) -> dict[str, Any]:
    return {name: value for name, value in asdict(summary).items() if name not in _OF_THE_FILE}


def _from_json(kept: dict[str, Any]) -> dict[str, Any]:
    return {
        **kept,
        "composition_at_peak": tuple((name, tokens) for name, tokens in kept["composition_at_peak"]),
        "growth": tuple(GrowthColumn(own[0], own[1], own[2], tuple(own[3])) for own in kept["growth"]),
        "models": tuple((name, calls) for name, calls in kept["models"]),
        "by_category": tuple((name, usd) for name, usd in kept["by_category"]),
        "by_tool": tuple((name, usd) for name, usd in kept["by_tool"]),
        "spent": tuple(CallSpent(*own) for own in kept["spent"]),
        "tools": tuple(map(_tool, kept["tools"])),
    }


def _tool(kept: dict[str, Any]) -> ToolCosts:
    carried = tuple((first, end) for first, end in kept["carried"])
    return ToolCosts(**{**kept, "carried": carried, "called": tuple(kept["called"])})
