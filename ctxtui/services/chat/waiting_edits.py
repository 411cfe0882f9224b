"""Edits of a chat that wait for their time: looked after before each request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ctxtui.core.session import MAIN

if TYPE_CHECKING:
    from ctxtui.services.chat.host import Host
    from ctxtui.services.editing.next_request import Next


async def release_due(host: Host) -> str:
    """The edits of `host`'s chat that waited are applied where what they waited for has come with the next request;
    says how many, and why."""
    overlay, partner = host.overlay(), host.partner
    if overlay is None or partner is None or not overlay.waiting:
        return ""
    # Imported here: most chats have no edits.
    from ctxtui.services.counting.counting import Counter
    from ctxtui.services.editing.next_request import next_call_of
    from ctxtui.services.editing.waiting_edits import due, released

    session, settings, now = host.session, host.config.settings, host.clock()
    counter = host.files.counter = host.files.counter or Counter()
    calls = session.thread_calls(MAIN)
    other = bool(calls) and calls[-1].model != partner.model

    def asked(at: float | None) -> Next | None:
        return next_call_of(session, counter, settings, MAIN, overlay.applied, at)

    come = await asyncio.to_thread(due, frozenset(overlay.waiting.values()), asked, now, other)
    return released(overlay, come)
