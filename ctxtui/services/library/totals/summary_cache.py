"""Sessions' figures as the database caches them.

For sessions without cached figures, it reads and caches the usage of their calls.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, get_type_hints

import msgspec
from msgspec.structs import replace

from ctxtui import __version__
from ctxtui.analysis.labels.labelling import Labelling
from ctxtui.analysis.money.tool_costs import ToolCosts
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.usage import QuotaReport
from ctxtui.services.config.package_data import price_table
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.labels import load_rules
from ctxtui.services.counting.pricing import make_call_pricer, prices_for
from ctxtui.services.library.summarize import Price, complete_usage
from ctxtui.services.recordings.open import load_usage
from ctxtui.store.cache import stored_session_key
from ctxtui.store.rows import sql_text
from ctxtui.store.store import Store
from ctxtui.views.model.session_summary import SessionSummary

VERSION: Final = 23
"""Raised when a figure is computed differently: older summaries are then computed again.

A release has the same effect, because the program's version is part of `version_for`. A new field needs no new number:
summaries without it are invalid (`_cached_type`).
"""

_FILE_FIELDS: Final = (
    "key", "path", "own", "id", "stored", "mtime", "size", "live", "group", "tags", "archived", "subscription",
)  # fmt: skip
"""Fields that are read anew each time: those about the file, and the user's marks."""


def version_for(settings: Settings, labelling: Labelling | None = None) -> str:
    """The version of cached summaries.

    `labelling` are the label rules in force, if already loaded.
    """
    windows = sorted(settings.context_sizes.items()), sorted(settings.usable_contexts.items())
    shaping = (settings.usable_share, windows, sorted(settings.prices.items()))
    rules = labelling or load_rules(settings.labels)
    return f"{VERSION} {__version__} {price_table().version} {shaping} {rules.digest}"


def usage_version_for(settings: Settings) -> str:
    return f"usage {version_for(settings)}"


def cache_key(summary: SessionSummary) -> tuple[str, int]:
    """The cache key of a session besides its time.

    It is file and size, or stored session and number of calls.
    """
    return summary.path or stored_session_key(summary.stored), summary.size


def to_json(summary: SessionSummary) -> dict[str, Any]:
    cached_fields = {name: getattr(summary, name) for name in summary.__struct_fields__ if name not in _FILE_FIELDS}
    return {**cached_fields, "tools": [msgspec.structs.asdict(tool) for tool in summary.tools]}


def from_cached_json(summary: SessionSummary, cached: Json) -> SessionSummary | None:
    """`summary` with the figures that `to_json` made into `cached`; None if they are invalid."""
    try:
        return _with_cached(summary, msgspec.convert(cached, _cached_type()))
    except msgspec.ValidationError:
        return None


def _with_cached(summary: SessionSummary, cached: Any) -> SessionSummary:
    cached_fields = msgspec.structs.asdict(cached)
    # The user may have renamed it since.
    return replace(
        summary,
        **{**cached_fields, "title": summary.own_title or cached_fields["title"], "own_title": summary.own_title},
    )


@cache
def _cached_type() -> type[msgspec.Struct]:
    hints = get_type_hints(SessionSummary, localns={"ToolCosts": ToolCosts, "QuotaReport": QuotaReport})
    return msgspec.defstruct("Kept", [(name, kind) for name, kind in hints.items() if name not in _FILE_FIELDS])


def cached_by_key(
    listed: Iterable[SessionSummary], settings: Settings, *, usage: bool = False
) -> dict[str, SessionSummary]:
    """Listed sessions with valid cached figures, by key.

    With `usage`, also those with only cached usage.
    """
    return {summary.key: summary for summary in iter_cached(listed, settings, usage=usage)}


def iter_cached(
    listed: Iterable[SessionSummary], settings: Settings, *, usage: bool = False
) -> Iterator[SessionSummary]:
    """The same as `cached_by_key`, one by one in the order of `listed`."""
    summaries, path = list(listed), database(settings.data_dir)
    if not summaries or not path.exists():
        return
    try:
        with Store.open(path) as store:
            # A path has one row: a complete summary, or one with usage only.
            rows = store.load_summaries(usage_version_for(settings)) if usage else []
            rows += store.load_summaries(version_for(settings))
    except CtxtuiError:
        return  # the list of sessions has reported the error already
    cached_json = {(name, size, mtime): json for name, size, mtime, json in rows}
    decoder = msgspec.json.Decoder(_cached_type())
    for summary in summaries:
        name, size = cache_key(summary)
        json = cached_json.get((sql_text(name), size, summary.mtime))
        if json is not None:
            # An invalid entry is left out; the caller computes it again.
            with suppress(msgspec.MsgspecError, UnicodeEncodeError):
                yield _with_cached(summary, decoder.decode(json))


def reread_reason(listed: Iterable[SessionSummary], settings: Settings) -> str:
    """Why sessions of `listed`, which have no valid cached figures, are read again.

    "" if nothing cached of them is outdated or invalid.
    """
    path, now = database(settings.data_dir), version_for(settings)
    if not path.exists():
        return ""
    try:
        with Store.open(path) as store:
            rows = store.outdated_summaries((now, usage_version_for(settings)))
            # As `listed` have no valid figures, those of this version lack a new field.
            rows += [(*row[:3], now) for row in store.load_summaries(now)]
    except CtxtuiError:
        return ""  # the list of sessions has reported the error already
    versions_by_key = {(name, size, mtime): version for name, size, mtime, version in rows}
    versions = {
        versions_by_key[key]
        for summary in listed
        if (place := cache_key(summary)) and (key := (sql_text(place[0]), place[1], summary.mtime)) in versions_by_key
    }
    if not versions:
        return ""
    own = now.split(" ")[:_PROGRAM_WORDS]
    same = now not in versions and all(
        version.removeprefix("usage ").split(" ")[:_PROGRAM_WORDS] == own for version in versions
    )
    return "once more, as settings or label rules changed" if same else "once more, after an upgrade"


_PROGRAM_WORDS: Final = 3
"""Words of a version about the program: summary version, program version, price table version."""


def store_usage(new: Iterable[SessionSummary], settings: Settings) -> None:
    """Cache the usage of sessions with a file, until they are summarized in full."""
    rows = [
        (summary.path, summary.size, summary.mtime, to_json(summary))
        for summary in new
        if summary.path and not summary.error
    ]
    if not rows:
        return
    # A failure only costs the time to read them again.
    with suppress(CtxtuiError), Store.open(database(settings.data_dir)) as store:
        store.save_brief_summaries(rows, usage_version_for(settings), version_for(settings))


def read_usages(unread: Iterable[SessionSummary], settings: Settings) -> Generator[SessionSummary]:
    """Yield each of `unread` that is a file, with the usage of its calls or an error.

    Those without an error are cached at the end, or when the caller stops.
    """
    price = make_call_pricer(prices_for(settings))
    results: list[SessionSummary] = []
    try:
        for summary in unread:
            if summary.path:
                results.append(or_error(summary, partial(_read_usage, summary, price)))
                yield results[-1]
    finally:
        store_usage(results, settings)


def _read_usage(summary: SessionSummary, price: Price) -> SessionSummary:
    return complete_usage(summary, load_usage(Path(summary.path), own=summary.own), price)


def or_error(summary: SessionSummary, make: Callable[[], SessionSummary]) -> SessionSummary:
    """The result of `make`, or `summary` with the error that it raised.

    One fault must not hide other sessions.
    """
    try:
        return make()
    except CtxtuiError as error:
        return replace(summary, known=True, error=error.message)
    except Exception as error:  # noqa: BLE001 - a worker's boundary
        return replace(summary, known=True, error=f"unexpected {type(error).__name__}: {error}")
