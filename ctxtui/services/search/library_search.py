"""Searches many sessions; those that the index rules out are not opened."""

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
from ctxtui.services.recordings.companion_files import companion_folders
from ctxtui.services.recordings.databases.address import split_address
from ctxtui.services.recordings.discover import id_of
from ctxtui.services.recordings.file_tail import read_error
from ctxtui.services.recordings.open import load
from ctxtui.services.search.index import index_unit
from ctxtui.services.search.pattern import Pattern
from ctxtui.store.fulltext import can_find
from ctxtui.store.store import Store
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.views.model.session_summary import SessionSummary

_PLAIN: Final = frozenset(client.source for client in CLIENTS if client.plain)
"""Formats whose files hold every text as an uncompressed JSON string."""
_WITH_TOOL: Final = frozenset({"tools", "tool_call", "tool_result"})


class BlockFilter(Struct, frozen=True):
    """Restricts hits to blocks of `categories`, and of tools with `tool` in their label.

    Empty means any.
    """

    categories: frozenset[str] = frozenset()
    tool: str = ""

    def may_match(self, place: FirstPlace) -> bool:
        """Whether a block at `place` may match; its tool is checked later."""
        return (not self.categories or place.category in self.categories) and (
            not self.tool or place.category in _WITH_TOOL
        )


class Hit(Struct, frozen=True):
    """A block with hits, its session, and its `label` (tool name or first words)."""

    summary: SessionSummary
    session: Session
    hits: BlockHits
    label: str


class Tally(Struct):
    """Numbers of sessions searched in the index (`indexed`) and without it (`direct`).

    `uses_index`: the index can search for the pattern; if not, all sessions are `direct`.

    `failed` could not be read, by name; `without_context` are the errors of those that have no context.
    """

    indexed: int = 0
    direct: int = 0
    uses_index: bool = True
    failed: dict[str, CtxtuiError] = field(default_factory=dict)
    without_context: list[NoContext] = field(default_factory=list)

    @property
    def unindexed(self) -> int:
        """Number of sessions whose current state is not indexed; 0 without `uses_index`."""
        return self.direct if self.uses_index else 0


class Searcher:
    """Searches sessions for `pattern`; `tally` is updated during the search."""

    def __init__(self, settings: Settings, pattern: Pattern, block_filter: BlockFilter) -> None:
        self._settings = settings
        self.pattern = pattern
        self._filter = block_filter
        self.tally = Tally()

    def hits(
        self, sessions: Iterable[SessionSummary], report: Callable[[int], object] = lambda done: None
    ) -> Iterator[Hit]:
        """Yield the blocks with hits, session by session.

        `report` gets the number of searched sessions before each. Raises `BadPattern`.
        """
        for number, hits in enumerate(self.by_session(sessions)):
            report(number)
            yield from hits

    def by_session(self, sessions: Iterable[SessionSummary]) -> Iterator[Iterator[Hit]]:
        """Yield the hits of each session, in order; a session is opened when its hits are iterated."""
        with ExitStack() as stack:
            store = self._open_store(stack)
            all_sessions = list(sessions)
            out = self._find_ruled_out(store, all_sessions)
            for session in all_sessions:
                yield iter(()) if session.key in out else self._hits_in(session, store)

    def _open_store(self, stack: ExitStack) -> Store | None:
        path = database(self._settings.data_dir)
        return stack.enter_context(Store.open(path)) if path.exists() else None

    def _find_ruled_out(self, store: Store | None, sessions: list[SessionSummary]) -> set[str]:
        """The keys of sessions that the index shows to hold no hit. Counts sessions in `tally`."""
        self.tally.uses_index = can_find(self.pattern.literals)
        names = store.texts.find_candidates(self.pattern.literals) if store is not None else None
        if store is None or names is None:
            self.tally.direct = len(sessions)
            return set()
        unknown = {unit.name for unit in store.texts.unindexed(map(index_unit, sessions), search.VERSION)}
        indexed = [session for session in sessions if session.key not in unknown]
        self.tally.indexed, self.tally.direct = len(indexed), len(sessions) - len(indexed)
        return {session.key for session in indexed if session.key not in names}

    def _hits_in(self, summary: SessionSummary, store: Store | None) -> Iterator[Hit]:
        try:
            session = self._open_session(summary, store)
        except NoContext as error:
            self.tally.without_context.append(error)
            return
        except CtxtuiError as error:
            self.tally.failed[summary.key] = error
            return
        if session is None:
            return
        names = Names(session.tree)
        for block in search.search(session, self.pattern.spans, self.pattern.may_match, self._filter.may_match):
            label = names.label(session.tree[block.place.node])
            if self._filter.tool.lower() in label.lower() or not self._filter.tool:
                yield Hit(summary, session, block, label)

    def _open_session(self, summary: SessionSummary, store: Store | None) -> Session | None:
        """Open a session; None if its bytes already show that it has no hit."""
        if not summary.path:
            return store.load(summary.stored) if store is not None else None
        path = Path(summary.path)
        if not _may_hold_hit(path, self.pattern.may_match):
            return None
        return load(path, own=summary.own).session


def _may_hold_hit(path: Path, may_hold: Callable[[bytes], bool]) -> bool:
    """Whether a recording may hold a hit, by the bytes of its files.

    Files of most formats cannot be judged.
    """
    if split_address(path)[1]:
        return True
    try:
        data = path.read_bytes()
        form = detect(data[:HEAD_BYTES], path.name)
        if form is None or form.name not in _PLAIN or may_hold(data):
            return True
        companions = companion_folders(path, form).list_files({id_of(path.name)})
        return any(may_hold(companion.read_bytes()) for companion in companions)
    except OSError as error:
        raise read_error(path, error) from error
