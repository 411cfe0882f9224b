"""The log of an overlay: what is staged, what is applied, and undo and redo, all derived from its entries.

The log only grows. An edit is staged from its entry on, applied once an ``apply`` entry that stands names it, and gone
while a ``revert`` of it stands. While it is only staged it may wait: until when, the last ``wait`` entry that names it
says. Undo and redo are reverts that say so, so that they go on after a restart; what was applied at once is one action.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.core.canonical import Json
from ctxtui.core.edit import APPLY, LEAVE, REVERT, USER, WAIT, Edit, in_force, payload

UNDO: Final = "undo"
REDO: Final = "redo"
DISCARD: Final = "discard"
"""Why entries take others back; "" where single ones are taken back."""

EXPIRY: Final = "expiry"
"""Until the cache has expired: the first request after it leaves under the edits."""
MISS: Final = "miss"
"""Until a request misses the cache anyway: that one leaves under them."""


class EditsInForce(NamedTuple):
    """The edits in force: those that are `applied` and those only `staged`, each in order."""

    applied: tuple[Edit, ...]
    staged: tuple[Edit, ...]


def standing(log: Iterable[Edit]) -> EditsInForce:
    """What of `log` is in force."""
    entries = list(log)
    named, there = set[str](), _alive(entries)
    for entry in entries:
        if entry.kind == APPLY and entry.id in there:
            named.update(str(one) for one in entry.given.get("ids", ()))
    alive = in_force(entries)
    return EditsInForce(
        tuple(edit for edit in alive if edit.id in named), tuple(edit for edit in alive if edit.id not in named)
    )


def waiting(log: Iterable[Edit]) -> dict[str, str]:
    """The edits that are staged and wait, by id: until `EXPIRY` or `MISS`."""
    entries, until = list(log), dict[str, str]()
    for entry in entries:
        if entry.kind == WAIT:
            until.update(dict.fromkeys(map(str, entry.given.get("ids", ())), str(entry.given.get("until") or "")))
    staged = standing(entries).staged
    return {edit.id: until[edit.id] for edit in staged if until.get(edit.id) in (EXPIRY, MISS)}


class Stamp(Struct, frozen=True):
    """Who does something and when: `id` names the new action, `at` is Unix seconds."""

    id: str
    at: float
    author: str = USER


def applying(log: Sequence[Edit], stamp: Stamp, only: Iterable[str] | None = None) -> list[Edit]:
    """The entry that applies what is staged, everything or `only` these ids; none where nothing is."""
    chosen = None if only is None else set(only)
    ids = [edit.id for edit in standing(log).staged if chosen is None or edit.id in chosen]
    if not ids:
        return []
    return [Edit(stamp.id, APPLY, author=stamp.author, at=stamp.at, payload=payload({"ids": ids}), batch=stamp.id)]


def postponing(log: Sequence[Edit], until: str, stamp: Stamp, only: Iterable[str] | None = None) -> list[Edit]:
    """The entry that lets what is staged, everything or `only` these ids, wait until `EXPIRY` or `MISS` ("": no
    longer); none where nothing is."""
    chosen = None if only is None else set(only)
    ids: list[Json] = [edit.id for edit in standing(log).staged if chosen is None or edit.id in chosen]
    if not ids:
        return []
    said = payload({"ids": ids, "until": until})
    return [Edit(stamp.id, WAIT, author=stamp.author, at=stamp.at, payload=said, batch=stamp.id)]


def unapplied(log: Iterable[Edit]) -> set[str]:
    """The ids of the edits that were applied once, and whose application was taken back."""
    entries = list(log)
    there = _alive(entries)
    ends = {entry.id: entry.id in there for entry in entries if entry.kind == APPLY}
    named = {str(one): ends[entry.id] for entry in entries if entry.kind == APPLY for one in entry.given.get("ids", ())}
    return {id_ for id_, stands in named.items() if not stands}


def leaving(stamp: Stamp, command: str, place: str, without: Sequence[str], folder: str = "") -> list[Edit]:
    """The entry that says that the context left: the `command` that goes on with it ("": none), the `folder` in which
    it is to be typed ("": any), the file or other `place` where it is, and what it went `without`."""
    said = payload(
        {"command": command, "place": place, "without": list(without), **({"folder": folder} if folder else {})}
    )
    return [Edit(stamp.id, LEAVE, author=stamp.author, at=stamp.at, payload=said, batch=stamp.id)]


def reverting(log: Sequence[Edit], ids: Iterable[str], stamp: Stamp, why: str = "") -> list[Edit]:
    """The entries that take back `ids` (edits; reverts, which then stand again; what was applied, which is then staged
    again); those that are gone already are left alone. `why` is "" or how the entries count (`UNDO`, `REDO`,
    `DISCARD`)."""
    alive = _alive(log)
    said = payload({"as": why} if why else {})
    wanted = [one for one in dict.fromkeys(ids) if one in alive]
    return [
        Edit(f"{stamp.id}.{n}", REVERT, author=stamp.author, at=stamp.at, payload=said, batch=stamp.id, reverts=one)
        for n, one in enumerate(wanted)
    ]


def discarding(log: Sequence[Edit], stamp: Stamp) -> list[Edit]:
    """The entries that take back everything staged."""
    return reverting(log, [edit.id for edit in standing(log).staged], stamp, DISCARD)


def last_done(log: Sequence[Edit]) -> Sequence[Edit]:
    """The entries of the action that undo would take back; none where there is none."""
    done, _ = _actions(log)
    return done[-1] if done else ()


def last_undone(log: Sequence[Edit]) -> Sequence[Edit]:
    """The entries of the action that redo would bring back; none where there is none, or something was done since."""
    _, undone = _actions(log)
    return undone[-1][0] if undone else ()


def undoing(log: Sequence[Edit], stamp: Stamp) -> list[Edit]:
    """The entries that undo the last action that is not undone; none where there is none."""
    return reverting(log, [e.id for e in last_done(log)], stamp, UNDO)


def redoing(log: Sequence[Edit], stamp: Stamp) -> list[Edit]:
    """The entries that bring the last undone action back; none where there is none, or something was done since."""
    _, undone = _actions(log)
    return reverting(log, [e.id for e in undone[-1][1]], stamp, REDO) if undone else []


_Action = list[Edit]


def _actions(log: Sequence[Edit]) -> tuple[list[_Action], list[tuple[_Action, _Action]]]:
    """Actions that stand, oldest first, and those undone, each with the reverts that undid it."""
    done: list[_Action] = []
    undone: list[tuple[_Action, _Action]] = []
    for entries in _batches(log):
        why = entries[0].given.get("as")
        if why == UNDO and done:
            undone.append((done.pop(_meant(done, entries)), entries))
        elif why == REDO and undone:
            done.append(undone.pop()[0])
        else:
            done.append(entries)
            undone.clear()
    return done, undone


def _meant(done: Sequence[_Action], entries: _Action) -> int:
    """Which action the entries of an undo took back: older logs never undid that something was applied."""
    ids = {entry.reverts for entry in entries}
    return next((at for at in range(len(done) - 1, -1, -1) if any(one.id in ids for one in done[at])), -1)


def _batches(log: Sequence[Edit]) -> list[_Action]:
    found: list[_Action] = []
    for entry in log:
        if entry.kind in (WAIT, LEAVE):
            continue
        if found and entry.batch and found[-1][0].batch == entry.batch:
            found[-1].append(entry)
        else:
            found.append([entry])
    return found


def _alive(log: Sequence[Edit]) -> set[str]:
    dead: set[str] = set()
    for entry in reversed(log):
        if entry.reverts and entry.id not in dead:
            dead.add(entry.reverts)
    return {entry.id for entry in log if entry.id not in dead}
