"""Filling the full-text index: every session at rest, newest first, each one whole; what is done stays done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.content.search import VERSION, words_of
from ctxtui.core.errors import CtxtuiError, NoContext
from ctxtui.core.session import Session
from ctxtui.services.child_process import ChildGone
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.process_pool import answers, processors
from ctxtui.services.recordings.open import load
from ctxtui.store.fulltext import Unit
from ctxtui.store.store import Store
from ctxtui.views.model.session_summary import SessionSummary

_WASTE: Final = 0.5
"""The share of the index that may be about what is gone before it is begun anew."""


class SessionIndexed(Struct, frozen=True):
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
    units = [unit_of(one) for one in sessions if (live or not one.live) and not one.error]
    with Store.open(database(settings.data_dir)) as store:
        if store.texts.wasted_share() > _WASTE:
            store.texts.clear()
        return store.texts.unindexed(units, VERSION)


def fill(settings: Settings, units: Iterable[Unit], stop: Callable[[], bool]) -> Iterator[SessionIndexed]:
    """Index `units` one by one until `stop` says so. Ends between two sessions; the rest is found the next time."""
    with Store.open(database(settings.data_dir)) as store:
        for unit in units:
            if stop():
                break
            try:
                yield SessionIndexed(unit.name, store.texts.add(unit, _texts(_session(store, unit)), VERSION))
            except CtxtuiError as error:
                # Remembered as empty: it is not read again until it changes.
                store.texts.add(unit, (), VERSION)
                yield SessionIndexed(unit.name, error=_said(error))


class SessionTexts(NamedTuple):
    """The `texts` that are searched in the session that was asked for as `number`; or why it has none (`error`)."""

    number: int
    texts: Sequence[str] = ()
    error: str = ""


def fill_side_by_side(settings: Settings, units: Sequence[Unit]) -> Iterator[SessionIndexed]:
    """As `fill`, each as it comes: files are read on all processors and written here."""
    files = [(number, str(Path(unit.path).absolute())) for number, unit in enumerate(units) if unit.path]
    if len(files) < 2 or sum(unit.size for unit in units) < _WORTH:
        yield from fill(settings, units, lambda: False)
        return
    with Store.open(database(settings.data_dir)) as store:
        for number, texts, error in answers(_MAKER, files, _gone, min(processors(), len(files))):
            yield SessionIndexed(units[number].name, store.texts.add(units[number], texts, VERSION), error)
    yield from fill(settings, [unit for unit in units if not unit.path], lambda: False)


_MAKER: Final = "ctxtui.services.search.index:make"
_WORTH: Final = 3_000_000
"""Bytes from which on other processes are worth their start."""


def _gone(request: tuple[int, str], error: ChildGone) -> SessionTexts:
    return SessionTexts(request[0], error="reading it ended the process that did")


def make() -> Callable[[tuple[int, str]], SessionTexts]:
    """What a process answers with: the texts of the recording at a path, or why it has none."""

    def answer(request: tuple[int, str]) -> SessionTexts:
        number, path = request
        try:
            return SessionTexts(number, list(_texts(load(Path(path)).session)))
        except CtxtuiError as error:
            return SessionTexts(number, error=_said(error))

    return answer


def _said(error: CtxtuiError) -> str:
    """What is said of a session that could not be indexed: nothing where it holds no context."""
    return "" if isinstance(error, NoContext) else error.message


def settle(settings: Settings) -> None:
    """Join the parts of the index, after much was added."""
    with Store.open(database(settings.data_dir)) as store:
        store.texts.merge()


def _session(store: Store, unit: Unit) -> Session:
    if not unit.path:
        return store.load(unit.stored)

    return load(Path(unit.path)).session


def _texts(session: Session) -> Iterator[str]:
    """What is searched in a session."""
    return filter(None, map(words_of, session.tree.blocks.values()))
