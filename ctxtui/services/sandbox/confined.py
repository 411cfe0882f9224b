"""A program run as the agent's own commands are: confined to a folder, without network, within a time and a memory."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.environment import passed_variables
from ctxtui.services.sandbox.command import CommandResult, limited, run
from ctxtui.services.sandbox.confinement import SEATBELT, confinement
from ctxtui.services.sandbox.guarded_files import GuardedFiles, find_guarded, put_aside
from ctxtui.services.sandbox.repository_copy import RepositoryCopy, copy_of, names_git, repository_of
from ctxtui.services.sandbox.view import View, view_of

_READING: Final = 120.0
"""Seconds in which the copy of a repository is read."""
_LOCK: Final = threading.Lock()
_RUNNING: Final[dict[Path, tuple[int, GuardedFiles]]] = {}
"""By folder: how many commands run in it, and what it held before the first of them."""


async def confined(
    argv: Sequence[str],
    folder: Path,
    *,
    seconds: float = 120.0,
    memory_mb: int = 0,
    network: bool = False,
    unconfined: bool = False,
    variables: str = "",
    reads: Iterable[str] = (),
) -> CommandResult:
    """Run `argv` in `folder`, which is all that it can write, for at most so many `seconds`, with so much address space
    (0: no limit). `variables` and `reads` name what it gets of the environment and reads of the machine besides. Where
    this machine cannot confine it, it runs only if it may be `unconfined`. Whoever waits and is cancelled ends it.
    Raises `CtxtuiError`, `OSError` where it cannot be started."""
    root = folder.resolve()
    found = await asyncio.to_thread(confinement, root)
    env = passed_variables(os.environ, variables)
    if not found:
        if unconfined:
            return await run(limited(argv, memory_mb), root, seconds, env)
        raise CtxtuiError(
            "nothing on this machine confines programs",
            place=argv[0],
            way_out="install bubblewrap, or let it run unconfined",
        )
    async with _guarding(root) as (guarded, notes):
        with tempfile.TemporaryDirectory(prefix="ctxtui-", ignore_cleanup_errors=True) as scratch:
            place, copy = Path(scratch).resolve(), None
            if names_git(argv):
                try:
                    copy = await asyncio.to_thread(copy_of, root, place, mounted=found.kind != SEATBELT)
                except CtxtuiError as error:
                    notes.append(error.message)
                env |= copy.env if copy else {}
            shown = list(copy.shown if copy else ())
            if found.kind == SEATBELT:
                # It shows no fresh folders.
                env["TMPDIR"] = str(place / "tmp")
                (place / "tmp").mkdir()
                shown.append((place / "tmp", place / "tmp", True))
            view = replace(await asyncio.to_thread(_view, guarded, network, reads), shown=tuple(shown))

            def start(argv: Sequence[str], seconds: float) -> Awaitable[CommandResult]:
                return run(found.wrapped(argv, view, network=network), root, seconds, env)

            done = await start(limited(argv, memory_mb), seconds)
            if copy:
                notes.append(await _take_over(copy, start))
    return replace(done, notes=tuple(filter(None, notes)))


def _view(guarded: GuardedFiles, network: bool, reads: Iterable[str]) -> View:
    repository = repository_of(guarded.root)
    further = [*reads, *(repository[1:] if repository else ())]
    view = view_of(guarded.root, Path.home(), os.environ, network=network, further=further)
    return replace(view, held=tuple(guarded.held), guarded=tuple(guarded.read_only))


async def _take_over(copy: RepositoryCopy, start: Callable[[Sequence[str], float], Awaitable[CommandResult]]) -> str:
    """Take over what the command made in the copy of the repository; why something is not taken over."""
    try:
        done = await start(await asyncio.to_thread(copy.reading), _READING)
        if done.code or done.late:
            return f"not taken over into the repository: {' '.join(done.text.split())[:500] or 'it cannot be read'}"
    except OSError as error:
        return f"not taken over into the repository: {error}"
    return await asyncio.to_thread(copy.take_over)


@asynccontextmanager
async def _guarding(root: Path) -> AsyncIterator[tuple[GuardedFiles, list[str]]]:
    """What `root` holds of files that other programs obey, and notes: at the end of what was put aside."""
    entering = asyncio.ensure_future(asyncio.to_thread(_enter, root))
    notes: list[str] = []

    async def leave() -> None:
        await entering
        notes.append(await asyncio.to_thread(_leave, root))

    try:
        yield await asyncio.shield(entering), notes
    finally:
        await asyncio.shield(leave())


def _enter(root: Path) -> GuardedFiles:
    """Commands that run side by side share what was there before the first: the second must not trust what the first
    has made."""
    with _LOCK:
        count, guarded = _RUNNING.get(root) or (0, find_guarded(root))
        _RUNNING[root] = count + 1, guarded
        return guarded


def _leave(root: Path) -> str:
    with _LOCK:
        count, guarded = _RUNNING.pop(root)
        if count > 1:
            _RUNNING[root] = count - 1, guarded
        return put_aside(guarded)
