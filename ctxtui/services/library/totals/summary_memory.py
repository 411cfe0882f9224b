"""What Home shows of sessions as the database remembers it, without reading any of them: of thousands in one query."""

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
from ctxtui.services.library.summarize import Price, filled_usage
from ctxtui.services.recordings.open import load_usage
from ctxtui.store.cache import stored_session_key
from ctxtui.store.rows import sql_text
from ctxtui.store.store import Store
from ctxtui.views.model.session_summary import SessionSummary

VERSION: Final = 22
"""Raised when a figure is worked out otherwise: older summaries are then made anew. A new field has its default in
them, and needs it only where that is wrong."""

_OF_THE_FILE: Final = (
    "key", "path", "own", "id", "stored", "mtime", "size", "live", "group", "tags", "archived", "subscription",
)  # fmt: skip
"""Fields that are about the file as it stands, and are not remembered."""


def version_for(settings: Settings, labelling: Labelling | None = None) -> str:
    """Under which version summaries are remembered; `labelling` are the label rules in force, where they are known."""
    windows = sorted(settings.context_sizes.items()), sorted(settings.usable_contexts.items())
    shaping = (settings.usable_share, windows, sorted(settings.prices.items()))
    rules = labelling or load_rules(settings.labels)
    return f"{VERSION} {__version__} {price_table().version} {shaping} {rules.digest}"


def usage_version_for(settings: Settings) -> str:
    """Under which version summaries are remembered of which only the usage is known."""
    return f"usage {version_for(settings)}"


def place_of(seen: SessionSummary) -> tuple[str, int]:
    """What a session is remembered by beside its time: its file and that one's size, or the database's id and calls."""
    return seen.path or stored_session_key(seen.stored), seen.size


def to_json(summary: SessionSummary) -> dict[str, Any]:
    """What is remembered of a session."""
    told = {name: getattr(summary, name) for name in summary.__struct_fields__ if name not in _OF_THE_FILE}
    return {**told, "tools": [msgspec.structs.asdict(tool) for tool in summary.tools]}


def as_remembered(seen: SessionSummary, kept: Json) -> SessionSummary | None:
    """`seen` with the figures in the JSON value `kept`, which `to_json` made; None where it is no such value."""
    try:
        return _told(seen, msgspec.convert(kept, _kept()))
    except msgspec.ValidationError:
        return None


def _told(seen: SessionSummary, kept: Any) -> SessionSummary:
    told = msgspec.structs.asdict(kept)
    # What the user calls it may have changed since.
    return replace(seen, **{**told, "title": seen.own_title or told["title"], "own_title": seen.own_title})


@cache
def _kept() -> type[msgspec.Struct]:
    """The shape of what is remembered."""
    hints = get_type_hints(SessionSummary, localns={"ToolCosts": ToolCosts, "QuotaReport": QuotaReport})
    return msgspec.defstruct("Kept", [(name, kind) for name, kind in hints.items() if name not in _OF_THE_FILE])


def remembered(seen: Iterable[SessionSummary], settings: Settings, *, usage: bool = False) -> dict[str, SessionSummary]:
    """Those of `seen` whose figures are remembered as they are now, by their keys; with `usage` also those of which
    only the usage is."""
    return {one.key: one for one in each_remembered(seen, settings, usage=usage)}


def each_remembered(
    seen: Iterable[SessionSummary], settings: Settings, *, usage: bool = False
) -> Iterator[SessionSummary]:
    """As `remembered`, one after the other in the order of `seen`."""
    wanted, path = list(seen), database(settings.data_dir)
    if not wanted or not path.exists():
        return
    try:
        with Store.open(path) as store:
            # What is known in full comes last, and takes the place of the usage alone.
            rows = store.load_summaries(usage_version_for(settings)) if usage else []
            rows += store.load_summaries(version_for(settings))
    except CtxtuiError:
        return  # whoever listed the sessions has told what is wrong with the database
    kept = {(name, size, mtime): told for name, size, mtime, told in rows}
    decoder = msgspec.json.Decoder(_kept())
    for one in wanted:
        name, size = place_of(one)
        told = kept.get((sql_text(name), size, one.mtime))
        if told is not None:
            # What is no such text is made anew, as if it had never been there.
            with suppress(msgspec.MsgspecError, UnicodeEncodeError):
                yield _told(one, decoder.decode(told))


def why_anew(seen: Iterable[SessionSummary], settings: Settings) -> str:
    """Why some of `seen`, which are not remembered as they are now, are read although they were read before: in a few
    words; "" where none of them was."""
    path, now = database(settings.data_dir), version_for(settings)
    if not path.exists():
        return ""
    try:
        with Store.open(path) as store:
            rows = store.outdated_summaries((now, usage_version_for(settings)))
    except CtxtuiError:
        return ""  # whoever listed the sessions has told what is wrong with the database
    kept = {(name, size, mtime): version for name, size, mtime, version in rows}
    versions = {
        kept[key]
        for one in seen
        if (place := place_of(one)) and (key := (sql_text(place[0]), place[1], one.mtime)) in kept
    }
    if not versions:
        return ""
    own = now.split(" ")[:_OF_THE_PROGRAM]
    same = all(one.removeprefix("usage ").split(" ")[:_OF_THE_PROGRAM] == own for one in versions)
    return "once more, as settings or label rules changed" if same else "once more, after an upgrade"


_OF_THE_PROGRAM: Final = 3
"""Words of a version that tell of the program: its summary's, its own, that of its price table."""


def keep_usage(new: Iterable[SessionSummary], settings: Settings) -> None:
    """Remember what the calls of sessions used, until more is known of them."""
    rows = [(one.path, one.size, one.mtime, to_json(one)) for one in new if one.path and not one.error]
    if not rows:
        return
    # Nothing is lost but the time to read them again.
    with suppress(CtxtuiError), Store.open(database(settings.data_dir)) as store:
        store.save_brief_summaries(rows, usage_version_for(settings), version_for(settings))


def usage_pass(unread: Iterable[SessionSummary], settings: Settings) -> Generator[SessionSummary]:
    """Each of `unread` that is a file, with what its calls used or the error that reading it ended in. What was read is
    remembered when all are, or whoever asks has enough."""
    price = make_call_pricer(prices_for(settings))
    found: list[SessionSummary] = []
    try:
        for one in unread:
            if one.path:
                found.append(or_error(one, partial(_read_usage, one, price)))
                yield found[-1]
    finally:
        keep_usage(found, settings)


def _read_usage(seen: SessionSummary, price: Price) -> SessionSummary:
    return filled_usage(seen, load_usage(Path(seen.path), own=seen.own), price)


def or_error(seen: SessionSummary, make: Callable[[], SessionSummary]) -> SessionSummary:
    """What `make` gives, or `seen` with the error that it ended in: one session's fault must not hide the others."""
    try:
        return make()
    except CtxtuiError as error:
        return replace(seen, known=True, error=error.message)
    except Exception as error:  # noqa: BLE001 - a worker's boundary
        return replace(seen, known=True, error=f"unexpected {type(error).__name__}: {error}")
