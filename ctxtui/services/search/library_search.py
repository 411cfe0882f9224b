"""Searching every session: what the index rules out is not opened, what is not indexed is looked at directly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from ctxtui.analysis.content import search
from ctxtui.analysis.content.search import BlockHits, FirstPlace
from ctxtui.analysis.short_names import Names
from ctxtui.core.errors import CtxtuiError, NoContext
from ctxtui.core.session import Session
from ctxtui.services.config.clients import CLIENTS
from ctxtui.services.config.format_registry import detect
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.companion_files import folders_of
from ctxtui.services.recordings.databases.address import parted
from ctxtui.services.recordings.discover import id_of
from ctxtui.services.recordings.file_tail import unreadable
from ctxtui.services.recordings.open import load
from ctxtui.services.search.index import unit_of
from ctxtui.services.search.pattern import Pattern
from ctxtui.store.store import Store
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.views.model.session_summary import SessionSummary

_PLAIN: Final = frozenset(client.source for client in CLIENTS if client.plain)
"""Formats whose files hold every text as JSON string, unpacked."""
_WITH_TOOL: Final = frozenset({"tools", "tool_call", "tool_result"})


class BlockFilter(Struct, frozen=True):
    """Which blocks count: of these categories, of a tool whose name holds `tool`. Empty means any."""

    categories: frozenset[str] = frozenset()
    tool: str = ""

    def wants(self, place: FirstPlace) -> bool:
        """Whether a block at `place` may count, its tool apart."""
        return (not self.categories or place.category in self.categories) and (
            not self.tool or place.category in _WITH_TOOL
        )


class Hit(Struct, frozen=True):
    """A block with hits, its `label` (tool, or first words) and the tokens-free facts of its session."""

    summary: SessionSummary
    session: Session
    found: BlockHits
    label: str


class Tally(Struct):
    """How the sessions were searched: `indexed` ones that the index ruled out or in, `direct` ones that it does not
    know, and those that could not be read, by name."""

    indexed: int = 0
    direct: int = 0
    failed: dict[str, CtxtuiError] = field(default_factory=dict)


class Searcher:
    """Searches sessions for `pattern`. `tally` tells how, as far as it has come."""

    def __init__(self, settings: Settings, pattern: Pattern, wanted: BlockFilter) -> None:
        self._settings = settings
        self.pattern = pattern
        self._filter = wanted
        self.tally = Tally()

    def hits(
        self, sessions: Iterable[SessionSummary], goes_on: Callable[[int], bool] = lambda done: True
    ) -> Iterator[Hit]:
        """The blocks with hits, session by session, as they are found. Before each session `goes_on` is told how many
        are done; False ends the search. Raises `BadPattern`."""
        for number, hits in enumerate(self.by_session(sessions)):
            if not goes_on(number):
                return
            yield from hits

    def by_session(self, sessions: Iterable[SessionSummary]) -> Iterator[Iterator[Hit]]:
        """The hits of each of `sessions`, in their order; a session is opened when its hits are asked for."""
        with ExitStack() as stack:
            store = self._store(stack)
            wanted = list(sessions)
            out = self._ruled_out(store, wanted)
            for one in wanted:
                yield iter(()) if one.key in out else self._of(one, store)

    def _store(self, stack: ExitStack) -> Store | None:
        path = database(self._settings.data_dir)
        if not path.exists():
            return None
        return stack.enter_context(Store.open(path))

    def _ruled_out(self, store: Store | None, sessions: list[SessionSummary]) -> set[str]:
        """The keys of those that hold no hit for sure; tells them from those of which the index knows nothing."""
        names = store.texts.find_candidates(self.pattern.literals) if store is not None else None
        if store is None or names is None:
            self.tally.direct = len(sessions)
            return set()
        unknown = {unit.name for unit in store.texts.unindexed(map(unit_of, sessions), search.VERSION)}
        known = [one for one in sessions if one.key not in unknown]
        self.tally.indexed, self.tally.direct = len(known), len(sessions) - len(known)
        return {one.key for one in known if one.key not in names}

    def _of(self, one: SessionSummary, store: Store | None) -> Iterator[Hit]:
        try:
            session = self._opened(one, store)
        except NoContext:
            return
        except CtxtuiError as error:
            self.tally.failed[one.key] = error
            return
        if session is None:
            return
        names = Names(session.tree)
        for found in search.search(session, self.pattern.spans, self.pattern.may_hold, self._filter.wants):
            label = names.label(session.tree[found.place.node])
            if self._filter.tool.lower() in label.lower() or not self._filter.tool:
                yield Hit(one, session, found, label)

    def _opened(self, one: SessionSummary, store: Store | None) -> Session | None:
        """The session; None where its bytes already show that it has no hit."""
        if not one.path:
            return store.load(one.stored) if store is not None else None
        path = Path(one.path)
        if not _may_hold(path, self.pattern.may_hold):
            return None

        return load(path, own=one.own).session


def _may_hold(path: Path, may_hold: Callable[[bytes], bool]) -> bool:
    """Whether a recording may have a hit, told by the bytes of its files; those of most formats tell nothing."""
    if parted(path)[1]:
        return True
    try:
        data = path.read_bytes()
        form = detect(data[:HEAD_BYTES], path.name)
        if form is None or form.name not in _PLAIN or may_hold(data):
            return True
        companions = folders_of(path, form).files({id_of(path.name)})
        return any(may_hold(companion.read_bytes()) for companion in companions)
    except OSError as error:
        raise unreadable(path, error) from error
