"""What is to be known of a request before it leaves through a relay: what it will come to, and which edits are in force
by then. A child process works it out (`preparing`); a fault of it, or its taking long, holds no request up."""

from __future__ import annotations

import asyncio
import time
from asyncio import Lock
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.attach.tape import file_name
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.config.settings import Settings

MOST: Final = 20.0
"""Seconds that a request waits for what is to be known of it."""


class Foretold(Struct, frozen=True):
    """A request before it leaves: its input in `tokens`, what it will cost in `usd` with a typical answer (None: no
    price is known), and why it will miss the cache ("": it will not)."""

    tokens: int
    usd: float | None
    miss: str


class LeavingRequest(Struct, frozen=True, kw_only=True):
    """A request as it is asked about: the file that its session is recorded in, its thread, and when it would leave
    (`at`, Unix seconds). `policies` names policies and files of profiles, `given` their settings as ``key=value``."""

    recording: Path
    thread: str
    url: str
    body: bytes
    at: float
    policies: tuple[str, ...]
    given: tuple[str, ...]
    settings: Settings


class PreparedRequest(Struct, frozen=True, kw_only=True):
    """What was found: the request `foretold` under the edits that are applied by now (None: nobody can tell, and `why`
    not), what became of edits that waited and of policies in words (`done`), and what went wrong with them."""

    foretold: Foretold | None = None
    why: str = ""
    done: tuple[str, ...] = ()
    trouble: str = ""


class RequestDesk:
    """Asks the child, one request after the other; it is started by the first one. Sessions are recorded in `folder`,
    `flush` has written what went by so far. `policies` (with their settings, `given`) stand over every thread."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        flush: Callable[[], object],
        policies: Sequence[str] = (),
        given: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder, self._settings, self._flush, self._clock = folder, settings, flush, clock
        self.policies, self._given = tuple(policies), tuple(given)
        self._child = ChildProcess("ctxtui.services.attach.desk.preparing:Preparer")
        self._first = Lock()
        self.troubles: list[str] = []
        """What went wrong, each once."""

    async def prepare(self, session: str, thread: str, url: str, body: bytes) -> PreparedRequest:
        """What is to be known of a request. Never raises: what is not known is told."""
        asked = LeavingRequest(
            recording=self._folder / file_name(session),
            thread=thread,
            url=url,
            body=body,
            at=self._clock(),
            policies=self.policies,
            given=self._given,
            settings=self._settings,
        )
        found = await self._asked(asked)
        if found.trouble and found.trouble not in self.troubles:
            self.troubles.append(found.trouble)
        return found

    async def _asked(self, asked: LeavingRequest) -> PreparedRequest:
        try:
            async with asyncio.timeout(MOST), self._first:
                await asyncio.to_thread(self._flush)
                found: PreparedRequest = await asyncio.to_thread(self._child.ask, asked)
                return found
        except TimeoutError:
            # The thread waits for the child, which is ended.
            self._child.close()
            why = f"it took longer than {MOST:g} s"
        except (ChildGone, CtxtuiError) as error:
            why = str(error)
        return PreparedRequest(why=why, trouble=f"a request was not foretold, nor put under policies: {why}")

    def close(self) -> None:
        """End the child."""
        self._child.close()
