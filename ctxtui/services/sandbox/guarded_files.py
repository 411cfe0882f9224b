"""Protect files that other programs obey (git hooks, editor settings) while commands run.

Existing ones are read-only; a file that a command makes under such a name is moved out afterwards.
"""

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

_MAX_NAMES: Final = 20


class GuardedFiles(Struct, frozen=True):
    """The guarded files and folders of the folder `root` before a command.

    `paths` are relative to `root`, the topmost only; `links` maps symlinks to their targets.
    """

    root: Path
    paths: frozenset[str]
    links: dict[str, str]

    @property
    def read_only(self) -> list[Path]:
        """Paths that a command must not write."""
        guarded = {self.root / path for path in self.paths if path not in self.links}
        repositories = (_linked_repository(self.root / path, self.root) for path in self.paths)
        return sorted({*guarded, *(place for place in repositories if place)})

    @property
    def parents(self) -> list[Path]:
        """Parent folders that a command must not rename: another folder could take their place."""
        above = {folder for path in self.read_only for folder in path.parents}
        return sorted(folder for folder in above if folder != self.root and folder.is_relative_to(self.root))


def find_guarded(root: Path) -> GuardedFiles:
    """Find the guarded files in the folder `root`. Blocks."""
    paths = frozenset(_walk_guarded(root))
    return GuardedFiles(root, paths, {path: os.readlink(root / path) for path in paths if os.path.islink(root / path)})


def move_out_created(before: GuardedFiles) -> str:
    """Move the guarded files that a command made to a temporary folder.

    Return a sentence about them, or "". Links that they replaced are restored.
    """
    moved, failed = [], []
    aside = ""
    for path in [
        _path_to_move(before.root, path) for path in _walk_guarded(before.root) if _may_be_created(before, path)
    ]:
        aside = aside or tempfile.mkdtemp(prefix="ctxtui-refused-")
        target = Path(aside, path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(before.root / path, target)
            moved.append(path)
            if path in before.links:
                (before.root / path).symlink_to(before.links[path])
        except (OSError, shutil.Error):
            failed.append(path)
    sentences = (
        [f"refused, because it controls other programs: {_list_names(moved)}; moved to {aside}"] if moved else []
    )
    sentences += (
        [f"created although it controls other programs, and cannot be moved: {_list_names(failed)}"] if failed else []
    )
    return "; ".join(sentences)


def _may_be_created(before: GuardedFiles, path: str) -> bool:
    # A command cannot write existing files, except symlinks.
    link = os.readlink(before.root / path) if os.path.islink(before.root / path) else None
    return path not in before.paths or before.links.get(path) != link


def _path_to_move(root: Path, path: str) -> str:
    # Of a bare repository only HEAD is moved: the rest may be older than the command.
    if not os.path.isdir(root / path) or os.path.basename(path).startswith("."):
        return path
    return next((os.path.join(path, name) for name in os.listdir(root / path) if name.casefold() == "head"), path)


def _list_names(paths: list[str]) -> str:
    more = f" and {len(paths) - _MAX_NAMES:,} more" if len(paths) > _MAX_NAMES else ""
    return ", ".join(paths[:_MAX_NAMES]) + more


def _walk_guarded(root: Path) -> Iterator[str]:
    """Yield the path of each guarded file or folder; guarded folders are not searched."""
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


def _linked_repository(path: Path, root: Path) -> Path | None:
    """The folder inside `root` that a file or symlink ``.git`` points to.

    None if it points to none there.
    """
    with suppress(OSError, ValueError):
        if is_repository(path.name) and not (path.is_dir() and not path.is_symlink()):
            text = "" if path.is_dir() else path.read_text("utf-8").removeprefix("gitdir:").strip()
            folder = (path.parent / text).resolve() if text else path.resolve()
            return folder if folder.is_dir() and folder != root and folder.is_relative_to(root) else None
    return None
