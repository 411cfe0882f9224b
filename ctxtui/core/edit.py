"""Edits: an append-only, reversible overlay over a context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.edit_kinds import KINDS, EditKind, kind_of

APPLY: Final = "apply"
"""Kind of the entry that applies staged edits; it is no edit itself."""
WAIT: Final = "wait"
"""Kind of the entry that sets until when staged edits wait; it is no edit itself."""
LEAVE: Final = "leave"
"""Kind of the entry that records where the context was exported to; it changes nothing."""
REVERT: Final = "revert"
"""Kind of the entry that reverts another one."""

USER: Final = "user"
"""The author whose edits may change pinned blocks."""
REPAIR: Final = "repair"
"""The author of removals that keep the rest of a request valid for the provider; derived, never stored."""


class Target(Struct, frozen=True):
    """The block that an edit is about.

    It is named by its digest and its number among equal blocks of the raw path (0-based), never by its position, so
    that the edit survives a client that resends everything. `id` ("": none) is ``call ID`` for a tool call or ``answer
    ID`` for its result. It finds the block again if the client rewrote the rest of it.
    """

    digest: str
    occurrence: int = 0
    id: str = ""


class Edit(Struct, frozen=True):
    """One entry of the overlay.

    - `id`: chosen by the caller.
    - `kind`: one of `edit_kinds.KINDS`, or `APPLY`, `WAIT`, `LEAVE`, `REVERT`.
    - `author`: ``user``, a policy's name, ``provider`` or ``repair``.
    - `at`: Unix seconds.
    - `payload`: canonical JSON whose members depend on the kind.
    - `batch`: shared by edits made by one action.
    - `reverts`: the id of the entry that an entry of kind ``revert`` reverts.
    """

    id: str
    kind: str
    targets: tuple[Target, ...] = ()
    author: str = USER
    at: float = 0.0
    payload: str = "{}"
    batch: str = ""
    reverts: str = ""

    @property
    def params(self) -> Mapping[str, Json]:
        """The payload as a JSON object (shared: do not change it)."""
        return _decode_payload(self.payload)

    @property
    def spec(self) -> EditKind:
        return kind_of(self.kind)


@lru_cache(maxsize=512)
def _decode_payload(payload: str) -> Mapping[str, Json]:
    value = canonical.loads(payload)
    return value if isinstance(value, dict) else {}


def payload(params: Mapping[str, Json]) -> str:
    return canonical.dumps(dict(params)).decode()


def make(
    kind: str,
    targets: Iterable[Target],
    params: Mapping[str, Json] | None = None,
    *,
    author: str = USER,
    at: float = 0.0,
    id: str = "",
    batch: str = "",
) -> Edit:
    """Make an edit.

    `params` are its payload, `at` is in Unix seconds, edits with one `batch` were made by one action. Without `id`, the
    id is a digest of its effect and author: a rule that proposes an edit again gives it the same id. Raises
    `ValueError` for an unknown kind.
    """
    if kind not in KINDS:
        raise ValueError(f"no edit of kind {kind!r}")
    chosen, text = tuple(targets), payload(params or {})
    return Edit(
        id or _name_by_effect(kind, chosen, author, text), kind, chosen, author=author, at=at, payload=text, batch=batch
    )


def _name_by_effect(kind: str, targets: tuple[Target, ...], author: str, text: str) -> str:
    content = canonical.dumps([kind, author, text, [[t.digest, t.occurrence] for t in targets]])
    return blake2b(content, digest_size=8).hexdigest()


def active_edits(log: Iterable[Edit]) -> list[Edit]:
    """The edits of an append-only log, staged or applied, that are not reverted, in order.

    A reverted revert is in force again. Entries of kind apply, wait and leave are left out.
    """
    entries = list(log)
    reverted = reverted_ids(entries)
    return [e for e in entries if not e.reverts and e.kind not in (APPLY, WAIT, LEAVE) and e.id not in reverted]


def reverted_ids(log: Sequence[Edit]) -> set[str]:
    """The ids of the entries that an entry in force reverts."""
    reverted: set[str] = set()
    for edit in reversed(log):
        if edit.reverts and edit.id not in reverted:
            reverted.add(edit.reverts)
    return reverted
