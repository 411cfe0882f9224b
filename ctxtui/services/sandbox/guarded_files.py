"""Files of a folder that other programs obey, while commands run in it: what is there is read-only, and what a command
makes under such a name is put aside when it has ended."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.agent.tools.guarded_paths import guarded_names, is_generated, is_repository

_MOST_NAMES: Final = 20
"""Names that a message holds at most."""


class GuardedFiles(Struct, frozen=True):
    """Such files and folders (the topmost) that the folder `root` held before a command, by their paths in it, and
    where those lead that are `links`."""

    root: Path
    paths: frozenset[str]
    links: dict[str, str]

    @property
    def read_only(self) -> list[Path]:
        """What a command must not write."""
        found = {self.root / path for path in self.paths if path not in self.links}
        repositories = (_repository_of(self.root / path, self.root) for path in self.paths)
        return sorted({*found, *(place for place in repositories if place)})

    @property
    def held(self) -> list[Path]:
        """Folders that lead there, which a command must not rename: another could take their place."""
        above = {folder for path in self.read_only for folder in path.parents}
        return sorted(folder for folder in above if folder != self.root and folder.is_relative_to(self.root))


def find_guarded(root: Path) -> GuardedFiles:
    """What the folder `root` holds of such files; for a worker thread."""
    paths = frozenset(_walk(root))
    return GuardedFiles(root, paths, {path: os.readlink(root / path) for path in paths if os.path.islink(root / path)})


def put_aside(before: GuardedFiles) -> str:
    """Move what a command made of such files out of the folder; a sentence about it ("": there is nothing). For a
    worker thread."""
    moved, left = [], []
    aside = ""
    for path in [_movable(before.root, path) for path in _walk(before.root) if _is_made(before, path)]:
        aside = aside or tempfile.mkdtemp(prefix="ctxtui-refused-")
        target = Path(aside, path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(before.root / path, target)
            moved.append(path)
            if path in before.links:
                (before.root / path).symlink_to(before.links[path])
        except (OSError, shutil.Error):
            left.append(path)
    told = [f"refused, as other programs obey it: {_listed(moved)}; it is now in {aside}"] if moved else []
    told += [f"made although other programs obey it, and cannot be moved: {_listed(left)}"] if left else []
    return "; ".join(told)


def _is_made(before: GuardedFiles, path: str) -> bool:
    """Whether a command may have made what is at `path`. What was there it could not write, but for symlinks."""
    link = os.readlink(before.root / path) if os.path.islink(before.root / path) else None
    return path not in before.paths or before.links.get(path) != link


def _movable(root: Path, path: str) -> str:
    """What is moved of it: of a folder that is a repository by what is in it, which may be older, HEAD alone."""
    if not os.path.isdir(root / path) or os.path.basename(path).startswith("."):
        return path
    return next((os.path.join(path, name) for name in os.listdir(root / path) if name.casefold() == "head"), path)


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMES:,} more" if len(paths) > _MOST_NAMES else ""
    return ", ".join(paths[:_MOST_NAMES]) + more


def _walk(root: Path) -> Iterator[str]:
    """The path in `root` of each such file or folder; what is in such a folder is not looked at."""
    generated: set[str] = set()
    for top, folders, files in os.walk(root):
        names = guarded_names(os.path.basename(top), folders, files, generated=top in generated)
        if "." in names and top != str(root):
            folders.clear()
            yield os.path.relpath(top, root)
            continue
        yield from (os.path.relpath(os.path.join(top, name), root) for name in sorted(names - {"."}))
        folders[:] = [name for name in folders if name not in names]
        generated |= {os.path.join(top, name) for name in folders if top in generated or is_generated(name)}


def _repository_of(path: Path, root: Path) -> Path | None:
    """The folder in `root` that a file or symlink ``.git`` leads to."""
    with suppress(OSError, ValueError):
        if is_repository(path.name) and not (path.is_dir() and not path.is_symlink()):
            text = "" if path.is_dir() else path.read_text("utf-8").removeprefix("gitdir:").strip()
            place = (path.parent / text).resolve() if text else path.resolve()
            return place if place.is_dir() and place != root and place.is_relative_to(root) else None
    return None
