"""Fills the full-text index session by session; interrupted work is continued later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.content.search import VERSION, searchable_text
from ctxtui.core.errors import CtxtuiError, NoContext
from ctxtui.core.session import Session
from ctxtui.services.child_process import ChildGone
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.process_pool import iter_answers, processor_count
from ctxtui.services.recordings.open import load
from ctxtui.store.fulltext import Unit
from ctxtui.store.store import Store
from ctxtui.views.model.session_summary import SessionSummary

_MAX_WASTE: Final = 0.5


class SessionIndexed(Struct, frozen=True):
    """The result for one session: the number of indexed `pieces`, or an error."""

    name: str
    pieces: int = 0
    error: str = ""


def index_unit(session: SessionSummary) -> Unit:
    """The index's key of a session: its file if it has one, else its id in the database."""
    return Unit(session.path, session.size, session.mtime) if session.path else Unit(stored=session.stored)


def list_unindexed(settings: Settings, sessions: Iterable[SessionSummary], *, live: bool = False) -> list[Unit]:
    """List the `sessions` that are not indexed in their current state, in the same order.

    Sessions that are still being written are included only with `live`: they would soon be indexed again. If too much
    of the index is outdated, it is emptied first.
    """
    units = [index_unit(session) for session in sessions if (live or not session.live) and not session.error]
    with Store.open(database(settings.data_dir)) as store:
        if store.texts.wasted_share() > _MAX_WASTE:
            store.texts.clear()
        return store.texts.unindexed(units, VERSION)


def fill_index(settings: Settings, units: Iterable[Unit], stop: Callable[[], bool]) -> Iterator[SessionIndexed]:
    """Index `units` one by one until `stop` returns True; it is checked between sessions.

    A session that cannot be read is indexed as empty, so that it is not read again until it changes.
    """
    with Store.open(database(settings.data_dir)) as store:
        for unit in units:
            if stop():
                break
            try:
                yield SessionIndexed(
                    unit.name, store.texts.add(unit, _searchable_texts(_read_session(store, unit)), VERSION)
                )
            except CtxtuiError as error:
                store.texts.add(unit, (), VERSION)
                yield SessionIndexed(unit.name, error=_error_text(error))


class SessionTexts(NamedTuple):
    """The searchable `texts` of a session, or the `error` of reading it.

    `number` is that of the request.
    """

    number: int
    texts: Sequence[str] = ()
    error: str = ""


def fill_in_parallel(settings: Settings, units: Sequence[Unit]) -> Iterator[SessionIndexed]:
    """Index `units` in the order in which they finish.

    Child processes read files, this process writes the index.
    """
    files = [(number, str(Path(unit.path).absolute())) for number, unit in enumerate(units) if unit.path]
    if len(files) < 2 or sum(unit.size for unit in units) < _MIN_PARALLEL_BYTES:
        yield from fill_index(settings, units, lambda: False)
        return
    with Store.open(database(settings.data_dir)) as store:
        for number, texts, error in iter_answers(_MAKER, files, _failed_texts, min(processor_count(), len(files))):
            yield SessionIndexed(units[number].name, store.texts.add(units[number], texts, VERSION), error)
    yield from fill_index(settings, [unit for unit in units if not unit.path], lambda: False)


_MAKER: Final = "ctxtui.services.search.index:make"
_MIN_PARALLEL_BYTES: Final = 3_000_000
"""Bytes that make child processes worth their start."""


def _failed_texts(request: tuple[int, str], error: ChildGone) -> SessionTexts:
    return SessionTexts(request[0], error="its reader process ended")


def make() -> Callable[[tuple[int, str]], SessionTexts]:
    def answer(request: tuple[int, str]) -> SessionTexts:
        number, path = request
        try:
            return SessionTexts(number, list(_searchable_texts(load(Path(path)).session)))
        except CtxtuiError as error:
            return SessionTexts(number, error=_error_text(error))

    return answer


def _error_text(error: CtxtuiError) -> str:
    """ "" if the session holds no context."""
    return "" if isinstance(error, NoContext) else error.message


def merge_parts(settings: Settings) -> None:
    """Merge the parts of the index after much was added."""
    with Store.open(database(settings.data_dir)) as store:
        store.texts.merge()


def _read_session(store: Store, unit: Unit) -> Session:
    return load(Path(unit.path)).session if unit.path else store.load(unit.stored)


def _searchable_texts(session: Session) -> Iterator[str]:
    return filter(None, map(searchable_text, session.tree.blocks.values()))
