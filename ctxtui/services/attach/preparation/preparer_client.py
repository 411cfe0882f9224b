"""Asks a child process (`preparer`) to prepare requests before a relay sends them on.

If the child fails, or takes longer than `MAX_PREPARE_SECONDS`, the request goes on without preparation.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import Lock
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.analysis.cache.keep_warm import RefreshTotals, WarmPrefix
from ctxtui.attach.tape import file_name
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.config.settings import Settings

MAX_PREPARE_SECONDS: Final = 20.0
"""Maximum seconds that a request waits to be prepared, including its wait for those before it."""


class ForecastSummary(Struct, frozen=True):
    """Forecast of a request.

    - `tokens`: its input.
    - `usd`: its cost, with a typical answer of its thread if there is one; None if no price is known.
    - `miss`: why it will miss the cache; "" if it will hit, or nothing is known to be cached.
    """

    tokens: int
    usd: float | None
    miss: str


class LeavingRequest(Struct, frozen=True, kw_only=True):
    """A request to prepare.

    - `recording`: the recording of its session; `thread`: its thread.
    - `at`: when it would be sent (Unix seconds).
    - `policies`: names of policies and profile files; `policy_settings`: their settings as ``key=value``.
    """

    recording: Path
    thread: str
    url: str
    body: bytes
    at: float
    policies: tuple[str, ...]
    policy_settings: tuple[str, ...]
    settings: Settings


class PreparedRequest(Struct, frozen=True, kw_only=True):
    """The result of a preparation.

    - `forecast`: under the applied edits, if the call before has a usage report; None: unknown, for the reason `why`.
    - `done`: describes waiting edits that were applied, and what policies did.
    - `trouble`: a problem to report; "": none.
    """

    forecast: ForecastSummary | None = None
    why: str = ""
    done: tuple[str, ...] = ()
    trouble: str = ""


class WarmthQuery(Struct, frozen=True, kw_only=True):
    """Asks for the cached prefix of a session's main thread at the time `at`.

    The run began at `since`.
    """

    recording: Path
    at: float
    since: float
    settings: Settings


class Warmth(Struct, frozen=True, kw_only=True):
    """The answer to a `WarmthQuery`.

    - `prefix`: the cached prefix; None: it is not known, for the reason `why`.
    - `body`: the request that refreshes it; `betas`: the beta features of the session's last call, which it needs too.
    - `totals`: the session's refreshes since the run began, as recorded; None: not known.
    """

    prefix: WarmPrefix | None = None
    why: str = ""
    body: bytes = b""
    betas: tuple[str, ...] = ()
    totals: RefreshTotals | None = None


class PreparerClient:
    """Has the child prepare requests, one after the other; the first one starts it.

    Sessions are recorded in `folder`; `flush` writes everything recorded so far. `policies` (with their settings,
    `policy_settings`) act on every thread, from its second request on.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        flush: Callable[[], object],
        policies: Sequence[str] = (),
        policy_settings: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder, self._settings, self._flush, self._clock = folder, settings, flush, clock
        self.policies, self._policy_settings = tuple(policies), tuple(policy_settings)
        self._child = ChildProcess("ctxtui.services.attach.preparation.preparer:Preparer")
        self._lock = Lock()
        self.troubles: list[str] = []
        """Problems so far, each once."""

    async def prepare(self, session: str, thread: str, url: str, body: bytes) -> PreparedRequest:
        """Prepare a request. Never raises; problems are in the result."""
        request = LeavingRequest(
            recording=self._folder / file_name(session),
            thread=thread,
            url=url,
            body=body,
            at=self._clock(),
            policies=self.policies,
            policy_settings=self._policy_settings,
            settings=self._settings,
        )
        answer = await self._ask_child(request)
        if isinstance(answer, PreparedRequest):
            prepared = answer
        else:
            trouble = f"a request was sent without forecast, waiting edits and policies: {answer}"
            prepared = PreparedRequest(why=str(answer), trouble=trouble)
        if prepared.trouble and prepared.trouble not in self.troubles:
            self.troubles.append(prepared.trouble)
        return prepared

    async def find_warmth(self, session: str, since: float) -> Warmth:
        """Find the cached prefix of a session's main thread.

        Never raises; problems are in the result.
        """
        recording = self._folder / file_name(session)
        query = WarmthQuery(recording=recording, at=self._clock(), since=since, settings=self._settings)
        answer = await self._ask_child(query)
        return answer if isinstance(answer, Warmth) else Warmth(why=str(answer))

    async def _ask_child(self, request: LeavingRequest | WarmthQuery) -> PreparedRequest | Warmth | str:
        is_asking = False
        try:
            async with asyncio.timeout(MAX_PREPARE_SECONDS), self._lock:
                await asyncio.to_thread(self._flush)
                is_asking = True
                answer: PreparedRequest | Warmth = await asyncio.to_thread(self._child.ask, request)
                return answer
        except TimeoutError:
            # A thread that waits for the child is freed by its end; one that waits for the recorder ends by itself.
            if is_asking:
                self._child.close()
            return f"it took longer than {MAX_PREPARE_SECONDS:g} s"
        except (ChildGone, CtxtuiError) as error:
            return str(error)

    def close(self) -> None:
        self._child.close()
