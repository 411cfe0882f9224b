"""Lets requests of other programs leave under the edits that the user applied to their session."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from ctxtui.attach.gate import RequestVerdict, WaitingRequest
from ctxtui.attach.http1 import Head
from ctxtui.attach.run import session_of
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN
from ctxtui.services.attach.curated import AppliedEdits, Curated, Proof, StoredEdits
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, classify_side_call, identify_sender, parse_body

MOST: Final = 20.0
"""Seconds that a request waits for its edits; then its own bytes leave."""


class EditsGate:
    """Asks the database for the applied edits of a request's session, and a child process for the request under them.

    `session` is that of requests whose client tells none ("": by what a conversation begins with).
    """

    def __init__(self, database: Path, session: str, clock: Callable[[], float] = time.time) -> None:
        self._edits = AppliedEdits(database)
        self._session = session
        self._child = ChildProcess("ctxtui.services.attach.curated:Curator")
        self._clock = clock

    def look_ahead(self) -> None:
        """Look into the database in a thread, which the first request would wait for."""
        asyncio.get_running_loop().run_in_executor(None, self._look)

    def _look(self) -> None:
        # What is wrong with it is told with the first request.
        with suppress(CtxtuiError):
            self._edits.look()
        # No search for garbage goes through what that has loaded.
        gc.freeze()

    def wants(self, head: Head, url: str) -> bool:
        """Whether edits may be in force for it."""
        sender = identify_sender(head.last)
        session = sender.session or self._session
        if not session:
            return self._edits.any()
        known = self._edits.known(session, sender.thread or MAIN)
        return known is None or bool(known.applied) or known.wait

    def session_for(self, waiting: WaitingRequest) -> str:
        """The session of a request whose client tells none."""
        return self._session or session_of(waiting.url, waiting.body)

    async def decide(self, waiting: WaitingRequest) -> RequestVerdict:
        """The request under its edits. Raises what goes wrong with reading them."""
        sender = identify_sender(waiting.head.last)
        session = sender.session or self.session_for(waiting)
        thread = sender.thread or MAIN
        edits = (await self._stored(session, thread)).applied
        path = Exchange(b"", url=waiting.url).path
        if not edits or not waiting.body or classify_side_call(path, parse_body(waiting.body)):
            return RequestVerdict()
        made = await self._curated(session, thread, waiting, edits)
        return RequestVerdict(body=made.body, told=made.proof.json)

    async def wait(self, session: str, thread: str) -> bool:
        """Whether edits of a thread wait for their time. Raises what goes wrong with reading them."""
        return (await self._stored(session, thread)).wait

    async def _stored(self, session: str, thread: str) -> StoredEdits:
        known = self._edits.known(session, thread)
        return await asyncio.to_thread(self._edits.of, session, thread) if known is None else known

    async def _curated(self, session: str, thread: str, waiting: WaitingRequest, edits: tuple[Edit, ...]) -> Curated:
        asked = (session, thread, waiting.url, waiting.body, edits)
        try:
            async with asyncio.timeout(MOST):
                found: Curated = await asyncio.to_thread(self._child.ask, asked)
                return found
        except (ChildGone, TimeoutError, CtxtuiError) as error:
            self._child.close()
            why = f"took longer than {MOST:g} s" if isinstance(error, TimeoutError) else str(error)
            return Curated(None, Proof(refused=tuple((edit.id, why) for edit in edits)))

    def close(self) -> None:
        """End the child."""
        self._child.close()
