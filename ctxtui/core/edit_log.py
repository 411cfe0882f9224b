"""The log of a thread's edits (its overlay): entries tell what is staged, applied, undone.

- An entry is active unless an active entry reverts it.
- An edit is staged from its entry on.
- It is applied while an active ``apply`` entry names it.
- It has no effect while an active ``revert`` names it.
- A staged edit may wait: the last ``wait`` entry that names it says until when.
- Undo and redo are reverts marked as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.core.canonical import Json
from ctxtui.core.edit import APPLY, LEAVE, REVERT, USER, WAIT, Edit, active_edits, payload, reverted_ids

UNDO: Final = "undo"
REDO: Final = "redo"
DISCARD: Final = "discard"
"""Reasons of reverts."""
EXPIRY: Final = "expiry"
"""Wait until the cache has expired."""
MISS: Final = "miss"
"""Wait until a request misses the cache anyway."""


class EditsInForce(NamedTuple):
    """The edits that are not reverted: those used in requests, and those only prepared."""

    applied: tuple[Edit, ...]
    staged: tuple[Edit, ...]


def edits_in_force(log: Iterable[Edit]) -> EditsInForce:
    """The edits of `log` that are not reverted, applied and staged ones apart, in order."""
    entries = list(log)
    applied_ids, active_ids = set[str](), _active_ids(entries)
    for entry in entries:
        if entry.kind == APPLY and entry.id in active_ids:
            applied_ids.update(str(id_) for id_ in entry.params.get("ids", ()))
    alive = active_edits(entries)
    return EditsInForce(
        tuple(edit for edit in alive if edit.id in applied_ids),
        tuple(edit for edit in alive if edit.id not in applied_ids),
    )


def waiting_until(log: Iterable[Edit]) -> dict[str, str]:
    """The conditions (`EXPIRY` or `MISS`) of staged edits that wait, by the edit's id."""
    entries, condition_by_id = list(log), dict[str, str]()
    for entry in entries:
        if entry.kind == WAIT:
            condition_by_id.update(
                dict.fromkeys(map(str, entry.params.get("ids", ())), str(entry.params.get("until") or ""))
            )
    staged = edits_in_force(entries).staged
    return {edit.id: condition_by_id[edit.id] for edit in staged if condition_by_id.get(edit.id) in (EXPIRY, MISS)}


class Stamp(Struct, frozen=True):
    """Id of a new action, its author, and its time (`at`, Unix seconds)."""

    id: str
    at: float
    author: str = USER


def apply_staged(log: Sequence[Edit], stamp: Stamp, only: Iterable[str] | None = None) -> list[Edit]:
    """Make the entry that applies all staged edits, or `only` these ids.

    Empty if there are none.
    """
    chosen = None if only is None else set(only)
    ids = [edit.id for edit in edits_in_force(log).staged if chosen is None or edit.id in chosen]
    if not ids:
        return []
    return [Edit(stamp.id, APPLY, author=stamp.author, at=stamp.at, payload=payload({"ids": ids}), batch=stamp.id)]


def postpone_staged(log: Sequence[Edit], until: str, stamp: Stamp, only: Iterable[str] | None = None) -> list[Edit]:
    """Make the entry that lets staged edits, or `only` these ids, wait.

    They wait for `EXPIRY` or `MISS` ("": no longer). Empty if there are none.
    """
    chosen = None if only is None else set(only)
    ids: list[Json] = [edit.id for edit in edits_in_force(log).staged if chosen is None or edit.id in chosen]
    if not ids:
        return []
    params = payload({"ids": ids, "until": until})
    return [Edit(stamp.id, WAIT, author=stamp.author, at=stamp.at, payload=params, batch=stamp.id)]


def unapplied_ids(log: Iterable[Edit]) -> set[str]:
    """The ids of the edits whose last application was reverted."""
    entries = list(log)
    active_ids = _active_ids(entries)
    ends = {entry.id: entry.id in active_ids for entry in entries if entry.kind == APPLY}
    named = {
        str(edit_id): ends[entry.id]
        for entry in entries
        if entry.kind == APPLY
        for edit_id in entry.params.get("ids", ())
    }
    return {id_ for id_, is_active in named.items() if not is_active}


def record_export(stamp: Stamp, command: str, place: str, without: Sequence[str], folder: str = "") -> list[Edit]:
    """Make the entry that records an export of the context to `place`.

    `place` is a file or another destination. `command` resumes the export ("": none), if typed in `folder` ("": any).
    `without`: what the export lacks.
    """
    params = payload(
        {"command": command, "place": place, "without": list(without), **({"folder": folder} if folder else {})}
    )
    return [Edit(stamp.id, LEAVE, author=stamp.author, at=stamp.at, payload=params, batch=stamp.id)]


def revert_entries(log: Sequence[Edit], ids: Iterable[str], stamp: Stamp, why: str = "") -> list[Edit]:
    """Make the entries that revert `ids`; those already reverted are skipped.

    `ids` may be of edits, applications (their edits are staged again) and reverts. `why` is `UNDO`, `REDO`, `DISCARD`
    or "".
    """
    all_active = _active_ids(log)
    params = payload({"as": why} if why else {})
    active_ids = [id_ for id_ in dict.fromkeys(ids) if id_ in all_active]
    return [
        Edit(f"{stamp.id}.{n}", REVERT, author=stamp.author, at=stamp.at, payload=params, batch=stamp.id, reverts=id_)
        for n, id_ in enumerate(active_ids)
    ]


def discard_staged(log: Sequence[Edit], stamp: Stamp) -> list[Edit]:
    return revert_entries(log, [edit.id for edit in edits_in_force(log).staged], stamp, DISCARD)


def last_action(log: Sequence[Edit]) -> Sequence[Edit]:
    """The entries of the action that undo would revert; empty if there is none."""
    done, _ = _find_actions(log)
    return done[-1] if done else ()


def last_undone_action(log: Sequence[Edit]) -> Sequence[Edit]:
    """The entries of the action that redo would restore; empty after a newer action."""
    _, undone = _find_actions(log)
    return undone[-1][0] if undone else ()


def undo_last(log: Sequence[Edit], stamp: Stamp) -> list[Edit]:
    return revert_entries(log, [e.id for e in last_action(log)], stamp, UNDO)


def redo_last(log: Sequence[Edit], stamp: Stamp) -> list[Edit]:
    _, undone = _find_actions(log)
    return revert_entries(log, [e.id for e in undone[-1][1]], stamp, REDO) if undone else []


_Action = list[Edit]


def _find_actions(log: Sequence[Edit]) -> tuple[list[_Action], list[tuple[_Action, _Action]]]:
    done: list[_Action] = []
    undone: list[tuple[_Action, _Action]] = []
    for entries in _group_batches(log):
        why = entries[0].params.get("as")
        if why == UNDO and done:
            undone.append((done.pop(_undone_index(done, entries)), entries))
        elif why == REDO and undone:
            done.append(undone.pop()[0])
        else:
            done.append(entries)
            undone.clear()
    return done, undone


def _undone_index(done: Sequence[_Action], entries: _Action) -> int:
    ids = {entry.reverts for entry in entries}
    return next((at for at in range(len(done) - 1, -1, -1) if any(edit.id in ids for edit in done[at])), -1)


def _group_batches(log: Sequence[Edit]) -> list[_Action]:
    batches: list[_Action] = []
    for entry in log:
        if entry.kind in (WAIT, LEAVE):
            continue
        if batches and entry.batch and batches[-1][0].batch == entry.batch:
            batches[-1].append(entry)
        else:
            batches.append([entry])
    return batches


def _active_ids(log: Sequence[Edit]) -> set[str]:
    return {entry.id for entry in log} - reverted_ids(log)
