"""Who made the contexts of a session smaller, as its recording says: the client, the provider, policies, the user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ctxtui.core.call import COMPACTED, EDITS, Call, EpochStart
from ctxtui.core.edit import REPAIR, USER, Edit
from ctxtui.core.edit_log import edits_in_force
from ctxtui.core.session import Session

BY_HAND: Final = "by hand"
"""In place of a policy: the user's own edits."""
_DATE: Final = re.compile(r"_20\d{6}\Z")


def compressors_of(session: Session) -> tuple[str, ...]:
    """What compacted contexts of `session` or cleared them, in the order of names: the client with who began it
    (``claude code auto``, ``codex``), ``claude code microcompaction``, the provider's own edits (``clear_tool_uses``).
    """
    client, found = session.about.source or "unknown", set[str]()
    for thread in session.threads:
        epoch = None
        for call in session.thread_calls(thread):
            # The first call of an epoch tells how it began; a session that begins with one was compacted in another.
            if epoch is not None and call.epoch.number != epoch:
                found.update(_began(call, client))
            epoch = call.epoch.number
            found.update(_by_provider(call))
    return tuple(sorted(found))


def _began(call: Call, client: str) -> Iterator[str]:
    if call.epoch.start == EpochStart.COMPACTION:
        told = call.extra.get(COMPACTED)
        trigger = told.get("trigger") if isinstance(told, dict) else None
        yield f"{client} {trigger}" if isinstance(trigger, str) and trigger else client
    elif call.epoch.start == EpochStart.MICROCOMPACTION:
        yield f"{client} {EpochStart.MICROCOMPACTION}"


def _by_provider(call: Call) -> Iterator[str]:
    said = call.extra.get("context_management")
    applied = said.get("applied_edits") if isinstance(said, dict) else None
    for edit in applied if isinstance(applied, list) else ():
        kind = edit.get("type") if isinstance(edit, dict) else None
        if isinstance(kind, str):
            yield _DATE.sub("", kind)


def policies_of(session: Session, logs: Mapping[str, Sequence[Edit]]) -> tuple[str, ...]:
    """The policies whose edits calls of `session` left under, by name and in the order of names, `BY_HAND` for the
    user's own. `logs` are the edits of each thread where the database holds them; a call that went through ctxtui says
    itself whose they were."""
    found: set[str] = set()
    known: dict[tuple[str, int], set[str]] = {}
    for call in list(session.calls.values()):
        told = call.extra.get(EDITS)
        if isinstance(told, dict):
            by = told.get("by")
            found.update(one for one in by if isinstance(one, str)) if isinstance(by, list) else None
        elif call.sent_head != call.raw_head and (log := logs.get(call.thread)):
            entries = [entry for entry in log if call.started is None or entry.at <= call.started]
            key = call.thread, len(entries)
            if key not in known:
                known[key] = {edit.author for edit in edits_in_force(entries).applied}
            found |= known[key]
    return tuple(sorted(BY_HAND if name == USER else name for name in found - {REPAIR}))
