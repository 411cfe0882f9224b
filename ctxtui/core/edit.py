"""Edits: an append-only, reversible overlay over a context; originals are never touched (design §2, §6 law 4)."""

from __future__ import annotations

from _blake2 import blake2b  # hashlib's own: that module loads OpenSSL, which takes a millisecond or two
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.edit_kinds import KINDS, EditKind, kind_of

APPLY: Final = "apply"
"""The entry that applies staged edits; it is no edit itself."""
WAIT: Final = "wait"
"""The entry that says until when staged edits wait; it is no edit itself."""
LEAVE: Final = "leave"
"""The entry that says where the context went: a command, a file; it is no edit itself and changes nothing."""
REVERT: Final = "revert"
"""The entry that takes another one back."""

USER: Final = "user"
"""The author whose edits no pin stops."""
REPAIR: Final = "repair"
"""The author of what must go with an edit so that the provider takes the rest; derived, never stored."""


class Target(Struct, frozen=True):
    """The block an edit is about: its digest and which occurrence on the raw path (0-based), never a position, so
    that the edit survives a client that resends everything. `id` is ``call ID`` or ``answer ID`` with the provider's
    id, where there is one: it finds the block again if the client rewrote the rest of it."""

    digest: str
    occurrence: int = 0
    id: str = ""


class Edit(Struct, frozen=True):
    """One entry of the overlay.

    `id` is given by who makes it, `at` in Unix seconds, `author` is ``user``, a policy's name, ``provider`` or
    ``repair``. `payload` is canonical JSON, what it holds depends on the `kind`. Edits made by one action share
    `batch`. A revert is an entry of kind ``revert`` that names the entry it takes back in `reverts`.
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
    def given(self) -> Mapping[str, Json]:
        """The payload as a JSON object (shared: do not change it)."""
        return _given(self.payload)

    @property
    def does(self) -> EditKind:
        """What edits of its kind do."""
        return kind_of(self.kind)


@lru_cache(maxsize=512)
def _given(payload: str) -> Mapping[str, Json]:
    value = canonical.loads(payload)
    return value if isinstance(value, dict) else {}


def payload(given: Mapping[str, Json]) -> str:
    """What goes into `Edit.payload`."""
    return canonical.dumps(dict(given)).decode()


def make(
    kind: str,
    targets: Iterable[Target],
    given: Mapping[str, Json] | None = None,
    *,
    author: str = USER,
    at: float = 0.0,
    id: str = "",
    batch: str = "",
) -> Edit:
    """An edit. Without `id` it is named after what it does and by whom, so that a rule which proposes the same again
    names it the same. Raises `ValueError` for a kind that there is not."""
    if kind not in KINDS:
        raise ValueError(f"no edit of kind {kind!r}")
    chosen, text = tuple(targets), payload(given or {})
    return Edit(id or _name(kind, chosen, author, text), kind, chosen, author=author, at=at, payload=text, batch=batch)


def _name(kind: str, targets: tuple[Target, ...], author: str, text: str) -> str:
    said = canonical.dumps([kind, author, text, [[t.digest, t.occurrence] for t in targets]])
    return blake2b(said, digest_size=8).hexdigest()


def in_force(log: Iterable[Edit]) -> list[Edit]:
    """The edits of an append-only log, staged or applied, that have not been reverted, in order; a reverted revert
    stands again. Entries that apply others, let them wait, or say where the context went are left out."""
    entries = list(log)
    dead: set[str] = set()
    for edit in reversed(entries):
        if edit.reverts and edit.id not in dead:
            dead.add(edit.reverts)
    return [e for e in entries if not e.reverts and e.kind not in (APPLY, WAIT, LEAVE) and e.id not in dead]
