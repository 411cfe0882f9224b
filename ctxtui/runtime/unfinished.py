"""Chats that ended in the middle of a turn: found, so that they can be offered."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ctxtui.core.errors import CtxtuiError
from ctxtui.runtime.continuing import CHAT
from ctxtui.runtime.places import database
from ctxtui.runtime.settings import Settings

_UNDER_WAY: Final = frozenset({"said", "sent", "heard", "results"})


def is_unfinished(id_: str, settings: Settings) -> bool:
    """Whether the stored chat `id_` ended while a turn was under way; for a worker thread."""
    from ctxtui.store.in_flight import in_flight

    try:
        return any(event.kind in _UNDER_WAY for event in in_flight(database(settings.data_dir), id_))
    except CtxtuiError:
        return False


def unfinished_here(cwd: Path, settings: Settings) -> str:
    """The id of this folder's newest chat where that ended in the middle of a turn, else ""; for a worker thread."""
    path = database(settings.data_dir)
    if not path.exists():
        return ""
    from ctxtui.store.store import Store

    try:
        with Store.open(path, readonly=True) as store:
            chats = [row for row in store.sessions() if row.client == CHAT and row.cwd == str(cwd)]
    except CtxtuiError:
        return ""
    newest = max(chats, key=lambda row: row.ended or row.imported, default=None)
    return newest.id if newest is not None and is_unfinished(newest.id, settings) else ""
