"""Finds what made contexts smaller in a recorded session: client, provider, policies, user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ctxtui.core.call import COMPACTED, EDITS, Call, EpochStart
from ctxtui.core.edit import REPAIR, USER, Edit
from ctxtui.core.edit_log import edits_in_force
from ctxtui.core.session import Session

BY_HAND: Final = "by hand"
"""Name of the user's own edits among the policies."""
_DATE: Final = re.compile(r"_20\d{6}\Z")
"""The date at the end of a provider's name of an edit: ``clear_tool_uses_20250919``."""


def find_compressors(session: Session) -> tuple[str, ...]:
    """Names of the client's compactions and the provider's edits in a session.

    Examples are ``claude code auto`` and ``clear_tool_uses``.
    """
    client, names = session.about.source or "unknown", set[str]()
    for thread in session.threads:
        epoch = None
        for call in session.thread_calls(thread):
            # A thread's first epoch is skipped: if it starts with a compaction, that happened in another session.
            if epoch is not None and call.epoch.number != epoch:
                names.update(_client_compactions(call, client))
            epoch = call.epoch.number
            names.update(_provider_edits(call))
    return tuple(sorted(names))


def _client_compactions(call: Call, client: str) -> Iterator[str]:
    if call.epoch.start == EpochStart.COMPACTION:
        recorded = call.extra.get(COMPACTED)
        trigger = recorded.get("trigger") if isinstance(recorded, dict) else None
        yield f"{client} {trigger}" if isinstance(trigger, str) and trigger else client
    elif call.epoch.start == EpochStart.MICROCOMPACTION:
        yield f"{client} {EpochStart.MICROCOMPACTION}"


def _provider_edits(call: Call) -> Iterator[str]:
    management = call.extra.get("context_management")
    applied = management.get("applied_edits") if isinstance(management, dict) else None
    for edit in applied if isinstance(applied, list) else ():
        kind = edit.get("type") if isinstance(edit, dict) else None
        if isinstance(kind, str):
            yield _DATE.sub("", kind)


def find_policies(session: Session, logs: Mapping[str, Sequence[Edit]]) -> tuple[str, ...]:
    """Policies whose edits applied to a call of `session`, sorted.

    The user's own edits are `BY_HAND`. `logs` are the edits of each thread in the database; a call that went through
    ctxtui records its own.
    """
    policies: set[str] = set()
    authors: dict[tuple[str, int], set[str]] = {}
    for call in list(session.calls.values()):
        recorded = call.extra.get(EDITS)
        if isinstance(recorded, dict):
            by = recorded.get("by")
            policies.update(author for author in (by if isinstance(by, list) else ()) if isinstance(author, str))
        elif call.sent_head != call.raw_head and (log := logs.get(call.thread)):
            entries = [entry for entry in log if call.started is None or entry.at <= call.started]
            key = call.thread, len(entries)
            if key not in authors:
                authors[key] = {edit.author for edit in edits_in_force(entries).applied}
            policies |= authors[key]
    return tuple(sorted(BY_HAND if name == USER else name for name in policies - {REPAIR}))
