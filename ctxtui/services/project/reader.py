"""The text files of a project, as ``.gitignore`` leaves them; only read, no link followed, no program started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from ctxtui.core.errors import NotFound
from ctxtui.live_database import in_use
from ctxtui.project.file_block import TEXT, file_block
from ctxtui.project.ignored import FILE, IgnoredPaths
from ctxtui.services.project.progress import ReadingProgress

# Programs of git are not asked: a repository's own configuration may make them run what it likes.
SKIPPED: Final = frozenset(
    ".git .hg .svn .venv venv node_modules __pycache__ .mypy_cache .ruff_cache .pytest_cache .hypothesis .tox".split()
)
"""Folders that are passed over whatever ``.gitignore`` says."""
LARGEST: Final = 1_000_000
"""Bytes: a larger file is listed, not read."""
_MOST: Final = 20_000
_TOLD: Final = 100
"""Files between two words on how far it is."""


class ProjectText(Struct):
    """What is in a project's folder `root`: `texts` by path with ``/``; `media` are files that are no text, `large`
    those over `LARGEST`, each with its bytes; `more` says that there are more than 20,000 files, which are not
    listed."""

    root: Path
    texts: dict[str, str] = field(default_factory=dict)
    media: dict[str, int] = field(default_factory=dict)
    large: dict[str, int] = field(default_factory=dict)
    more: bool = False


def read_project(root: Path, progress: ReadingProgress | None = None) -> ProjectText:
    """The files below `root`; `progress` hears how far it is. Raises `NotFound` where it is no folder."""
    if not root.is_dir():
        raise NotFound(f"no such folder: {root}" if not root.exists() else f"no folder: {root}")
    found = ProjectText(root.resolve())
    for number, (path, place) in enumerate(_files(found.root)):
        if number >= _MOST:
            found.more = True
            break
        if progress is not None and number % _TOLD == _TOLD - 1:
            progress.read(number + 1)
        try:
            size = place.stat().st_size
            if size > LARGEST:
                found.large[path] = size
                continue
            if in_use(place):
                found.media[path] = size
                continue
            data = place.read_bytes()
        except OSError:
            continue  # gone meanwhile, or not ours to read
        if file_block(data).kind == TEXT:
            found.texts[path] = data.decode("utf-8", "replace")
        else:
            found.media[path] = len(data)
    return found


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """(path below `root`, place) of the regular files that nothing leaves out, folder by folder."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    ignored = IgnoredPaths()
    _add(ignored, "", top / ".git" / "info" / "exclude")
    lead = "" if root == top else root.relative_to(top).as_posix()
    above = [lead.rsplit("/", n)[0] for n in range(lead.count("/"), 0, -1)] if lead else []
    for folder in ["", *above] if lead else []:
        _add(ignored, folder, top / folder / FILE)
    for here, folders, names in os.walk(root):
        inside = Path(here).relative_to(top).as_posix()
        inside = "" if inside == "." else inside
        _add(ignored, inside, Path(here) / FILE)
        before = f"{inside}/" if inside else ""
        folders[:] = sorted(
            name for name in folders if name not in SKIPPED and not ignored.leaves_out(before + name, is_folder=True)
        )
        for name in sorted(names):
            place = Path(here) / name
            if not ignored.leaves_out(before + name) and place.is_file() and not place.is_symlink():
                yield place.relative_to(root).as_posix(), place


def _add(ignored: IgnoredPaths, folder: str, place: Path) -> None:
    try:
        if place.stat().st_size <= LARGEST:
            ignored.add(folder, place.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        pass  # none is there
