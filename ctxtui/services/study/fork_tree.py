"""The tree of forks around an open session: its origin, continuations and branches."""

from __future__ import annotations

import time

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.growth.forks import CONTINUED, CallRange, ForkOrigin, list_lines, parse_origin, session_origin
from ctxtui.core.call import count_calls
from ctxtui.core.errors import NotFound
from ctxtui.core.session import Session
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.identity import stored_id
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store.rows import SessionRow
from ctxtui.store.store import Store
from ctxtui.views.lists.forks import ForkRow


class _StoredForks(Struct, frozen=True):
    """Origins and rows of the sessions in the database, both by session id.

    `own_id` is the open session's id, stored or not.
    """

    own_id: str
    origins: dict[str, ForkOrigin]
    rows: dict[str, SessionRow]


def list_forks(loaded: Loaded, thread: str, settings: Settings) -> list[ForkRow]:
    """List the fork tree of the session in `loaded`, with the branches of its `thread`.

    Raises `CtxtuiError` if the database cannot be read.
    """
    branches = list_lines(loaded.session, thread)
    tree = _ForkTreeBuilder(loaded.session, branches, _load_stored(loaded, settings))
    return tree.rows_under(tree.find_root(), 0, True, 0)


def _load_stored(loaded: Loaded, settings: Settings) -> _StoredForks:
    origins: dict[str, ForkOrigin] = {}
    rows: dict[str, SessionRow] = {}
    path = database(settings.data_dir)
    if not path.exists():
        own_id = stored_id(loaded, None)
    else:
        with Store.open(path, readonly=True) as store:
            own_id = stored_id(loaded, store)
            for id_, text in store.happenings_of(CONTINUED):
                if (origin := parse_origin(text)) is not None:
                    origins[id_] = origin
            for id_ in {*origins, *(origin.session for origin in origins.values()), own_id}:
                try:
                    rows[id_] = store.session(id_)
                except NotFound:
                    continue
    if (origin := session_origin(loaded.session)) is not None:
        origins[own_id] = origin
    return _StoredForks(own_id, origins, rows)


class _ForkTreeBuilder:
    """Builds the rows of the tree; `own` are the branches of the open session."""

    def __init__(self, session: Session, own: list[CallRange], stored: _StoredForks) -> None:
        self._session = session
        self._own_id = stored.own_id
        self._own = own
        self._stored = stored
        self._now = time.time()
        self._seen: set[str] = set()

    def find_root(self) -> str:
        """The earliest known ancestor of the session."""
        ancestor, visited = self._own_id, {self._own_id}
        while (origin := self._stored.origins.get(ancestor)) is not None and origin.session not in visited:
            ancestor = origin.session
            visited.add(ancestor)
        return ancestor

    def rows_under(self, id_: str, depth: int, last: bool, after: int) -> list[ForkRow]:
        """The row of a session and those of everything that continued from it.

        `last`: it is its parent's last child; `after`: the parent's call that it continues from (0: none).
        """
        self._seen.add(id_)
        children = [
            (origin.call, child)
            for child, origin in self._stored.origins.items()
            if origin.session == id_ and child not in self._seen
        ]
        row = self._make_row(id_, depth, last, after)
        if id_ == self._own_id:
            return [row, *self._rows_of_branch(0, depth + 1, sorted(children))]
        rows = [row]
        for number, (call, child) in enumerate(sorted(children), 1):
            rows += self.rows_under(child, depth + 1, number == len(children), call)
        return rows

    def _rows_of_branch(self, index: int, depth: int, children: list[tuple[int, str]]) -> list[ForkRow]:
        """The continuations of branch `index`: the session's own other branches, and sessions."""
        parent = self._own[index] if self._own else CallRange(1, 0)
        inner_branches = [
            n for n, branch in enumerate(self._own) if n != index and parent.first <= branch.after <= parent.last
        ]
        sessions = [branch for branch in children if self._branch_of_call(branch[0]) == index]
        children_by_call = sorted(
            [(self._own[n].after, "", n) for n in inner_branches] + [(call, id_, 0) for call, id_ in sessions]
        )
        rows: list[ForkRow] = []
        for number, (after, id_, n) in enumerate(children_by_call, 1):
            last = number == len(children_by_call)
            if id_:
                rows += self.rows_under(id_, depth, last, after)
                continue
            branch = self._own[n]
            span = f"{branch.first:,}" if branch.first == branch.last else f"{branch.first:,}–{branch.last:,}"
            rows.append(
                ForkRow(
                    depth=depth,
                    is_last=last,
                    name=branch.words or "a branch",
                    after=after,
                    calls=span,
                    call=branch.first,
                )
            )
            rows += self._rows_of_branch(n, depth + 1, children)
        return rows

    def _branch_of_call(self, call: int) -> int:
        return next((n for n, branch in enumerate(self._own) if branch.first <= call <= branch.last), 0)

    def _make_row(self, id_: str, depth: int, last: bool, after: int) -> ForkRow:
        stored = self._stored.rows.get(id_)
        row = ForkRow(depth=depth, is_last=last, name=id_, after=after)
        if stored is not None:
            age = None if stored.ended is None else max(0.0, self._now - stored.ended)
            row = replace(row, name=stored.title or id_, calls=f"{stored.calls:,}", age=age, target=id_)
        else:
            origins = self._stored.origins.values()
            opens = (origin.name for origin in origins if origin.session == id_ and origin.name)
            row = replace(row, target=next(opens, ""))
        if id_ == self._own_id:
            title, count = self._session.about.title or row.name, count_calls(self._session.calls.values())
            return replace(row, name=title, calls=f"{count:,}", is_open=True, target="")
        return row
