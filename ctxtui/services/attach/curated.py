"""Requests of another program under the edits that the user applied to its session: block by block, whatever it
resends."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.attach.run import OTHER, TALK
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_log import edits_in_force, waiting_until
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.core.session import MAIN
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context, lifetimes
from ctxtui.curation.legality.legality import check
from ctxtui.curation.legality.request_check import outgoing
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.config.package_data import model_table
from ctxtui.store.store import Store
from ctxtui.transcripts.kit.http_exchange.decode import detect_dialect
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, parse_body
from ctxtui.wire.registry import DIALECTS

_TREES: Final = 16
"""Threads whose trees are kept: a block that was read once is not read again."""


class Proof(Struct, frozen=True):
    """What became of the edits in one request, by their ids: `applied`, `asleep` (their target is not in it) and
    `refused`, each with the reason; `by` are the authors of those that were applied."""

    applied: tuple[str, ...] = ()
    asleep: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    by: tuple[str, ...] = ()

    @property
    def json(self) -> dict[str, Json]:
        """As it is recorded."""
        told = {"applied": list(self.applied), "asleep": list(self.asleep), "refused": dict(self.refused)}
        return {**told, "by": list(self.by)} if self.by else {**told}


class Curated(Struct, frozen=True):
    """The `body` under the edits, None where the program's own leaves; and what became of each edit."""

    body: bytes | None
    proof: Proof


def curated(url: str, body: bytes, edits: Sequence[Edit], tree: Tree | None = None) -> Curated:
    """The request `body` to `url` under `edits`. What its provider would refuse is not sent: the program's own bytes
    leave, and the proof says why. Never raises."""
    try:
        return _curated(url, body, edits, Tree() if tree is None else tree)
    except CtxtuiError as error:
        return Curated(None, _refusal(edits, error.message))


def _curated(url: str, body: bytes, edits: Sequence[Edit], tree: Tree) -> Curated:
    said = parse_body(body)
    dialect = detect_dialect(Exchange(body, url=url), said) if isinstance(said, dict) else ""
    if dialect not in DIALECTS:
        return Curated(None, _refusal(edits, "a request in an API whose requests cannot be written again"))
    request = DIALECTS[dialect].decode_request(body, None)
    card = model_table().card(request.model)
    head = tree.extend(ROOT, request.items)
    context = Context(tree, head, dialect, request.params, lifetimes(request))
    applied = apply(context, edits, rules_for(dialect, card))
    asleep = tuple(one.edit.id for one in applied.asleep)
    held = {one.edit.id: one.why for one in applied.held}
    done = tuple(edit.id for edit in edits if edit.id not in asleep and edit.id not in held)
    if not applied.touched and not applied.marks and not applied.refused:
        return Curated(None, Proof((), asleep, tuple(held.items())))
    made = outgoing(applied, request.skeleton, dialect=dialect, model=request.model, takes=card.request_limits)
    # What the client itself gets wrong is its own business, as long as no edit adds to it.
    before = {one.message for one in check(dialect, body, takes=card.request_limits)}
    added = [one for one in made.violations if one.message not in before]
    if added:
        return Curated(None, _refusal(edits, f"{request.model} would refuse it: {added[0].message} @ {added[0].path}"))
    by = sorted({edit.author for edit in edits if edit.id in done})
    return Curated(made.body, Proof(done, asleep, tuple(held.items()), tuple(by)))


def _refusal(edits: Sequence[Edit], why: str) -> Proof:
    return Proof(refused=tuple((edit.id, why) for edit in edits))


class StoredEdits(NamedTuple):
    """The edits of a thread that are `applied`, and whether others wait for their time."""

    applied: tuple[Edit, ...] = ()
    wait: bool = False


class _Seen(Struct, frozen=True):
    """The database as it was when its files had the `stamps`: the sessions that are `edited` at all, and what is known
    of threads."""

    stamps: tuple[float, ...] = ()
    edited: tuple[str, ...] = ()
    known: dict[tuple[str, str], StoredEdits] = field(default_factory=dict)

    def of(self, session: str, thread: str) -> StoredEdits | None:
        """The edits of a thread; None where they have to be read."""
        # The database is asked by the beginning of an id as well.
        if not any(one.startswith(session) for one in self.edited):
            return StoredEdits()
        return self.known.get((session, thread))


class AppliedEdits(Struct):
    """The edits that are applied to sessions, as the database has them; it is looked at again when it has changed."""

    database: Path
    _seen: _Seen = field(default_factory=_Seen)

    def of(self, session: str, thread: str) -> StoredEdits:
        """Those of a thread; none where the session is not stored. Raises `CtxtuiError`."""
        stamps = self._now()
        seen = self._seen if stamps == self._seen.stamps else None
        found = seen.of(session, thread) if seen is not None else None
        return found if found is not None else self._read(seen, stamps, session, thread)

    def known(self, session: str, thread: str) -> StoredEdits | None:
        """The same where nothing has to be read for it; else None."""
        seen = self._seen
        return seen.of(session, thread) if self._now() == seen.stamps else None

    def look(self) -> None:
        """Find out which sessions have edits at all, so that the next one to ask need not. Raises `CtxtuiError`."""
        if self._now() != self._seen.stamps:
            self.of("", MAIN)

    def any(self) -> bool:
        """Whether there may be any of a session whose client tells none."""
        seen = self._seen
        return self._now() != seen.stamps or any(one.startswith((TALK, OTHER)) for one in seen.edited)

    def _now(self) -> tuple[float, ...]:
        found: list[float] = []
        for end in ("", "-wal"):
            try:
                status = os.stat(f"{self.database}{end}")
            except OSError:
                if not end:
                    return ()
                continue
            # Whoever looks makes the log of writes; an empty one says nothing.
            found += [status.st_mtime_ns, status.st_size] if status.st_size or not end else []
        return tuple(found)

    def _read(self, seen: _Seen | None, stamps: tuple[float, ...], session: str, thread: str) -> StoredEdits:
        """Look into the database, which is as `seen` (None: not yet). Another thread may look at the same time: what
        was seen is kept as one."""
        if not stamps:
            self._seen = _Seen()
            return StoredEdits()
        try:
            with Store.open(self.database, readonly=True) as store:
                self._seen = seen = seen or _Seen(stamps, tuple(store.edited()))
                found = seen.of(session, thread)
                if found is None:
                    log = store.edits(session, thread)
                    found = StoredEdits(edits_in_force(log).applied, bool(waiting_until(log)))
        except NotFound:
            return StoredEdits()
        seen.known[session, thread] = found
        return found


class Curator:
    """Curates the requests of many threads; each goes on in its own tree."""

    def __init__(self) -> None:
        self._trees: dict[tuple[str, str], Tree] = {}

    def __call__(self, asked: tuple[str, str, str, bytes, tuple[Edit, ...]]) -> Curated:
        """Session, thread, URL, body and edits -> the request under them."""
        session, thread, url, body, edits = asked
        tree = self._trees.pop((session, thread), None) or Tree()
        self._trees[session, thread] = tree
        while len(self._trees) > _TREES:
            del self._trees[next(iter(self._trees))]
        return curated(url, body, edits, tree)
