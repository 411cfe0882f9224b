"""Directories related to the current one, whose sessions are listed with it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

MAX_FOLDER_NAME: Final = 200
"""Claude Code truncates a project folder's name to this length and adds ``-`` and a hash (facts §11)."""

_NOT_ALPHANUMERIC: Final = re.compile(r"[^A-Za-z0-9]")


def folder_name(directory: Path) -> str:
    """Claude Code's name for the project in `directory`, before truncation."""
    return _NOT_ALPHANUMERIC.sub("-", str(directory))


def is_own_folder(name: str, directory: Path) -> bool:
    """Whether Claude Code's folder `name` belongs to `directory`."""
    full_name = folder_name(directory)
    if len(full_name) > MAX_FOLDER_NAME:
        return name.startswith(full_name[:MAX_FOLDER_NAME] + "-")
    return name == full_name


def is_worktree_folder(name: str, directory: Path) -> bool:
    """Whether Claude Code's folder `name` belongs to a worktree that it made inside `directory`."""
    return name.startswith(folder_name(directory) + "--claude-worktrees-")


def related_directories(cwd: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
    """`cwd`, the folders above it up to its repository's root, and the repository's worktrees.

    Includes the spelling of ``PWD``, which keeps symbolic links.
    """
    directories = dict.fromkeys([cwd])
    pwd = env.get("PWD", "")
    if pwd and os.path.isabs(pwd) and _is_same_directory(Path(pwd), cwd):
        directories[Path(pwd)] = None
    root = next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), None)
    if root is not None:
        for folder in cwd.parents:
            if folder == root or root in folder.parents:
                directories[folder] = None
        directories |= dict.fromkeys(_find_worktrees(root / ".git"))
    return tuple(directories)


def _is_same_directory(a: Path, b: Path) -> bool:
    try:
        return a.samefile(b)
    except OSError:
        return False


def _find_worktrees(git: Path) -> Iterator[Path]:
    """The linked worktrees of the repository whose ``.git`` is `git`.

    If `git` is a file, as in a linked worktree, the main checkout too; none for a submodule.
    """
    if git.is_file():
        target = Path(_read_first_line(git).removeprefix("gitdir:").strip())
        if target.parent.name != "worktrees":
            return
        git = target.parent.parent
        yield git.parent
    for entry in sorted(git.glob("worktrees/*/gitdir")):
        checkout = Path(_read_first_line(entry)).parent
        if str(checkout) != ".":
            yield checkout


def _read_first_line(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""
