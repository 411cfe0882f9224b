"""Work in a thread that nobody waits for at the end: a request under way does not keep the program alive."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")


async def in_thread(work: Callable[[], Result]) -> Result:
    """What `work` returns, or raises; done in a thread of its own. Unlike the event loop's own threads this one is not
    waited for when the loop ends."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: Result | None = None
        failed: BaseException | None = None
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - carried over to whoever waits
            failed = error
        # A loop that has ended meanwhile wants nothing any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, failed)

    threading.Thread(target=run, name="offline request", daemon=True).start()
    return await future
