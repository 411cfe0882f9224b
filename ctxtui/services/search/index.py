"""Filling the full-text index: every session at rest, newest first, each one whole; what is done stays done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ctxtui.analysis.content.search import VERSION, words_of
from ctxtui.core.errors import CtxtuiError, NoContext
from ctxtui.core.session import Session
from ctxtui.dataclasses import dataclass
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.store.fulltext import Unit
from ctxtui.views.model.session_summary import SessionSummary

if TYPE_CHECKING:
    from ctxtui.store.store import Store

_WASTE: Final = 0.5
"""The share of the index that may be about what is gone before it is begun anew."""


@dataclass(frozen=True, slots=True)
class SessionIndexed:
    """One session is indexed, in `pieces`; or it could not be, and why."""

    name: str
    pieces: int = 0
    error: str = ""


def unit_of(one: SessionSummary) -> Unit:
    """A session as the index knows it: its file where there is one, else what the database holds."""
    return Unit(one.path, one.size, one.mtime) if one.path else Unit(stored=one.stored)


def lacking(settings: Settings, sessions: Iterable[SessionSummary], *, live: bool = False) -> list[Unit]:
    """Those of `sessions` that are not indexed as they are now, in their order; only with `live` also those that are
    still written, which would soon be indexed again."""
    from ctxtui.store.store import Store

    units = [unit_of(one) for one in sessions if (live or not one.live) and not one.error]
    with Store.open(database(settings.data_dir)) as store:
        if store.texts.waste() > _WASTE:
            store.texts.clear()
        return store.texts.lacking(units, VERSION)


def fill(settings: Settings, units: Iterable[Unit], stop: Callable[[], bool]) -> Iterator[SessionIndexed]:
    """Index `units` one by one until `stop` says so. Ends between two sessions; the rest is found the next time."""
    from ctxtui.store.store import Store

    with Store.open(database(settings.data_dir)) as store:
        for unit in units:
            if stop():
                break
            try:
                yield SessionIndexed(unit.name, store.texts.add(unit, _texts(_session(store, unit)), VERSION))
            except CtxtuiError as error:
                # Remembered as empty: it is not read again until it changes.
                store.texts.add(unit, (), VERSION)
                yield SessionIndexed(unit.name, error="" if isinstance(error, NoContext) else error.message)


def settle(settings: Settings) -> None:
    """Join the parts of the index, after much was added."""
    from ctxtui.store.store import Store

    with Store.open(database(settings.data_dir)) as store:
        store.texts.settle()


def _session(store: Store, unit: Unit) -> Session:
    if not unit.path:
        return store.load(unit.stored)
    from ctxtui.services.recordings.open import load

    return load(Path(unit.path)).session


def _texts(session: Session) -> Iterator[str]:
    return filter(None, map(words_of, session.tree.blocks.values()))
