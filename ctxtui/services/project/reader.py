"""Reads the text files of a project that ``.gitignore`` does not exclude.

Links are not followed and no program is started.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from ctxtui.core.errors import NotFound
from ctxtui.live_database import in_use
from ctxtui.project.file_block import TEXT, make_file_block
from ctxtui.project.ignored import IGNORE_FILE, IgnoredPaths
from ctxtui.services.project.progress import ReadingProgress

# git itself is not run: a repository's configuration can make it run any program.
SKIPPED_FOLDERS: Final = frozenset(
    ".git .hg .svn .venv venv node_modules __pycache__ .mypy_cache .ruff_cache .pytest_cache .hypothesis .tox".split()
)
MAX_FILE_BYTES: Final = 1_000_000
"""A larger file is listed, not read."""
_MAX_FILES: Final = 20_000
_PROGRESS_STEP: Final = 100


class ProjectText(Struct):
    """The files of the folder `root`, by path with ``/``.

    - `media`: sizes of binary files and databases in use, in bytes; `large`: those of files over `MAX_FILE_BYTES`.
    - `more`: there are over 20,000 files; the rest is not listed.
    """

    root: Path
    texts: dict[str, str] = field(default_factory=dict)
    media: dict[str, int] = field(default_factory=dict)
    large: dict[str, int] = field(default_factory=dict)
    more: bool = False


def read_project(root: Path, progress: ReadingProgress | None = None) -> ProjectText:
    """Read the files below `root`, reporting to `progress`.

    Raises `NotFound` if it is no folder.
    """
    if not root.is_dir():
        raise NotFound(f"no such folder: {root}" if not root.exists() else f"no folder: {root}")
    project = ProjectText(root.resolve())
    for number, (path, file) in enumerate(_walk_files(project.root)):
        if number >= _MAX_FILES:
            project.more = True
            break
        if progress is not None and number % _PROGRESS_STEP == _PROGRESS_STEP - 1:
            progress.files_read(number + 1)
        try:
            size = file.stat().st_size
            if size > MAX_FILE_BYTES:
                project.large[path] = size
                continue
            if in_use(file):
                project.media[path] = size
                continue
            data = file.read_bytes()
        except OSError:
            continue  # deleted meanwhile, or not readable
        if make_file_block(data).kind == TEXT:
            project.texts[path] = data.decode("utf-8", "replace")
        else:
            project.media[path] = len(data)
    return project


def _walk_files(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield (relative path, path) of the regular files that are not ignored, folder by folder."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    ignored = IgnoredPaths()
    _add_ignore_file(ignored, "", top / ".git" / "info" / "exclude")
    lead = "" if root == top else root.relative_to(top).as_posix()
    above = [lead.rsplit("/", n)[0] for n in range(lead.count("/"), 0, -1)] if lead else []
    for folder in ["", *above] if lead else []:
        _add_ignore_file(ignored, folder, top / folder / IGNORE_FILE)
    if any(ignored.is_ignored(folder, is_folder=True) for folder in [*above, lead] if folder):
        return
    for here, folders, names in os.walk(root):
        inside = Path(here).relative_to(top).as_posix()
        inside = "" if inside == "." else inside
        _add_ignore_file(ignored, inside, Path(here) / IGNORE_FILE)
        before = f"{inside}/" if inside else ""
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED_FOLDERS and not ignored.is_ignored(before + name, is_folder=True)
        )
        for name in sorted(names):
            place = Path(here) / name
            if not ignored.is_ignored(before + name) and os.path.isfile(place) and not place.is_symlink():
                yield place.relative_to(root).as_posix(), place


def _add_ignore_file(ignored: IgnoredPaths, folder: str, place: Path) -> None:
    try:
        if place.stat().st_size <= MAX_FILE_BYTES:
            ignored.add(folder, place.read_text(encoding="utf-8-sig", errors="replace"))
    except OSError:
        pass  # no such file
