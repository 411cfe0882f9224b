"""Applies a session's edits to requests that another program sends, block by block."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.attach.run import OTHER, TALK
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import PIN
from ctxtui.core.edit_log import edits_in_force, waiting_until
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.core.session import MAIN
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context, marker_lifetimes
from ctxtui.curation.legality.legality import check
from ctxtui.curation.legality.request_check import encode_outgoing
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.config.package_data import model_table
from ctxtui.store.store import Store
from ctxtui.transcripts.kit.http_exchange.decode import asked_model, detect_dialect
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, parse_body
from ctxtui.wire.registry import DIALECTS

MAX_CACHED_TREES: Final = 16
"""Number of threads whose trees are cached, so that known blocks are not parsed again."""


class Proof(Struct, frozen=True):
    """The ids of edits by their effect on one request.

    - `applied`: applied to all or some of their blocks, pins included; empty if the program's own body is sent.
    - `without_target`: their target is not in the request (``asleep`` in the record).
    - `refused`: not applied, or only in part, with the reason. Those refused in part are in `applied`, too.
    - `by`: the authors of the applied ones.
    """

    applied: tuple[str, ...] = ()
    without_target: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    by: tuple[str, ...] = ()

    @property
    def json(self) -> dict[str, Json]:
        """The form that is recorded."""
        record: dict[str, Json] = {
            "applied": [*self.applied],
            "asleep": [*self.without_target],
            "refused": {**dict(self.refused)},
        }
        return {**record, **({"by": [*self.by]} if self.by else {})}


class CuratedRequest(Struct, frozen=True):
    """A request under edits, and the effect of each edit.

    If `body` is None, the program's own is sent.
    """

    body: bytes | None
    proof: Proof


def curate_request(url: str, body: bytes, edits: Sequence[Edit], tree: Tree | None = None) -> CuratedRequest:
    """Apply `edits` to the request `body` to `url`.

    If that raises a `CtxtuiError`, or the edits make the provider refuse the result, the program's own body is kept and
    the proof has the reason. It is also kept if no edit changes it. `tree` holds blocks of earlier requests, which need
    not be parsed again.
    """
    try:
        return _curate(url, body, edits, Tree() if tree is None else tree)
    except CtxtuiError as error:
        return CuratedRequest(None, _refusal(edits, error.message))


def _curate(url: str, body: bytes, edits: Sequence[Edit], tree: Tree) -> CuratedRequest:
    parsed = parse_body(body)
    dialect = detect_dialect(Exchange(body, url=url), parsed) if isinstance(parsed, dict) else ""
    if dialect not in DIALECTS:
        return CuratedRequest(None, _refusal(edits, "edits are not supported for this API"))
    request = DIALECTS[dialect].decode_request(body, None)
    model = asked_model(Exchange(body, url=url).path, parsed)
    card = model_table().card(model)
    head = tree.extend(ROOT, request.items)
    context = Context(tree, head, dialect, request.params, marker_lifetimes(request))
    applied = apply(context, edits, rules_for(dialect, card))
    without_target = tuple(item.edit.id for item in applied.without_target)
    effective = {change.edit.id for change in applied.changes.values()}
    effective |= {insert.edit.id for insert in applied.inserts} | {edit.id for edit in applied.marks.values()}
    refused = {
        item.edit.id: f"in part: {item.why}" if item.edit.id in effective else item.why for item in applied.rejected
    }
    without_effect = {*without_target, *refused} - effective
    applied_ids = tuple(edit.id for edit in edits if edit.id not in without_effect)
    if not applied.is_changed and not applied.marks and not applied.refused:
        return CuratedRequest(None, Proof((), without_target, tuple(refused.items())))
    result = encode_outgoing(applied, request.skeleton, dialect=dialect, model=model, limits=card.request_limits)
    # Violations of the client's own request are ignored; only those that edits add count.
    before = {item.message for item in check(dialect, body, limits=card.request_limits)}
    added = [item for item in result.violations if item.message not in before]
    if added:
        return CuratedRequest(None, _refusal(edits, f"{model} would refuse it: {added[0].message} @ {added[0].path}"))
    by = sorted({edit.author for edit in edits if edit.id in applied_ids})
    return CuratedRequest(result.body, Proof(applied_ids, without_target, tuple(refused.items()), tuple(by)))


def _refusal(edits: Sequence[Edit], why: str) -> Proof:
    return Proof(refused=tuple((edit.id, why) for edit in edits))


class StoredEdits(NamedTuple):
    """The `applied` edits of a thread, and the digests of `pinned` blocks.

    `has_waiting`: staged edits wait for their time; `staged_count`: number of staged edits, waiting ones included.
    """

    applied: tuple[Edit, ...] = ()
    has_waiting: bool = False
    pinned: tuple[str, ...] = ()
    staged_count: int = 0


class _Snapshot(Struct, frozen=True):
    """Edits read when the database's files had these `stamps`.

    `edited` are the sessions with edits.
    """

    stamps: tuple[float, ...] = ()
    edited: tuple[str, ...] = ()
    by_thread: dict[tuple[str, str], StoredEdits] = field(default_factory=dict)

    def edits_of(self, session: str, thread: str) -> StoredEdits | None:
        """The edits of a thread; None if they must be read."""
        # `session` may be the beginning of an id.
        if not any(edited_id.startswith(session) for edited_id in self.edited):
            return StoredEdits()
        return self.by_thread.get((session, thread))


class AppliedEdits(Struct):
    """The edits in force of sessions, read from the database again whenever it has changed."""

    database: Path
    _snapshot: _Snapshot = field(default_factory=_Snapshot)

    def read(self, session: str, thread: str) -> StoredEdits:
        """Read the edits of a thread; empty if the session is not stored. Raises `CtxtuiError`."""
        stamps = self._stamps()
        snapshot = self._snapshot if stamps == self._snapshot.stamps else None
        edits = snapshot.edits_of(session, thread) if snapshot is not None else None
        return edits if edits is not None else self._read(snapshot, stamps, session, thread)

    def cached(self, session: str, thread: str) -> StoredEdits | None:
        """The edits of a thread if they are in memory and current; else None."""
        snapshot = self._snapshot
        return snapshot.edits_of(session, thread) if self._stamps() == snapshot.stamps else None

    def load_ahead(self) -> None:
        """Load the list of sessions with edits ahead of the first request. Raises `CtxtuiError`."""
        if self._stamps() != self._snapshot.stamps:
            # No session has the id "": this reads only the list.
            self.read("", MAIN)

    def may_have_unnamed(self) -> bool:
        """Whether a session whose client sends no id may have edits, judged without reading."""
        snapshot = self._snapshot
        return self._stamps() != snapshot.stamps or any(
            edited_id.startswith((TALK, OTHER)) for edited_id in snapshot.edited
        )

    def _stamps(self) -> tuple[float, ...]:
        stamps: list[float] = []
        for suffix in ("", "-wal"):
            try:
                status = os.stat(f"{self.database}{suffix}")
            except OSError:
                if not suffix:
                    return ()
                continue
            # Reading creates the write-ahead log; an empty one is no change.
            stamps += [status.st_mtime_ns, status.st_size] if status.st_size or not suffix else []
        return tuple(stamps)

    def _read(self, snapshot: _Snapshot | None, stamps: tuple[float, ...], session: str, thread: str) -> StoredEdits:
        # Another thread may read at the same time: a new state of the database gets a new snapshot.
        if not stamps:
            self._snapshot = _Snapshot()
            return StoredEdits()
        try:
            with Store.open(self.database, readonly=True) as store:
                self._snapshot = snapshot = snapshot or _Snapshot(stamps, tuple(store.edited_sessions()))
                edits = snapshot.edits_of(session, thread)
                if edits is None:
                    log = store.edits(session, thread)
                    in_force = edits_in_force(log)
                    pins = [edit for part in in_force for edit in part if edit.kind == PIN]
                    digests = dict.fromkeys(target.digest for edit in pins for target in edit.targets)
                    is_waiting, staged_count = bool(waiting_until(log)), len(in_force.staged)
                    edits = StoredEdits(in_force.applied, is_waiting, tuple(digests), staged_count)
        except NotFound:
            return StoredEdits()
        snapshot.by_thread[session, thread] = edits
        return edits


class Curator:
    """Applies edits to the requests of many threads, with a tree for each."""

    def __init__(self) -> None:
        self._trees: dict[tuple[str, str], Tree] = {}

    def __call__(self, request: tuple[str, str, str, bytes, tuple[Edit, ...]]) -> CuratedRequest:
        """Apply edits to a request, given as (session, thread, URL, body, edits)."""
        session, thread, url, body, edits = request
        tree = self._trees.pop((session, thread), None) or Tree()
        self._trees[session, thread] = tree
        while len(self._trees) > MAX_CACHED_TREES:
            del self._trees[next(iter(self._trees))]
        return curate_request(url, body, edits, tree)
