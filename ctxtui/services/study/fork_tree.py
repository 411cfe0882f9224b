"""The tree of forks around an open session: what it comes from, what went on from it, and where it went back itself."""

from __future__ import annotations

import time

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.growth.forks import CONTINUED, CallRange, ForkOrigin, lines, origin_from, origin_of
from ctxtui.core.call import count_calls
from ctxtui.core.errors import NotFound
from ctxtui.core.session import Session
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.identity import stored_name
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store.rows import SessionRow
from ctxtui.store.store import Store
from ctxtui.views.lists.forks import ForkRow


class _Known(Struct, frozen=True):
    """What the database knows: where sessions come from, and their rows, both by id."""

    origins: dict[str, ForkOrigin]
    rows: dict[str, SessionRow]


def forks(loaded: Loaded, thread: str, settings: Settings, now: float | None = None) -> list[ForkRow]:
    """The tree in which the session that `loaded` reads stands, with the lines of its `thread`; for a worker thread.
    Raises `CtxtuiError` where the database cannot be read."""
    session, name = loaded.session, stored_name(loaded)
    known = _known(name, origin_of(session), settings)
    own = lines(session, thread)
    moment = time.time() if now is None else now
    found = _Tree(session, name, own, known, moment)
    root = found.root()
    return found.under(root, 0, True, 0)


def _known(name: str, origin: ForkOrigin | None, settings: Settings) -> _Known:
    origins: dict[str, ForkOrigin] = {}
    rows: dict[str, SessionRow] = {}
    path = database(settings.data_dir)
    if path.exists():
        with Store.open(path, readonly=True) as store:
            for id_, text in store.happenings_of(CONTINUED):
                known = origin_from(text)
                if known is not None:
                    origins[id_] = known
            for id_ in {*origins, *(one.session for one in origins.values()), name}:
                try:
                    rows[id_] = store.session(id_)
                except NotFound:
                    continue
    if origin is not None:
        origins[name] = origin
    return _Known(origins, rows)


class _Tree:
    """Rows of the tree, the session `name` with its own lines among them."""

    def __init__(self, session: Session, name: str, own: list[CallRange], known: _Known, now: float) -> None:
        self._session = session
        self._name = name
        self._own = own
        self._known = known
        self._now = now
        self._seen: set[str] = set()

    def root(self) -> str:
        """The session that all of this began with, as far as it is known."""
        at, passed = self._name, {self._name}
        while (origin := self._known.origins.get(at)) is not None and origin.session not in passed:
            at = origin.session
            passed.add(at)
        return at

    def under(self, name: str, depth: int, last: bool, after: int) -> list[ForkRow]:
        """The row of a session and everything that went on from it."""
        self._seen.add(name)
        children = [
            (origin.call, id_)
            for id_, origin in self._known.origins.items()
            if origin.session == name and id_ not in self._seen
        ]
        row = self._row(name, depth, last, after)
        if name == self._name:
            return [row, *self._line(0, depth + 1, sorted(children))]
        found = [row]
        for number, (call, id_) in enumerate(sorted(children), 1):
            found += self.under(id_, depth + 1, number == len(children), call)
        return found

    def _line(self, index: int, depth: int, children: list[tuple[int, str]]) -> list[ForkRow]:
        """What went on from line `index` of the open session: its own other lines, and sessions."""
        line = self._own[index] if self._own else CallRange(1, 0)
        inside = [n for n, one in enumerate(self._own) if n != index and line.first <= one.after <= line.last]
        sessions = [one for one in children if self._line_of(one[0]) == index]
        below = sorted([(self._own[n].after, "", n) for n in inside] + [(call, id_, 0) for call, id_ in sessions])
        found: list[ForkRow] = []
        for number, (after, id_, n) in enumerate(below, 1):
            last = number == len(below)
            if id_:
                found += self.under(id_, depth, last, after)
                continue
            one = self._own[n]
            span = f"{one.first:,}" if one.first == one.last else f"{one.first:,}–{one.last:,}"
            found.append(
                ForkRow(depth=depth, last=last, words=one.words or "a branch", after=after, calls=span, call=one.first)
            )
            found += self._line(n, depth + 1, children)
        return found

    def _line_of(self, call: int) -> int:
        return next((n for n, one in enumerate(self._own) if one.first <= call <= one.last), 0)

    def _row(self, name: str, depth: int, last: bool, after: int) -> ForkRow:
        stored = self._known.rows.get(name)
        row = ForkRow(depth=depth, last=last, words=name, after=after)
        if stored is not None:
            ended = stored.ended
            age = None if ended is None else max(0.0, self._now - ended)
            row = replace(row, words=stored.title or name, calls=f"{stored.calls:,}", age=age, target=name)
        else:
            opens = [one.name for one in self._known.origins.values() if one.session == name and one.name]
            row = replace(row, target=opens[0] if opens else "")
        if name == self._name:
            title = self._session.about.title or row.words
            return replace(
                row, words=title, calls=f"{count_calls(self._session.calls.values()):,}", here=True, target=""
            )
        return row
