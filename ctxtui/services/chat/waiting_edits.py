"""Edits of a chat that wait until the cache has expired or a request misses it anyway: whether their time has come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Protocol

from ctxtui.core.edit_log import EXPIRY, MISS
from ctxtui.core.session import MAIN

if TYPE_CHECKING:
    from ctxtui.core.session import Session
    from ctxtui.services.chat.chat_model import ChatModel
    from ctxtui.services.chat.context_files import ContextFiles
    from ctxtui.services.config.config import Config
    from ctxtui.services.config.settings import Settings
    from ctxtui.services.counting.counting import Counter
    from ctxtui.services.editing.overlay import ThreadEdits


class EditedChat(Protocol):
    """A hosted chat whose edits may wait."""

    config: Config
    files: ContextFiles
    overlay: Callable[[], ThreadEdits | None]
    partner: ChatModel | None
    session: Session

    @property
    def clock(self) -> Callable[[], float]:
        """Gives the time in Unix seconds."""


def due(
    session: Session, overlay: ThreadEdits, settings: Settings, counter: Counter, model: str, at: float
) -> frozenset[str]:
    """What has come for the edits of `overlay` that wait (`edit_log.EXPIRY`, `edit_log.MISS`), if the next request is
    one to `model` that is sent `at` that time (Unix seconds); for a worker thread. It is asked of the same simulated
    cache as the price tag."""
    wanted = frozenset(overlay.waiting.values())
    if not wanted:
        return frozenset()
    # Imported here: most chats have no edits.
    from ctxtui.services.editing.next_request import next_call_of

    left = next_call_of(session, counter, settings, MAIN, overlay.applied)
    if left is None or not (left.asked.kept or left.asked.read_now):
        # Nothing is cached: nothing is lost.
        return wanted
    found: set[str] = set()
    expiry = left.asked.expiry
    if not left.asked.read or (expiry is not None and at >= expiry):
        found |= {EXPIRY, MISS}
    if MISS in wanted - found:
        kept = left.asked.kept if left.asked.kept is not None else left.asked.read_now
        now = next_call_of(session, counter, settings, MAIN, overlay.applied, at)
        calls = session.thread_calls(MAIN)
        if now is None or 2 * now.asked.read_now <= kept or (calls and calls[-1].model != model):
            found.add(MISS)
    return wanted & found


def released(overlay: ThreadEdits, come: Collection[str]) -> str:
    """Apply the edits that waited for what has `come`; says how many, and why ("" where none did)."""
    ids = [id_ for id_, until in overlay.waiting.items() if until in come]
    if not overlay.apply(ids):
        return ""
    why = "the cache has expired" if EXPIRY in come else "the cache would be missed anyway"
    told = "1 edit that waited leaves" if len(ids) == 1 else f"{len(ids):,} edits that waited leave"
    return f"{told} with this request: {why}"


async def release_due(host: EditedChat) -> str:
    """The edits of `host`'s chat that waited are applied where what they waited for has come with the next request;
    says how many, and why."""
    overlay, partner = host.overlay(), host.partner
    if overlay is None or partner is None or not overlay.waiting:
        return ""
    from ctxtui.services.counting.counting import Counter

    settings, now = host.config.settings, host.clock()
    counter = host.files.counter = host.files.counter or Counter()
    come = await asyncio.to_thread(due, host.session, overlay, settings, counter, partner.model, now)
    return released(overlay, come)
