"""Runs a program confined to a folder, with or without network, limited in time and memory."""

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
from ctxtui.services.sandbox.command import CommandResult, limit_memory, run_program
from ctxtui.services.sandbox.confinement import SEATBELT, find_confinement
from ctxtui.services.sandbox.guarded_files import GuardedFiles, find_guarded, move_out_created
from ctxtui.services.sandbox.repository_copy import RepositoryCopy, copy_repository, find_repository, mentions_git
from ctxtui.services.sandbox.view import View, build_view

_EXPORT_SECONDS: Final = 120.0
_LOCK: Final = threading.Lock()
_GUARDED_BY_FOLDER: Final[dict[Path, tuple[int, GuardedFiles]]] = {}
"""By folder: the number of running commands, and its guarded files before the first of them."""


async def run_confined(
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
    """Run `argv` in `folder` for at most `seconds`.

    It can write only there, except for guarded files, and in temporary folders.
    - `memory_mb`: limits its address space (0: no limit).
    - `variables`: further environment variables for it, names or patterns separated by spaces.
    - `reads`: further paths that it may read.
    - `unconfined`: run it even if the machine cannot confine it; then it can write everywhere.

    Cancelling this ends it. Raises `CtxtuiError` if it cannot be confined, and the errors of starting it.
    """
    root = folder.resolve()
    way = await asyncio.to_thread(find_confinement, root)
    env = passed_variables(os.environ, variables)
    if not way:
        if unconfined:
            return await run_program(limit_memory(argv, memory_mb), root, seconds, env)
        raise CtxtuiError(
            "this machine has no sandbox for programs",
            place=argv[0],
            way_out="install bubblewrap, or let it run unconfined",
        )
    async with _guard(root) as (guarded, notes):
        with tempfile.TemporaryDirectory(prefix="ctxtui-", ignore_cleanup_errors=True) as scratch:
            scratch_dir, copy = Path(scratch).resolve(), None
            if mentions_git(argv):
                try:
                    copy = await asyncio.to_thread(copy_repository, root, scratch_dir, mounted=way.kind != SEATBELT)
                except CtxtuiError as error:
                    notes.append(error.message)
                env |= copy.env if copy else {}
            mounts = list(copy.mounts if copy else ())
            if way.kind == SEATBELT:
                # sandbox-exec cannot mount empty folders.
                env["TMPDIR"] = str(scratch_dir / "tmp")
                (scratch_dir / "tmp").mkdir()
                mounts.append((scratch_dir / "tmp", scratch_dir / "tmp", True))
            view = replace(await asyncio.to_thread(_make_view, guarded, network, reads), mounts=tuple(mounts))

            def start(argv: Sequence[str], seconds: float) -> Awaitable[CommandResult]:
                return run_program(way.wrap(argv, view, network=network), root, seconds, env)

            result = await start(limit_memory(argv, memory_mb), seconds)
            if copy:
                notes.append(await _import_changes(copy, start))
    return replace(result, notes=tuple(filter(None, notes)))


def _make_view(guarded: GuardedFiles, network: bool, reads: Iterable[str]) -> View:
    repository = find_repository(guarded.root)
    further = [*reads, *(repository[1:] if repository else ())]
    view = build_view(guarded.root, Path.home(), os.environ, network=network, extra_paths=further)
    return replace(view, fixed=tuple(guarded.parents), guarded=tuple(guarded.read_only))


async def _import_changes(
    copy: RepositoryCopy, start: Callable[[Sequence[str], float], Awaitable[CommandResult]]
) -> str:
    try:
        result = await start(await asyncio.to_thread(copy.export_command), _EXPORT_SECONDS)
        if result.code or result.late:
            return f"not copied into the repository: {' '.join(result.text.split())[:500] or 'it cannot be read'}"
    except OSError as error:
        return f"not copied into the repository: {error}"
    return await asyncio.to_thread(copy.import_changes)


@asynccontextmanager
async def _guard(root: Path) -> AsyncIterator[tuple[GuardedFiles, list[str]]]:
    """Guard `root` while a command runs.

    Yields the guarded files, and notes about files that were moved out.
    """
    entering = asyncio.ensure_future(asyncio.to_thread(_begin_guard, root))
    notes: list[str] = []

    async def leave() -> None:
        await entering
        notes.append(await asyncio.to_thread(_end_guard, root))

    try:
        yield await asyncio.shield(entering), notes
    finally:
        await asyncio.shield(leave())


def _begin_guard(root: Path) -> GuardedFiles:
    # Of several concurrent commands, the second must not trust files that the first one made.
    with _LOCK:
        count, guarded = _GUARDED_BY_FOLDER.get(root) or (0, find_guarded(root))
        _GUARDED_BY_FOLDER[root] = count + 1, guarded
        return guarded


def _end_guard(root: Path) -> str:
    with _LOCK:
        count, guarded = _GUARDED_BY_FOLDER.pop(root)
        if count > 1:
            _GUARDED_BY_FOLDER[root] = count - 1, guarded
        return move_out_created(guarded)
