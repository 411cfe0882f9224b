"""Applies the user's edits to requests of other programs before they are sent on.

It is a gate: a relay asks its gate what to do with each request.
"""

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
from ctxtui.attach.run import find_session
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN
from ctxtui.services.attach.curated import AppliedEdits, CuratedRequest, Proof, StoredEdits
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, classify_side_call, identify_sender, parse_body

MAX_EDIT_SECONDS: Final = 20.0
"""Seconds that a request waits for its edits; after that it is sent unedited."""
SIGNED: Final = "AWS4-HMAC-"
"""Beginning of an authorization that signs the body, as Amazon Bedrock's clients send it."""
SIGNED_WHY: Final = "the client signed this request; an edited body would be refused"


class EditsGate:
    """Looks up the applied edits of a request's session, and has a child process apply them.

    `session` is that of requests whose client sends no id ("": by the beginning of their conversation).
    """

    def __init__(self, database: Path, session: str, clock: Callable[[], float] = time.time) -> None:
        self._edits = AppliedEdits(database)
        self._session = session
        self._child = ChildProcess("ctxtui.services.attach.curated:Curator")
        self._clock = clock

    def load_ahead(self) -> None:
        """Load the list of sessions with edits in a thread, before the first request needs it."""
        asyncio.get_running_loop().run_in_executor(None, self._load)

    def _load(self) -> None:
        # An error will be reported with the first request.
        with suppress(CtxtuiError):
            self._edits.load_ahead()
        # Exclude all objects so far from garbage collection.
        gc.freeze()

    def wants(self, head: Head) -> bool:
        """Whether the request may have edits, so that its whole body is needed."""
        sender = identify_sender(head.last)
        session = sender.session or ("" if sender.names_session_in_body else self._session)
        if not session:
            return self._edits.may_have_unnamed()
        edits = self._edits.cached(session, sender.thread or MAIN)
        return edits is None or bool(edits.applied) or edits.has_waiting

    def session_for(self, waiting: WaitingRequest) -> str:
        return find_session(identify_sender(waiting.head.last), self._session, waiting.url, waiting.body)

    async def decide(self, waiting: WaitingRequest) -> RequestVerdict:
        """Apply the edits to a request. Raises `CtxtuiError` if they cannot be read, as the methods below do."""
        sender = identify_sender(waiting.head.last)
        session = self.session_for(waiting)
        thread = sender.thread or MAIN
        edits = (await self._read_edits(session, thread)).applied
        path = Exchange(b"", url=waiting.url).path
        if not edits or not waiting.body or classify_side_call(path, parse_body(waiting.body)):
            return RequestVerdict()
        if waiting.head.get("authorization").startswith(SIGNED):
            return RequestVerdict(report=Proof(refused=tuple((edit.id, SIGNED_WHY) for edit in edits)).json)
        curated = await self._apply_edits(session, thread, waiting, edits)
        return RequestVerdict(body=curated.body, report=curated.proof.json)

    async def has_waiting(self, session: str, thread: str) -> bool:
        """Whether edits of a thread wait for their time."""
        return (await self._read_edits(session, thread)).has_waiting

    async def has_staged(self, session: str, thread: str) -> bool:
        """Whether edits of a thread are staged, waiting ones included."""
        return (await self._read_edits(session, thread)).staged_count > 0

    async def pinned(self, session: str, thread: str) -> tuple[str, ...]:
        """Digests of the blocks that are pinned in a thread."""
        return (await self._read_edits(session, thread)).pinned

    async def _read_edits(self, session: str, thread: str) -> StoredEdits:
        edits = self._edits.cached(session, thread)
        return await asyncio.to_thread(self._edits.read, session, thread) if edits is None else edits

    async def _apply_edits(
        self, session: str, thread: str, waiting: WaitingRequest, edits: tuple[Edit, ...]
    ) -> CuratedRequest:
        request = (session, thread, waiting.url, waiting.body, edits)
        try:
            async with asyncio.timeout(MAX_EDIT_SECONDS):
                curated: CuratedRequest = await asyncio.to_thread(self._child.ask, request)
                return curated
        except (ChildGone, TimeoutError, CtxtuiError) as error:
            self._child.close()
            why = f"took longer than {MAX_EDIT_SECONDS:g} s" if isinstance(error, TimeoutError) else str(error)
            return CuratedRequest(None, Proof(refused=tuple((edit.id, why) for edit in edits)))

    def close(self) -> None:
        self._child.close()
