"""Searching every session in a process of its own, session by session: the screen stays as quick as ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ctxtui.core.errors import BadPattern
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.search.library_search import BlockFilter, Searcher
from ctxtui.services.search.pattern import Pattern
from ctxtui.views.lists.search_hits import SearchProgress, Spotted
from ctxtui.views.model.session_summary import SAMPLES

_IN_SESSION = 100
"""Blocks of one session that are listed."""


class SearchWorker:
    """Searches for one text after the other; `close` ends it at once."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings = settings
        self._cwd = cwd
        self._child = ChildProcess("ctxtui.services.workers.search_worker:make")
        self._number = 0

    def steps(self, text: str, regex: bool) -> Iterator[SearchProgress]:
        """Search for `text`; for a worker thread. The steps of an earlier search end then."""
        self._number = number = self._number + 1
        try:
            step: SearchProgress | None = self._child.ask((number, (self._settings, str(self._cwd), text, regex)))
            while step is not None:
                yield step
                step = self._child.ask((number, None))
        except ChildGone:
            return

    def close(self) -> None:
        """No more."""
        self._child.close()


def make() -> Callable[[Any], SearchProgress | None]:
    """What the child answers with: the next step of the search with that number, which what is to be searched begins;
    None behind the last one, and where another search has begun."""
    searches: dict[int, Iterator[SearchProgress]] = {}

    def answer(request: tuple[int, Any]) -> SearchProgress | None:
        number, wanted = request
        if wanted is not None:
            searches.clear()
            searches[number] = _steps(*wanted)
        return next(searches.get(number, iter(())), None)

    return answer


def _steps(settings: Settings, cwd: str, text: str, regex: bool) -> Iterator[SearchProgress]:
    shelf = SessionLibrary(settings, Path(cwd))
    sessions = [one for one in shelf.listed() if not one.archived]
    sessions.sort(key=lambda one: (one.group == SAMPLES, -one.mtime))
    try:
        searcher = Searcher(settings, Pattern(text, regex=regex), BlockFilter())
        for done, hits in enumerate(searcher.by_session(sessions), 1):
            found = [
                Spotted(
                    target=one.path or one.stored,
                    title=hit.session.about.title or one.title,
                    thread=hit.found.place.thread,
                    call=hit.found.place.call,
                    digest=hit.found.block.digest,
                    category=hit.found.place.category,
                    label=hit.label,
                    hits=hit.found.hits,
                    snippet=hit.found.snippet,
                    at=hit.found.at,
                    end=hit.found.end,
                )
                for hit in islice(hits, _IN_SESSION)
                for one in (hit.summary,)
            ]
            yield SearchProgress(done, len(sessions), searcher.tally.direct, tuple(found))
    except BadPattern as error:
        yield SearchProgress(0, len(sessions), 0, trouble=str(error))
