"""What the user named: a path, a folder, ``-``, or the id of a session; found and opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ctxtui.core.errors import CtxtuiError, NoContext, NotFound, Several
from ctxtui.runtime.discover import Found, find
from ctxtui.runtime.loaded import Loaded
from ctxtui.runtime.loading import load, load_stream
from ctxtui.runtime.packaged import sample_paths
from ctxtui.transcripts.glance import HEAD_BYTES
from ctxtui.transcripts.registry import detect

STREAM: Final = "-"
SHORTEST_PREFIX: Final = 4
"""Characters of an id that are enough to name it, where they fit only one."""

_LISTED: Final = 8
_HEADS: Final = 400
_PASSED_OVER: Final = frozenset({"node_modules", "__pycache__", "subagents"})


@dataclass(frozen=True, slots=True)
class Named:
    """What a name stands for: the main file in `path`, the store's id in `stored`, or standard input (neither).

    `others` are further recordings in the folder that was named, newest first.
    """

    path: Path | None = None
    stored: str = ""
    others: tuple[Path, ...] = field(default=())


def locate(name: str, cwd: Path, stored: Callable[[str], list[str]] | None = None) -> Named:
    """What `name` stands for: ``-``, a file, a folder, or an id (whole, or its first characters).

    `stored` gives the ids in the store that begin with a text. Raises `NotFound`, `Several`, `NoContext`, `Unreadable`.
    """
    if name == STREAM:
        return Named()
    path = Path(name).expanduser()
    if os.path.isdir(path):
        return in_folder(path)
    if os.path.lexists(path) or os.sep in name:
        return Named(path)
    return _by_id(name, cwd, stored)


def _by_id(name: str, cwd: Path, stored: Callable[[str], list[str]] | None) -> Named:
    wanted = name.lower()
    found = [f for f in find(cwd, samples=sample_paths()) if f.id.lower().startswith(wanted)]
    kept = stored(name) if stored is not None else []
    exact = [f for f in found if f.id.lower() == wanted]
    if len(exact) == 1:
        return Named(exact[0].path)
    if name in kept and not exact:
        return Named(stored=name)
    ids = {f.id for f in found} | set(kept)
    if len(ids) == 1 and len(found) <= 1 and (exact or len(name) >= SHORTEST_PREFIX):
        return Named(found[0].path) if found else Named(stored=kept[0])
    if not ids or len(name) < SHORTEST_PREFIX:
        raise NotFound(f"no such file, session or command: {name}", way_out="`ctxtui sessions` lists what there is")
    raise _several(name, found, kept)


def _several(name: str, found: list[Found], kept: list[str]) -> Several:
    names = [str(f.path) for f in found] + [i for i in kept if i not in {f.id for f in found}]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    listed = ", ".join(names[:_LISTED]) + more
    return Several(f"{name} fits {len(names)} sessions: {listed}", way_out="give more of the id, or the path")


def in_folder(folder: Path) -> Named:
    """The newest recording in `folder` or below, by content; else the newest that ran in it.

    Raises `NotFound` for a folder without any, `Unreadable` where it may not be listed.
    """
    _may_list(folder)
    readable = [path for path in _files(folder) if _is_recording(path)]
    if not readable:
        readable = [f.path for f in find(folder.resolve()) if f.group == "here"]
    if not readable:
        raise NotFound(f"no recorded session in {folder}", way_out="name a file, or see `ctxtui sessions`")
    return Named(readable[0], others=tuple(readable[1:]))


def _may_list(folder: Path) -> None:
    from ctxtui.runtime.tail import unreadable

    try:
        os.scandir(folder).close()
    except OSError as error:
        raise unreadable(folder, error) from error


def _files(folder: Path) -> list[Path]:
    dated = []
    for entry in _walk(folder, 6):
        try:
            status = entry.stat()
        except OSError:
            continue
        if status.st_size:
            likely = entry.name.endswith((".jsonl", ".json", ".ndjson"))
            dated.append((likely, status.st_mtime, entry.path))
    dated.sort(key=lambda item: (not item[0], -item[1], item[2]))
    best = dated[:_HEADS]
    best.sort(key=lambda item: (-item[1], item[2]))
    return [Path(path) for _, _, path in best]


def _walk(folder: Path | str, depth: int) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            listed = list(entries)
    except OSError:
        return
    for entry in listed:
        if entry.name.startswith(".") or entry.name in _PASSED_OVER:
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth:
                yield from _walk(entry.path, depth - 1)
        elif entry.is_file() and not entry.name.startswith("agent-"):
            yield entry


def _is_recording(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return detect(file.read(HEAD_BYTES), path.name) is not None
    except OSError:
        return False


def open_named(named: Named, progress: Callable[[int], None] | None = None) -> Loaded:
    """Read what `named` stands for, except from the store; in a folder the newest that holds a context.

    Raises what `load` raises.
    """
    if named.path is None:
        return load_stream()
    first: CtxtuiError | None = None
    for path in (named.path, *named.others):
        try:
            return load(path, progress)
        except NoContext as error:
            first = first or error
    assert first is not None
    raise first
