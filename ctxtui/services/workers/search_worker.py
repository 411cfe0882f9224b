"""Searches all sessions in a child process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ctxtui.core.errors import BadPattern
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.search.library_search import BlockFilter, Searcher
from ctxtui.services.search.pattern import Pattern
from ctxtui.views.lists.search_hits import BlockHits, SearchProgress
from ctxtui.views.model.session_summary import SAMPLES

_MAX_SESSION_HITS = 100


class SessionsSearch:
    """Searches all sessions that are not archived, listed as in `cwd`; for a `Worker`."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings, self._cwd = settings, cwd

    def search(self, text: str, regex: bool) -> Iterator[SearchProgress]:
        """Search for `text`, yielding after each session."""
        library = SessionLibrary(self._settings, self._cwd)
        sessions = [summary for summary in library.all_sessions() if not summary.archived]
        sessions.sort(key=lambda session: (session.group == SAMPLES, -session.mtime))
        try:
            searcher = Searcher(self._settings, Pattern(text, regex=regex), BlockFilter())
            for done, hits in enumerate(searcher.by_session(sessions), 1):
                blocks = [
                    BlockHits(
                        target=hit.summary.path or hit.summary.stored,
                        title=hit.session.about.title or hit.summary.title,
                        thread=hit.hits.place.thread,
                        call=hit.hits.place.call,
                        digest=hit.hits.block.digest,
                        category=hit.hits.place.category,
                        label=hit.label,
                        hits=hit.hits.hits,
                        snippet=hit.hits.snippet,
                        at=hit.hits.at,
                        end=hit.hits.end,
                    )
                    for hit in islice(hits, _MAX_SESSION_HITS)
                ]
                yield SearchProgress(done, len(sessions), searcher.tally.unindexed, tuple(blocks))
        except BadPattern as error:
            yield SearchProgress(0, len(sessions), 0, trouble=str(error))
