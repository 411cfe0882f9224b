"""A program run as the agent's own commands are: confined to a folder, without network, within a time and a memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.sandbox.command import CommandResult, limited, run
from ctxtui.services.sandbox.confinement import confinement


async def confined(
    argv: Sequence[str],
    folder: Path,
    *,
    seconds: float = 120.0,
    memory_mb: int = 0,
    network: bool = False,
    unconfined: bool = False,
) -> CommandResult:
    """Run `argv` in `folder`, which is all that it can write, for at most so many `seconds`, with so much address space
    (0: no limit). Where this machine cannot confine it, it runs only if it may be `unconfined`. Whoever waits and is
    cancelled ends it. Raises `CtxtuiError`, `OSError` where it cannot be started."""
    found = await asyncio.to_thread(confinement)
    if not found and not unconfined:
        raise CtxtuiError(
            "nothing on this machine confines programs",
            place=argv[0],
            way_out="install bubblewrap, or let it run unconfined",
        )
    wrapped = found.wrapped(limited(argv, memory_mb), folder.resolve(), Path.home(), network=network)
    return await run(wrapped, folder, seconds)
